"""Dot products of rows of blocks, and the intervals that hold their float32 sums, in integers.

Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N26, N27, N28, N43.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Final, NamedTuple

from mxref.exact.format_table import ELEMENTS, FLOATS, bad, check_int, look_up, read_code
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.patterns import write_float

# A row's numbers are integers times 2**-UNIT, the finest being 2**-17 times the scale 2**-127;
# ends of intervals are integers times 2**-FINE, 24 bits below the products.
UNIT: Final = 160
FINE: Final = 2 * UNIT + 24
# Where a float32 sum becomes infinite: midway between the largest number and the next one.
OVERFLOW: Final = (2**128 - 2**103) << FINE


class Row(NamedTuple):
    """A row of elements times their scales, `numbers` in units of 2**-UNIT, 0 for Inf and NaN.

    has_nan: whether an element is NaN, or a scale, that of zeros too. infinities: 1, -1 by place.
    """

    numbers: tuple[int, ...]
    has_nan: bool
    infinities: dict[int, int]


def row(scales: Sequence[int], codes: Sequence[int], format: str, block_size: int = 32) -> Row:
    """Read a row of blocks.

    scales: E8M0 codes, one for each block; the last block may be short. codes: element codes.
    format: an element format.
    Source: OCP MX v1.0 5.1, 5.3, 5.4.1.

    >>> row([126], [0x7, 0x9], "e2m1") == Row((3 << UNIT, -(1 << UNIT - 2)), False, {})
    True
    """
    fmt = look_up(ELEMENTS, "format", format)
    if len(scales) != -(-len(codes) // block_size):
        raise bad("scales", f"one for each block of {block_size}", len(scales))
    numbers, infinities, has_nan = [], {}, 0xFF in scales
    for place, code in enumerate(codes):
        scale = scales[place // block_size]
        check_int("scale", scale, 8)
        check_int("code", code, fmt.bits)
        sign, n, e = read_code(code, fmt)
        has_nan = has_nan or n == NAN
        if n == INF:
            infinities[place] = -1 if sign else 1
        finite = max(n, 0) << (e + scale - 127 + UNIT)
        numbers.append(-finite if sign else finite)
    return Row(tuple(numbers), has_nan, infinities)


def dot(a: Row, b: Row, target: str = "f32") -> int:
    """Return the bits of the dot product, exact and rounded once to nearest even.

    a, b: rows of one length. target: f16, bf16, f32 or f64.
    Special values: NaN if a row has one, of Inf times zero and of infinities of both signs; else
    Inf if a product is. An exact zero is +0.
    Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N26 to N28.

    >>> hex(dot(row([127], [0x7E, 0x01, 0x7E], "e4m3"), row([127], [0x7E, 0x01, 0xFE], "e4m3")))
    '0x36800000'
    """
    exact = _special(a, b) or _number(sum(map(mul, a.numbers, b.numbers)), 2 * UNIT)
    return write_float(exact, look_up(FLOATS, "target", target))


def dot_bounds(a: Row, b: Row, target: str = "f32", rounding: str = "nearest") -> tuple[int, int]:
    """Return the bits of the ends of the interval that holds every float32 sum of the products.

    a, b, target: as in `dot`. rounding: nearest (every addition, in any order), any (adders that
    truncate and do not normalize). A sum is then rounded to the target.
    Special values: NaN is both ends; -Inf and Inf where a float32 sum may overflow, and be NaN.
    Source: SPEC_NOTES N43.

    >>> one = row([127], [0x38] * 2, "e4m3")
    >>> [hex(end) for end in dot_bounds(one, one)]
    ['0x3fffffff', '0x40000001']
    """
    kind = look_up(FLOATS, "target", target)
    products = list(map(mul, a.numbers, b.numbers))
    special, radius = _special(a, b), _radius(products, rounding)
    ends = [special, special]
    if special is None or special[1] == INF:
        if _may_overflow(products, radius):
            ends = [(1, INF, 0), (0, INF, 0)]
        elif special is None:
            ends = [_number((sum(products) << 24) + r, FINE) for r in (-radius, radius)]
    low, high = (write_float(end, kind) for end in ends if end is not None)
    return low, high


def exact_in_every_order(a: Row, b: Row) -> bool:
    """Whether every order of additions is exact, and so are the adders of 25 and 35 bits.

    That is so if all products are multiples of a power of two, at least 2**-149, and their
    magnitudes add up to at most 2**19 of it and less than 2**128.
    Special values: True for NaN, and for Inf if no float32 sum of the other products may overflow.
    Source: SPEC_NOTES N43.

    >>> ones, large = row([127], [0x38, 0x38], "e4m3"), row([127], [0x78, 0x01], "e4m3")
    >>> exact_in_every_order(ones, ones), exact_in_every_order(large, large)
    (True, False)
    """
    products = list(map(mul, a.numbers, b.numbers))
    special, total = _special(a, b), sum(map(abs, products))
    if special is not None:
        return special[1] == NAN or not _may_overflow(products, _radius(products, "any"))
    unit = min((product & -product for product in products if product), default=1 << 2 * UNIT)
    return unit >> 2 * UNIT - 149 > 0 and total <= unit << 19 and total >> 2 * UNIT + 128 == 0


def _number(count: int, unit: int) -> Number:
    return int(count < 0), abs(count), -unit


def _special(a: Row, b: Row) -> Number | None:
    """NaN or an infinity, if the dot product is no finite number."""
    if a.has_nan or b.has_nan:
        return 0, NAN, 0
    signs = set()
    for place in {*a.infinities, *b.infinities}:
        x, y = (each.infinities.get(place, each.numbers[place]) for each in (a, b))
        signs.add(((x > 0) - (x < 0)) * ((y > 0) - (y < 0)))
    if not signs:
        return None
    return (0, NAN, 0) if 0 in signs or len(signs) > 1 else (int(-1 in signs), INF, 0)


def _radius(products: Sequence[int], rounding: str) -> int:
    """The largest distance of a float32 sum from the exact one, in units of 2**-FINE."""
    magnitude, k, n = sum(map(abs, products)), len(products), sum(map(bool, products))
    if rounding == "nearest":  # (n - 1) 2**-24 and n 2**-150
        return max(n - 1, 0) * magnitude + (n << FINE - 150)
    if rounding == "any":  # (2k + 2) 2**-23 and k 2**-149
        return (4 * k + 4) * magnitude + (k << FINE - 149)
    raise bad("rounding", "one of nearest, any", rounding)


def _may_overflow(products: Sequence[int], radius: int) -> bool:
    return (sum(map(abs, products)) << 24) + radius >= OVERFLOW
