"""A format as a ruler: its magnitudes, and the element code that each place between them gets.

The magnitudes and the midpoints between them are integers in one unit, so small that every source
number that matters is an integer too. Encoding looks up where the number lies among them.

Source: OCP MX v1.0 §5.3; OFP8 Rev 1.0 §5.2.1; the choices are N10 to N15, N18, N25, N37 and N39.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from mxref.exact.choices import STOCHASTIC
from mxref.exact.formats import (
    FORMATS,
    MINUS_ZERO_IS_NAN,
    TWOS_COMPLEMENT,
    UNSIGNED,
    ElementFormat,
    join_sign,
    look_up,
    magnitude,
)
from mxref.exact.numbers import INF, NAN, Number
from mxref.exact.rounding import ABOVE, BELOW, TIE, choose, goes_up, stops_at_max


class Side(NamedTuple):
    """The element codes for the numbers of one sign.

    zero, infinite, nan: for those numbers (nan: None when NaN is an error). exact: for the number
    of each magnitude code. between: for numbers above it, rounded down and up. answers: the same
    for one deterministic rounding; index 2*i - 1 is the answer on the i-th point (from 1), 2*i the
    one between it and the next.
    """

    zero: int
    infinite: int
    nan: int | None
    exact: tuple[int, ...]
    between: tuple[tuple[int, int], ...]
    answers: tuple[int, ...]


class Ruler(NamedTuple):
    """The points of one format, and what lies there on both sides of zero.

    stochastic: the rounding, if it is a stochastic one. unit: a power of two; the points are counts
    of 2**unit, magnitudes and midpoints in turn. limit: 2**limit exceeds every point. sides: of
    positive numbers and of negative ones.
    """

    stochastic: str | None
    unit: int
    limit: int
    points: tuple[int, ...]
    sides: tuple[Side, Side]


def largest_code(sign: int, fmt: ElementFormat, chosen: Mapping[str, str]) -> int:
    """Magnitude code of the largest finite number of a sign; two's complement may have one more.

    >>> from mxref.exact.formats import ELEMENTS
    >>> [largest_code(s, ELEMENTS["int8"], {"int8_range": "full"}) for s in (0, 1)]
    [127, 128]
    """
    full = fmt.sign == TWOS_COMPLEMENT and chosen["int8_range"] == "full"
    return fmt.max_code + (full and sign == 1)


def nan_code(sign: int, fmt: ElementFormat, chosen: Mapping[str, str]) -> int:
    """Element code of a NaN with that sign, in a format that has NaN.

    Special values: a format whose one NaN is the code of -0 gives that.
    Source: OFP8 Rev 1.0 §5.2.1 (implementation-defined).

    >>> from mxref.exact.formats import ELEMENTS
    >>> hex(nan_code(1, ELEMENTS["e5m2"], {"nan": "signed_quiet"}))
    '0xfe'
    """
    if fmt.sign == MINUS_ZERO_IS_NAN:
        return fmt.sign_weight
    top = fmt.sign_weight - 1
    top_fraction_bit = 1 << (fmt.mantissa_bits - 1)
    quiet = top if fmt.infinity is None else fmt.infinity + top_fraction_bit
    codes = {
        "positive": (0, top),
        "signed": (sign, top),
        "negative": (1, top),
        "signed_quiet": (sign, quiet),
    }
    return join_sign(*codes[chosen["nan"]], fmt)


def nan_number(sign: int, fmt: ElementFormat, chosen: Mapping[str, str]) -> int | None:
    """Element code of the number that stands for a NaN with that sign; None if it is an error.

    Source: OCP MX v1.0 §5.3.2 to §5.3.4 (implementation-defined).

    >>> from mxref.exact.formats import ELEMENTS
    >>> nan_number(0, ELEMENTS["e2m1"], {"nan_to_finite": "opposite_zero", "int8_range": "full"})
    8
    """
    numbers = {
        "max": (0, fmt.max_code),
        "signed_max": (sign, largest_code(sign, fmt, chosen)),
        "zero": (0, 0),
        "signed_zero": (sign, 0),
        "opposite_zero": (1 - sign, 0),
        "error": None,
    }
    number = numbers[chosen["nan_to_finite"]]
    return None if number is None else join_sign(*number, fmt)


def overflow_code(sign: int, fmt: ElementFormat, chosen: Mapping[str, str], *, finite: bool) -> int:
    """Element code of a finite number that overflows, or of Inf.

    Source: OCP MX v1.0 §5.3.1 Table 3; OFP8 Rev 1.0 §5.2.1; IEEE 754-2019 §7.4 (ieee); P3109
    interim report v4.0 §4.7.5 (propagate).

    >>> from mxref.exact.formats import ELEMENTS
    >>> overflow_code(0, ELEMENTS["e5m2"], {"overflow": "propagate"}, finite=False) == 0x7C
    True
    """
    to_largest = {
        "saturate": True,
        "nonsaturating": False,
        "nonsaturating_ieee": finite and stops_at_max(chosen["rounding"], sign),
        "propagate": finite,
    }
    if not to_largest[chosen["overflow"]]:
        if fmt.infinity is not None:
            return join_sign(sign, fmt.infinity, fmt)
        if fmt.has_nan:
            return nan_code(sign, fmt, chosen)
    return join_sign(sign, largest_code(sign, fmt, chosen), fmt)


def _side(sign: int, top: int, fmt: ElementFormat, chosen: Mapping[str, str]) -> Side:
    """Make the codes of one sign, for the magnitude codes 0 to top, which is above the largest."""
    largest = largest_code(sign, fmt, chosen)
    over = overflow_code(sign, fmt, chosen, finite=True)
    zero = join_sign(sign if chosen["zero_sign"] == "kept" else 0, 0, fmt)
    underflow = join_sign(sign if chosen["underflow_sign"] == "kept" else 0, 0, fmt)
    numbers = [join_sign(sign, code, fmt) for code in range(1, largest + 1)]
    overflows = [over] * (top - largest)
    exact = [zero, *numbers, *overflows]
    between = list(pairwise([underflow, *numbers, *overflows]))
    if chosen["clamp"] == "before_rounding":
        between[largest] = (over, over)
    answers = []
    if chosen["rounding"] not in STOCHASTIC:
        answers.append(zero)  # never asked for: no magnitude is below zero
        for code, pair in enumerate(between):
            rounded = [
                choose(code, where, sign, chosen["rounding"]) for where in (BELOW, TIE, ABOVE)
            ]
            answers += [exact[code], *(pair[choice - code] for choice in rounded)]
        answers += [over, over]
    infinite = overflow_code(sign, fmt, chosen, finite=False)
    nan = nan_code(sign, fmt, chosen) if fmt.has_nan else nan_number(sign, fmt, chosen)
    return Side(zero, infinite, nan, tuple(exact), tuple(between), tuple(answers))


@cache
def ruler(format: str, **chosen: str) -> Ruler:
    """Make the ruler of a format under a member of every choice in ELEMENT_CHOICES.

    Half the smallest magnitude is 2**64 units. A source number is n * 2**e with n < 2**64, so it
    either is a whole number of units or lies below that half.
    Special values: a format without sign gives negative numbers the codes of positive ones.
    Source: OCP MX v1.0 §5.3.1 to §5.3.4; OFP8 Rev 1.0 §5.2.1.

    >>> from mxref.exact.choices import ELEMENT_CHOICES, settle
    >>> r = ruler("e2m1", **settle({}, ELEMENT_CHOICES))
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
    positive = _side(0, top, fmt, chosen)
    negative = positive if fmt.sign == UNSIGNED else _side(1, top, fmt, chosen)
    stochastic = chosen["rounding"] if chosen["rounding"] in STOCHASTIC else None
    return Ruler(stochastic, unit, points[-1].bit_length(), tuple(points), (positive, negative))


