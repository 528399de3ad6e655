"""Dot products that show how an implementation adds: the inputs of the cases of `matmul`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from mxref.formats.catalog import BlockFormat, ElementFormat
from mxref.golden.dot_inputs import (
    ONE,
    SIZE,
    Dot,
    drawn_codes,
    drawn_rows,
    drawn_scales,
    exponents_of,
    negative,
    positive_codes,
    power,
)
from mxref.golden.swamped_products import beyond, cancelling, last_roundings, swamped
from mxref.operands.splitmix import splitmix64

__all__ = ["designed_dots"]

#: Scale codes that are paired: the ends of E8M0, 2**-30, 1 and 2**4.
_SCALES = (0x00, 0x01, 0x61, 0x7F, 0x83, 0xFE, 0xFF)
#: Formats with a case of 1024 elements.
_LONG = ("e4m3", "e2m1", "int8")


def designed_dots(a: BlockFormat, b: BlockFormat) -> Iterator[Dot]:
    """The dot products of a pair of formats whose results are float32 numbers."""
    formats = a.element, b.element
    for family in (_alone, _scale_pairs, _bands, _lengths, _long, swamped, cancelling, _special):
        yield from family(*formats)
    if a == b:
        yield from _lanes(a.element)
    yield from _known(*formats)
    yield from beyond(*formats)
    yield from last_roundings(*formats, 24)


def _known(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Sums of two formats alone that common mistakes or tensor cores get wrong."""
    match a.name, b.name:
        case "e4m3", "e4m3":
            yield Dot("known_scales", (0x01,), (0x30,), (0xFE,), (0x83,), ("scale_pair",))
        case "int8", "int8":
            yield from _most_negative(a.max_code + 1)
        case "e5m2", "e5m2":
            yield Dot("known_scales", (0x64,), (0x64,), (0x00,), (0x61,), ("scale_pair",))
        case "e5m2", "e2m3":
            # A subnormal code counts with the least exponent: tensor cores cut more off.
            rows = (0x78, *(0x13,) * 31), (0x01, *(0x09,) * 31)
            yield Dot("known_exponents", *rows, flags=("swamping",))
            yield Dot("known_two", (0x74, 0x0C), (0x01, 0x08), flags=("swamping",))


def _most_negative(code: int) -> Iterator[Dot]:
    """Squares of the most negative number of INT8: the sum of two is one more than int16 holds."""
    for lanes in ((0, 1), (1, 2), (0, 4), (7, 15), (14, 30), tuple(range(SIZE))):
        row = [code if lane in lanes else 0 for lane in range(max(lanes) + 1)]
        yield Dot(f"squares_{'_'.join(map(str, lanes[:2]))}_{len(lanes)}", row, row)


# One product.


