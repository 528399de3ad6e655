"""Dot products of rows of blocks, and the intervals that hold their float32 sums, in integers.

Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N26, N27, N28, N43.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Final, NamedTuple

from mxref.exact.format_table import ELEMENTS, FLOATS, check_int, domain_error, look_up, read_code
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
        raise domain_error("scales", f"one for each block of {block_size}", len(scales))
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


def dot_bounds(a: Row, b: Row, target: str = "f32", rounding: str = "nearest") -> tuple[int, ...]:
    """Return the bits of both ends of the interval of float32 sums, and of what overflow gives.

    a, b, target: as in `dot`. rounding: nearest (every addition, in any order), any (adders that
    truncate and do not normalize). The sum is then rounded to the target. What overflow on the way
    gives: Inf or -Inf; NaN, if sums may overflow in both directions, which allows Inf, -Inf and
    NaN; else the lower end again.
    Special values: NaN is all three. An infinite product is both ends, and counts as a sum that
    overflows.
    Source: SPEC_NOTES N43.

    >>> one = row([127], [0x78, 0x01], "e4m3")
    >>> [hex(end) for end in dot_bounds(one, one)]
    ['0x477fffff', '0x47800001', '0x477fffff']
    """
    kind = look_up(FLOATS, "target", target)
    products = list(map(mul, a.numbers, b.numbers))
    special, (factor, constant) = _special(a, b), _error(products, rounding)
    sizes = [sum(n for n in products if n > 0), -sum(n for n in products if n < 0)]
    beyond = [(size << 24) + factor * size + constant >= OVERFLOW for size in sizes]
    if special is None:
        radius = factor * sum(sizes) + constant
        ends = [_number((sum(products) << 24) + r, FINE) for r in (-radius, radius)]
    else:
        ends, beyond[special[0]] = [special, special], True
    overflow = ends[0]
    if any(beyond) and overflow[1] != NAN:
        overflow = (0, NAN, 0) if all(beyond) else (int(beyond[1]), INF, 0)
    return tuple(write_float(end, kind) for end in (*ends, overflow))


def exact_in_every_order(a: Row, b: Row, target: str = "f32") -> bool:
    """Whether all orders of additions, and the adders of 25 and 35 bits, give the exact sum.

    That is so if all products are multiples of a power of two, at least 2**-149, their magnitudes
    add up to at most 2**19 times it, and no sum may overflow unless the result does.
    Special values: True for NaN, and for Inf if no sum of products of the other sign may overflow.
    Source: SPEC_NOTES N43.

    >>> ones, large = row([127], [0x38, 0x38], "e4m3"), row([127], [0x78, 0x01], "e4m3")
    >>> exact_in_every_order(ones, ones), exact_in_every_order(large, large)
    (True, False)
    """
    exact = _error(list(map(mul, a.numbers, b.numbers)), "any") == (0, 0)
    low, _, overflow = dot_bounds(a, b, target, "any")
    return (exact or _special(a, b) is not None) and low == overflow


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


def _error(products: Sequence[int], rounding: str) -> tuple[int, int]:
    """The error bound of a float32 sum: a factor of 2**-24 times magnitudes, and a constant."""
    magnitude, k, n = sum(map(abs, products)), len(products), sum(map(bool, products))
    if rounding == "nearest":  # (n - 1) 2**-24 and n 2**-150
        bits, factor, constant = 24, max(n - 1, 0), n << FINE - 150
    elif rounding == "any":  # (2k + 2) 2**-23 and k 2**-149
        bits, factor, constant = 19, 4 * k + 4, k << FINE - 149
    else:
        raise domain_error("rounding", "one of nearest, any", rounding)
    unit = min((product & -product for product in products if product), default=1 << 2 * UNIT)
    return (0, 0) if unit >> 2 * UNIT - 149 and magnitude <= unit << bits else (factor, constant)
