"""Number to element code and back, one at a time.

A format is a sorted list of points, the representable magnitudes with the midpoints between them,
as integers in one unit so small that every source number that matters is an integer too. Encoding
looks up where the number lies among the points.

Source: OCP MX v1.0 §5.3; OFP8 Rev 1.0 §5.2.1.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from mxref.exact.floats import write_float
from mxref.exact.formats import (
    ELEMENTS,
    FLOATS,
    ElementFormat,
    bad,
    check_int,
    join_sign,
    look_up,
    magnitude,
    split_sign,
)
from mxref.exact.rounding import ABOVE, BELOW, ON, TIE, check_rounding, choose

OVERFLOWS: Final = ("saturate", "nonsaturating")


class Ruler(NamedTuple):
    """The points of one format with the answer at and after each of them, for both signs.

    unit: a power of two; the points are counts of 2**unit. limit: 2**limit exceeds every point.
    answers: element codes, of positive numbers and of negative ones; index 2*i - 1 is the answer
    on the i-th point (from 1), 2*i the one between it and the next. nan: the answer for NaN.
    """

    unit: int
    limit: int
    points: tuple[int, ...]
    answers: tuple[tuple[int, ...], tuple[int, ...]]
    nan: int


def _finish(magnitude_code: int, sign: int, fmt: ElementFormat, overflow: str) -> int:
    """Return the element code of a rounded magnitude, perhaps the virtual one after the maximum."""
    if magnitude_code <= fmt.max_code:
        return join_sign(sign, magnitude_code, fmt)
    if overflow == "nonsaturating" and fmt.infinity is not None:
        return join_sign(sign, fmt.infinity, fmt)
    if overflow == "nonsaturating" and fmt.nans:
        return fmt.nan_result
    return join_sign(sign, fmt.max_code, fmt)


@cache
def ruler(format: str, rounding: str, overflow: str) -> Ruler:
    """Make the ruler of a format under a rounding and an overflow method.

    Half the smallest magnitude is 2**52 units. A source number is n * 2**e with n < 2**53, so it
    either is a whole number of units or lies below that half.
    Source: OCP MX v1.0 §5.3.1 to §5.3.4; OFP8 Rev 1.0 §5.2.1.

    >>> r = ruler("e2m1", "ties_to_even", "saturate")
    >>> r.unit, [p // 2**52 for p in r.points[:5]], r.answers[0][1:10]
    (-54, [0, 1, 2, 3, 4], (0, 0, 0, 1, 1, 1, 2, 2, 2))
    """
    fmt = look_up(ELEMENTS, "format", format)
    check_rounding(rounding)
    if overflow not in OVERFLOWS:
        raise bad("overflow", "one of " + ", ".join(OVERFLOWS), overflow)
    _, smallest = magnitude(1, fmt)
    unit = smallest - 1 - 52
    after_max = fmt.max_code + 1
    numbers = [magnitude(code, fmt) for code in range(after_max + 1)]
    counts = [n << (e - unit) for n, e in numbers]
    points: list[int] = []
    for low, high in pairwise(counts):
        points += [low, (low + high) // 2]
    points.append(counts[-1])
    sides = []
    for sign in (0, 1):
        answers = [join_sign(sign, 0, fmt)]
        for code in range(after_max):
            for where in (ON, BELOW, TIE, ABOVE):
                chosen = choose(code, where, sign, rounding)
                answers.append(_finish(chosen, sign, fmt, overflow))
        answers += [_finish(after_max, sign, fmt, overflow)] * 2
        sides.append(tuple(answers))
    limit = points[-1].bit_length()
    return Ruler(unit, limit, tuple(points), (sides[0], sides[1]), fmt.nan_result)


def encode_number(sign: int, n: int, e: int, marks: Ruler) -> int:
    """Encode the number +-n * 2**e, n from 0 to 2**53 - 1, on a ruler.

    sign: 1 for a negative number.
    Source: OCP MX v1.0 §5.3.

    >>> encode_number(1, 3, -1, ruler("e2m1", "ties_to_even", "saturate"))
    11
    """
    answers = marks.answers[sign]
    shift = e - marks.unit
    if n == 0:
        return answers[1]
    if shift < 0:
        return answers[2]
    if shift >= marks.limit:
        return answers[-1]
    count = n << shift
    i = bisect_right(marks.points, count)
    return answers[2 * i - 1 if marks.points[i - 1] == count else 2 * i]


@cache
def _plan(
    source: str, format: str, rounding: str, overflow: str
) -> tuple[int, int, int, int, Ruler]:
    """Look up once what `encode` needs for one set of names.

    The tuple: width, fraction bits and Inf's exponent field of the source, its exponent bias
    including the fraction bits, and the ruler.
    """
    kind = look_up(FLOATS, "source", source)
    marks = ruler(format, rounding, overflow)
    fraction = kind.fraction_bits
    return kind.bits, fraction, kind.infinity >> fraction, kind.bias + fraction, marks


def encode(
    x_bits: int,
    source: str,
    format: str,
    rounding: str = "ties_to_even",
    overflow: str = "saturate",
) -> int:
    """Return the element code of one float, rounded once.

    x_bits: bits of the float, 0 to 2**width - 1. source: f16, bf16, f32 or f64.
    format: e5m2, e4m3, e3m2, e2m3, e2m1 or int8. rounding: one of seven, with the exponent
    unbounded above the maximum; what rounds past the maximum overflows.
    overflow: "saturate" gives +-max; "nonsaturating" gives E5M2 +-Inf, E4M3 NaN (7F), and +-max
    in the formats that have neither.
    Special values: Inf overflows. NaN gives 7F in E5M2 and E4M3, else +max. -0 and negative
    underflow keep the sign; INT8 has no -0 and never gives 0x80.
    Source: OCP MX v1.0 §5.3.1 Table 3, §5.3.2 to §5.3.4; OFP8 Rev 1.0 §5.2.1.

    >>> hex(encode(0x43E80000, "f32", "e4m3"))  # 464 is the tie between 448 and 480
    '0x7e'
    >>> hex(encode(0x43E80001, "f32", "e4m3", overflow="nonsaturating"))
    '0x7f'
    >>> hex(encode(0x8001, "f16", "e2m1"))
    '0x8'
    """
    width, fraction, special, bias, marks = _plan(source, format, rounding, overflow)
    if type(x_bits) is not int or x_bits >> width:
        check_int("x_bits", x_bits, width)
    field = x_bits >> fraction
    n = x_bits - (field << fraction)
    sign = 0
    if field > special:
        sign = 1
        field -= special + 1
    if field == special:
        return marks.nan if n else marks.answers[sign][-1]
    if field:
        return encode_number(sign, n + (1 << fraction), field - bias, marks)
    return encode_number(sign, n, 1 - bias, marks)


@cache
def _decoded(format: str, target: str) -> tuple[int, ...]:
    """Decode every code of a format."""
    fmt = look_up(ELEMENTS, "format", format)
    kind = look_up(FLOATS, "target", target)
    table = []
    for code in range(1 << fmt.bits):
        sign, magnitude_code = split_sign(code, fmt)
        if magnitude_code in fmt.nans:
            table.append(kind.quiet_nan)
        elif magnitude_code == fmt.infinity:
            table.append(kind.infinity + (sign << (kind.bits - 1)))
        else:
            table.append(write_float(sign, *magnitude(magnitude_code, fmt), kind))
    return tuple(table)


def decode(code: int, format: str, target: str = "f32") -> int:
    """Return the bits of the float that an element code stands for.

    code: 0 to 2**bits - 1 of the format. format: e5m2, e4m3, e3m2, e2m3, e2m1 or int8.
    target: f16, bf16, f32 or f64; every finite element is exact in each of them.
    Special values: NaN codes give the positive quiet NaN with an otherwise empty payload; Inf and
    -0 keep the sign; INT8 0x80 is -2.
    Source: OCP MX v1.0 §5.3, §5.3.4; OFP8 Rev 1.0 §4.

    >>> hex(decode(0x7E, "e4m3")), hex(decode(0xFC, "e5m2", "f16")), hex(decode(0x80, "int8"))
    ('0x43e00000', '0xfc00', '0xc0000000')
    """
    table = _decoded(format, target)
    if type(code) is not int or not 0 <= code < len(table):
        raise bad("code", f"a Python int from 0 to {len(table) - 1:#x}", code)
    return table[code]
