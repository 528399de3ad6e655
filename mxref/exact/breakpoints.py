"""The breakpoints of a format: magnitudes and the midpoints between them, with element codes.

They are integers in one unit, so small that every source number of half the smallest magnitude or
more is an integer too. Encoding finds the place of a number among them.

Source: OCP MX v1.0 5.3; OFP8 Rev 1.0 5.2.1; P3109 interim report v4.0 (N18).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from mxref.exact.choice_table import STOCHASTIC
from mxref.exact.format_table import FORMATS, UNSIGNED, look_up, magnitude
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.rounding import goes_up
from mxref.exact.sign_codes import SignCodes, largest_code, make_sign_codes


class Breakpoints(NamedTuple):
    """The breakpoints of one format, and the codes of both signs.

    stochastic: the rounding, if it is a stochastic one. points: magnitudes and midpoints in turn,
    as counts of 2**unit. sides: the codes of positive numbers and of negative ones.
    """

    stochastic: str | None
    unit: int
    points: tuple[int, ...]
    sides: tuple[SignCodes, SignCodes]


@cache
def breakpoints(format: str, **chosen: str) -> Breakpoints:
    """Make the breakpoints of a format under a member of every choice in ELEMENT_CHOICES.

    Half the smallest magnitude is 2**64 units. A source number is n * 2**e with n < 2**64, so it
    either is a whole number of units or lies below that half.
    Special values: a format without sign gives negative numbers the codes of positive ones.
    Source: OCP MX v1.0 5.3.1 to 5.3.4; OFP8 Rev 1.0 5.2.1.

    >>> from mxref.exact.choice_table import ELEMENT_CHOICES, settle
    >>> r = breakpoints("e2m1", **settle({}, ELEMENT_CHOICES))
    >>> r.unit, [p // 2**64 for p in r.points[:5]], r.sides[0].answers[1:10]
    (-66, [0, 1, 2, 3, 4], (0, 0, 0, 1, 1, 1, 2, 2, 2))
    """
    fmt = look_up(FORMATS, "format", format)
    _, smallest = magnitude(1, fmt)
    unit = smallest - 1 - 64
    top = 1 + max(largest_code(sign, fmt, chosen) for sign in (0, 1))
    counts = [n << (e - unit) for n, e in (magnitude(code, fmt) for code in range(top + 1))]
    points: list[int] = []
    for low, high in pairwise(counts):
        points += [low, (low + high) // 2]
    points.append(counts[-1])
    positive = make_sign_codes(0, top, fmt, chosen)
    negative = positive if fmt.sign == UNSIGNED else make_sign_codes(1, top, fmt, chosen)
    stochastic = chosen["rounding"] if chosen["rounding"] in STOCHASTIC else None
    return Breakpoints(stochastic, unit, tuple(points), (positive, negative))


@cache
def code_finder(breaks: Breakpoints) -> Callable[[Number, int, int], int]:
    """Make the function from a number, n below 2**64, and random bits to its element code.

    Its arguments: the number, random_bits and random_width, read by a stochastic rounding.
    Special values: ValueError for a NaN where it is an error.
    Source: OCP MX v1.0 5.3.

    >>> from mxref.exact.choice_table import ELEMENT_CHOICES, settle
    >>> code_finder(breakpoints("e2m1", **settle({}, ELEMENT_CHOICES)))((1, 3, -1), 0, 0)
    11
    """
    stochastic, unit, points, sides = breaks
    limit = points[-1].bit_length()
    values = points[::2]

    def place(number: Number, random_bits: int, random_width: int) -> int:
        sign, n, e = number
        side = sides[sign]
        if n <= 0:
            return _special(n, side)
        shift = e - unit
        if shift >= limit:
            return side.exact[-1]
        if stochastic is not None:
            return _drawn(n, shift, values, stochastic, side, random_bits, random_width)
        if shift < 0:
            return side.answers[2]
        count = n << shift
        i = bisect_right(points, count)
        return side.answers[2 * i - 1 if points[i - 1] == count else 2 * i]

    return place


def code_of_ratio(breaks: Breakpoints, sign: int, magnitude: Fraction) -> int:
    """Return the element code of a rational number by a deterministic rounding.

    Source: OCP MX v1.0 5.3.

    >>> from mxref.exact.choice_table import ELEMENT_CHOICES, settle
    >>> breaks = breakpoints("e2m1", **settle({}, ELEMENT_CHOICES))
    >>> [code_of_ratio(breaks, 1, Fraction(n, 12)) for n in (2, 3, 4, 29, 30, 1000)]  # ties: 3, 30
    [8, 8, 9, 12, 12, 15]
    """
    side = breaks.sides[sign]
    count, rest = divmod(magnitude.numerator << -breaks.unit, magnitude.denominator)
    i = bisect_right(breaks.points, count)
    return side.answers[2 * i - 1 if breaks.points[i - 1] == count and rest == 0 else 2 * i]


def _special(n: int, side: SignCodes) -> int:
    """Return the element code of a zero, an Inf or a NaN."""
    if n == NAN:
        if side.nan is None:
            raise ValueError("a NaN has no code in this format, and nan_to_finite is error")
        return side.nan
    return side.infinite if n == INF else side.zero


def _drawn(
    n: int,
    shift: int,
    values: tuple[int, ...],
    rounding: str,
    side: SignCodes,
    random_bits: int,
    random_width: int,
) -> int:
    """Return the element code of n * 2**shift units by a stochastic rounding."""
    finer = max(-shift, 0)  # count in units of 2**-finer
    count = n << max(shift, 0)
    low = bisect_right(values, count >> finer) - 1
    if count == values[low] << finer:
        return side.exact[low]
    if low == len(values) - 1:
        return side.exact[-1]
    rest = count - (values[low] << finer)
    gap = (values[low + 1] - values[low]) << finer
    return side.between[low][goes_up(rest, gap, rounding, random_bits, random_width)]