def _alone(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """One product of the largest significands at each pair of binades; of many pairs a part."""
    rows = [list(_binade_ends(fmt)) for fmt in (a, b)]
    step = 1 if a == b and len(rows[0]) < 10 else 2 if len(rows[0]) * len(rows[1]) < 400 else 8
    for (i, x), (j, y) in itertools.product(*map(enumerate, rows)):
        if (i + j) % step == 0:
            x, y = negative(a, x) if i & 1 else x, negative(b, y) if j & 2 else y
            yield Dot(f"alone_{x:02x}_{y:02x}", (x,), (y,))


def _binade_ends(fmt: ElementFormat) -> Iterator[int]:
    """The code of the largest number of each binade."""
    low, high = exponents_of(fmt)
    numbers = positive_codes(fmt)
    for exponent in range(low, high + 1):
        yield numbers[max(n for n in numbers if n < math.ldexp(1, exponent + 1))]


def _lanes(fmt: ElementFormat) -> Iterator[Dot]:
    """One product in each lane, with numbers everywhere else in one of the operands."""
    for lane in range(SIZE):
        ones = drawn_codes(fmt, SIZE, 100 + lane)
        alone = [0] * SIZE
        alone[lane] = power(fmt, 0) if lane & 2 else negative(fmt, power(fmt, 0))
        sides = (ones, alone) if lane & 1 else (alone, ones)
        yield Dot(f"lane_{lane:02}", sides[0], sides[1])


def _scale_pairs(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """The smallest and the largest numbers under pairs of scales, and zeros under NaN."""
    left_codes, right_codes = (list(positive_codes(fmt).values()) for fmt in (a, b))
    ends = {
        "large": (left_codes[-1:], right_codes[-1:]),
        "small": (left_codes[:1], right_codes[:1]),
    }
    flags = ("scale_pair",)
    for x, y in itertools.product(_SCALES, repeat=2):
        name = f"scales_{x:02x}_{y:02x}"
        if 0xFF in (x, y):
            yield Dot(f"{name}_zeros", (0, 0), (0, 0), (x,), (y,))
            continue
        for end, (left, right) in ends.items():
            yield Dot(f"{name}_{end}", left, right, (x,), (y,), flags)
    # Products of scales just beyond float32, where those with the elements are not.
    for x, y, end in ((0xFE, 0x80, "small"), (0x80, 0xFE, "small"), (0x00, 0x68, "large")):
        left, right = ends[end]
        yield Dot(f"scales_{x:02x}_{y:02x}", left, right, (x,), (y,), flags)


# Sums of many products.


def _bands(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Numbers of few binades: few or no sums of them are rounded in any order."""
    for index, (binades, count) in enumerate(
        ((1, 32), (1, 17), (2, 32), (2, 32), (3, 32), (3, 31), (4, 32), (5, 32), (1, 64), (2, 96))
    ):
        rows = drawn_rows(a, b, count, 200 + 2 * index, binades)
        yield Dot(f"band_{index}", *rows, *drawn_scales(count, index, 1 if binades < 3 else 4))


def _lengths(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Codes of all binades, in whole blocks and with tails."""
    counts = [*[32] * 6, 33, 40, 63, 64, 64, 65, 95, 96]
    counts += [1024] * (a == b and a.name in _LONG)
    for index, count in enumerate(counts):
        rows = drawn_rows(a, b, count, 300 + 2 * index, 99 if index % 2 else 6)
        yield Dot(f"random_{index}_{count}", *rows, *drawn_scales(count, 50 + index, 4))


def _long(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Several tiles of 128 elements; no sum of them is rounded, so that none may be left out."""
    counts = [128, 128, 384]
    counts += [1024] * (a == b and a.name in _LONG)
    for index, count in enumerate(counts):
        x, y = _few_codes(a, count, 320 + 2 * index), _few_codes(b, count, 321 + 2 * index)
        yield Dot(f"long_{index}_{count}", x, y, *drawn_scales(count, 80 + index, 1))


def _few_codes(fmt: ElementFormat, count: int, seed: int) -> list[int]:
    """Codes of 1/2, 1 and 3/2 of both signs."""
    some = [positive_codes(fmt)[number] for number in (0.5, 1, 1.5)]
    some += [negative(fmt, code) for code in some]
    return [some[(int(word) >> 8) % len(some)] for word in splitmix64(seed, count)]


# Specials and ranges.


def _special(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """NaN scales over zeros and numbers, NaN and infinite elements, in several places."""
    x, y = drawn_rows(a, b, 40, 600)
    for place in ("first", "second"):
        scales = (0xFF, ONE) if place == "first" else (ONE, 0xFF)
        yield Dot(f"nan_scale_{place}_a", x, y, scales, (ONE, ONE), ("nan",))
        yield Dot(f"nan_scale_{place}_b", x, y, (ONE, ONE), scales, ("nan",))
    zeros = [0] * SIZE
    yield Dot("nan_scale_zeros_a", zeros, zeros, (0xFF,), (ONE,), ("nan",))
    yield Dot("nan_scale_zeros_b", zeros, y[:SIZE], (ONE,), (0xFF,), ("nan",))
    for side, (fmt, other) in enumerate(((a, b), (b, a))):
        label = "ab"[side]
        for code in fmt.nan_codes:
            for lane, partner in ((0, 0), (15, power(other, 0)), (31, 0)):
                yield _with(f"nan_{code:02x}_{lane}_{label}", (x, y), side, lane, code, partner)
        if fmt.inf_code is None:
            continue
        inf = fmt.inf_code
        for code, name in ((inf, "inf"), (negative(fmt, inf), "minus_inf")):
            for lane, partner, what in (
                (0, power(other, 0), "one"),
                (16, negative(other, power(other, 0)), "minus_one"),
                (31, 0, "zero"),
                (31, negative(other, 0), "minus_zero"),
            ):
                if not (what == "minus_zero" and other.twos_complement):
                    case = f"{name}_times_{what}_{label}"
                    yield _with(case, (x, y), side, lane, code, partner)
        dot = _with(f"inf_minus_inf_{label}", (x, y), side, 3, inf, power(other, 0))
        yield _with(dot.name, (dot.a, dot.b), side, 20, inf, negative(other, power(other, 0)))
        dot = _with(f"inf_plus_inf_{label}", (x, y), side, 3, inf, power(other, 0))
        yield _with(dot.name, (dot.a, dot.b), side, 20, inf, power(other, 0))
    if a.inf_code is not None and b.inf_code is not None:
        yield Dot("inf_times_inf", (a.inf_code, 1), (b.inf_code, 1), flags=("inf",))


def _with(
    name: str,
    rows: tuple[Sequence[int], Sequence[int]],
    side: int,
    lane: int,
    code: int,
    partner: int,
) -> Dot:
    """One block with a special element, and what it is multiplied by."""
    changed = [list(row[:SIZE]) for row in rows]
    changed[side][lane], changed[1 - side][lane] = code, partner
    return Dot(name, changed[0], changed[1], flags=("nan" if name.startswith("nan") else "inf",))