def place(number: Number, marks: Ruler, random_bits: int = 0, random_width: int = 0) -> int:
    """Return the element code of a number, n below 2**64, by its place on a ruler.

    random_bits and random_width: as in `encode`; read by a stochastic ruler only.
    Special values: ValueError for a NaN where it is an error.
    Source: OCP MX v1.0 §5.3.

    >>> from mxref.exact.choices import ELEMENT_CHOICES, settle
    >>> place((1, 3, -1), ruler("e2m1", **settle({}, ELEMENT_CHOICES)))
    11
    """
    sign, n, e = number
    side = marks.sides[sign]
    if n <= 0:
        return _special(n, side)
    shift = e - marks.unit
    if shift >= marks.limit:
        return side.exact[-1]
    if marks.stochastic is not None:
        return _drawn(n, shift, marks, side, random_bits, random_width)
    if shift < 0:
        return side.answers[2]
    count = n << shift
    i = bisect_right(marks.points, count)
    return side.answers[2 * i - 1 if marks.points[i - 1] == count else 2 * i]


def _special(n: int, side: Side) -> int:
    """Return the element code of a zero, an Inf or a NaN."""
    if n == NAN:
        if side.nan is None:
            raise ValueError("a NaN has no code in this format, and nan_to_finite is error")
        return side.nan
    return side.infinite if n == INF else side.zero


def _drawn(
    n: int, shift: int, marks: Ruler, side: Side, random_bits: int, random_width: int
) -> int:
    """Return the element code of n * 2**shift units by a stochastic rounding."""
    finer = max(-shift, 0)  # count in units of 2**-finer
    count = n << max(shift, 0)
    values = marks.points[::2]
    low = bisect_right(values, count >> finer) - 1
    if count == values[low] << finer:
        return side.exact[low]
    if low == len(values) - 1:
        return side.exact[-1]
    rest = count - (values[low] << finer)
    gap = (values[low + 1] - values[low]) << finer
    assert marks.stochastic is not None
    return side.between[low][goes_up(rest, gap, marks.stochastic, random_bits, random_width)]
