"""The numbers of a format and the midpoints between them, as patterns of a float type."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.formats.catalog import CODE_FORMATS, CodeFormat
from mxref.operations.operation import Operation

__all__ = ["grid", "has_grid", "held_grid", "holds_steps", "pattern"]


@functools.cache
def pattern(n: int, exponent: int, layout: FloatLayout) -> int:
    """The float pattern of n * 2**exponent (sign from n), which must be exact.

    >>> from mxref.bits.floats import F32
    >>> hex(pattern(-3, -1, F32))
    '0xbfc00000'

    Raises:
        ValueError: the number is not a number of the float type.
    """
    if n == 0:
        return 0
    magnitude = abs(n)
    binade = max(magnitude.bit_length() - 1 + exponent, layout.emin)
    shift = exponent - (binade - layout.mantissa_bits)  # to units of the last place
    count = magnitude << shift if shift >= 0 else magnitude >> -shift
    # Consecutive numbers have consecutive patterns: the hidden bit adds one to the field.
    bits = (binade - layout.emin << layout.mantissa_bits) + count
    if bits >= layout.inf_bits or (shift < 0 and count << -shift != magnitude):
        raise ValueError(f"{n} * 2**{exponent} is not exact in {layout.name}")
    return bits | layout.sign_bit * (n < 0)


def grid(fmt: CodeFormat, layout: FloatLayout) -> tuple[list[int], list[int]]:
    """Patterns of a format's numbers from 0 to the largest, and of every midpoint above each.

    The last midpoint is the overflow threshold, between the largest number and the next one of the
    same spacing. All are exact in every float type for the formats of MX.

    Raises:
        ValueError: one is no number of the float type; see `has_grid`.
    """
    numbers, middles, unit = _counts(fmt)
    return (
        [pattern(n, unit, layout) for n in numbers],
        [pattern(n, unit, layout) for n in middles],
    )


def held_grid(fmt: CodeFormat, layout: FloatLayout) -> tuple[list[int], list[int]]:
    """Those of `grid` that are numbers of the float type: all where `has_grid` is true.

    They are enough: a number or midpoint between two neighbouring floats is below the normal
    floats, where these two have so few digits that each is a number of the format or a midpoint.

    >>> from mxref.bits.floats import F16
    >>> from mxref.formats.catalog import UE5M3
    >>> len(held_grid(UE5M3, F16)[0]), UE5M3.max_code + 1
    (248, 255)
    """
    numbers, middles, unit = _counts(fmt)

    def held(counts: Iterable[int]) -> list[int]:
        found = []
        for n in counts:
            with contextlib.suppress(ValueError):
                found.append(pattern(n, unit, layout))
        return found

    return held(numbers), held(middles)


def _counts(fmt: CodeFormat) -> tuple[list[int], list[int], int]:
    """Numbers and the midpoints above them in units of a power of two, and its exponent."""
    magnitudes = [fmt.magnitude_parts(code) for code in range(fmt.max_code + 2)]
    unit = magnitudes[0][1] - 1
    counts = [n << (exponent - unit) for n, exponent in magnitudes]
    middles = [(low + high) // 2 for low, high in itertools.pairwise(counts)]
    return counts[:-1], middles, unit


@functools.cache
def has_grid(fmt: CodeFormat, layout: FloatLayout) -> bool:
    """Whether a float type holds a format's numbers and midpoints: float16 not those of some.

    >>> from mxref.bits.floats import F16
    >>> from mxref.formats.catalog import UE4M3, UE5M3
    >>> has_grid(UE4M3, F16), has_grid(UE5M3, F16)
    (True, False)
    """
    try:
        grid(fmt, layout)
    except ValueError:
        return False
    return True


def holds_steps(row: Operation, format: str, slot: str) -> bool:
    """Whether a float type has the grid of a format, of an operation that rounds numbers to it.

    >>> from mxref.operations.registry import REGISTRY
    >>> [holds_steps(REGISTRY[op], "ue5m3", "f16") for op in ("encode", "encode_scale")]
    [False, True]
    """
    rounds = "rounding" in row.reads(format) and format in CODE_FORMATS
    return not rounds or has_grid(CODE_FORMATS[format], LAYOUTS[slot])
