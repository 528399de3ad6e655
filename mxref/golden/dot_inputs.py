"""A dot product as a case has it, and element codes by the numbers that they stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from mxref.formats.base import CodeFormat
from mxref.formats.catalog import ElementFormat
from mxref.operands.splitmix import splitmix64

__all__ = [
    "ONE",
    "SIZE",
    "Codes",
    "Dot",
    "drawn_codes",
    "drawn_rows",
    "drawn_scales",
    "exponents_of",
    "joined",
    "negative",
    "positive_codes",
    "power",
]

#: Elements of a block, and the scale code of 1.
SIZE, ONE = 32, 0x7F
Codes: TypeAlias = Sequence[int]


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot product: its name, the codes and scales of both operands, and flags."""

    name: str
    a: Sequence[int]
    b: Sequence[int]
    a_scales: Sequence[int] = ()
    b_scales: Sequence[int] = ()
    flags: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[int, ...]:
        """The words of the case; scales that are missing are 2**0."""
        ones = (ONE,) * -(-len(self.a) // SIZE)
        return (*(self.a_scales or ones), *self.a, *(self.b_scales or ones), *self.b)


def negative(fmt: ElementFormat, code: int) -> int:
    """The code of the negated number.

    >>> from mxref.formats.catalog import E2M1, INT8
    >>> negative(E2M1, 3), negative(INT8, 64), negative(INT8, 0)
    (11, 192, 0)
    """
    if fmt.twos_complement:
        return -code & 0xFF
    return code ^ 1 << fmt.bits - 1


@cache
def positive_codes(fmt: CodeFormat) -> dict[float, int]:
    """The codes of the positive numbers, by number in ascending order."""
    codes = range(1, fmt.max_code + 1)
    return {fmt.value(code): code for code in codes}


def power(fmt: CodeFormat, exponent: int) -> int:
    """The code of 2**exponent.

    >>> from mxref.formats.catalog import E4M3
    >>> hex(power(E4M3, 0)), hex(power(E4M3, -9))
    ('0x38', '0x1')
    """
    return positive_codes(fmt)[math.ldexp(1, exponent)]


@cache
def exponents_of(fmt: ElementFormat) -> tuple[int, int]:
    """The exponents of the smallest and of the largest power of two of a format."""
    numbers = list(positive_codes(fmt))
    lowest = next(e for e in range(-32, 1) if math.ldexp(1, e) in positive_codes(fmt))
    return lowest, next(e for e in range(32, -32, -1) if math.ldexp(1, e) <= numbers[-1])


def drawn_codes(fmt: ElementFormat, count: int, seed: int, binades: int = 99) -> list[int]:
    """Codes of both signs, of numbers in so many binades around 1; no zeros."""
    low, high = math.ldexp(1, -(binades // 2)), math.ldexp(1, -(-binades // 2))
    some = [code for number, code in positive_codes(fmt).items() if low <= number < high]
    if fmt.twos_complement:
        some = [*some, 0x80] if binades > 8 else some
    draws = [int(word) for word in splitmix64(seed, count)]
    codes = [some[(word >> 8) % len(some)] for word in draws]
    return [negative(fmt, c) if word & 1 else c for c, word in zip(codes, draws, strict=True)]


def drawn_rows(
    a: ElementFormat, b: ElementFormat, count: int, seed: int, binades: int = 99
) -> tuple[list[int], list[int]]:
    """`drawn_codes` of both formats, with this seed and the next one."""
    return drawn_codes(a, count, seed, binades), drawn_codes(b, count, seed + 1, binades)


def drawn_scales(count: int, seed: int, spread: int) -> tuple[list[int], list[int]]:
    """Scales around 2**0, which differ from block to block."""
    draws = splitmix64(900 + seed, 2 * -(-count // SIZE)).tolist()
    scales = [ONE + word % (2 * spread + 1) - spread for word in draws]
    return scales[::2], scales[1::2]


def joined(
    name: str,
    parts: Sequence[tuple[Codes, Codes]],
    a_scales: Sequence[int],
    b_scales: Sequence[int],
    flags: tuple[str, ...] = (),
) -> Dot:
    """A dot product of short blocks: each is filled up with zeros, except the last one."""
    a: list[int] = []
    b: list[int] = []
    for left, right in parts:
        a += [0] * (-len(a) % SIZE) + list(left)
        b += [0] * (-len(b) % SIZE) + list(right)
    return Dot(name, a, b, a_scales, b_scales, flags)
