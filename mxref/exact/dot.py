"""Dot products of rows of blocks, and the intervals that hold their float32 sums, in integers.

Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N26, N27, N28, N43.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import mul
from typing import Final, NamedTuple

from mxref.exact.arithmetic import F32, product, quotient
from mxref.exact.format_table import (
    E8M0,
    ELEMENTS,
    FLOATS,
    UNSIGNED_SCALES,
    ElementType,
    FloatType,
    check_int,
    domain_error,
    look_up,
    magnitude,
    read_code,
)
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.patterns import float_reader, write_float
from mxref.exact.sums import fraction

# A row's numbers are integers times 2**-UNIT, the finest being 2**-17 times the scale 2**-127;
# ends of intervals are integers times 2**-FINE, 24 bits below the products.
UNIT: Final = 160
FINE: Final = 2 * UNIT + 24
# Where a float32 sum becomes infinite: midway between the largest number and the next one.
OVERFLOW: Final = (2**128 - 2**103) << FINE


class Tensor(NamedTuple):
    """The scale of a tensor: a factor, 0 for Inf and NaN, and whether float32 rounds by it."""

    factor: Fraction = Fraction(1)
    rounds: bool = False
    kind: int = 0  # INF or NAN


class Row(NamedTuple):
    """A row of elements times their scales, `numbers` in units of 2**-UNIT, 0 for Inf and NaN.

    has_nan: whether a number is NaN, as under a NaN scale, that of zeros too. infinities: 1, -1 by
    place. tensor: what all numbers are to be multiplied by.
    """

    numbers: tuple[int, ...]
    has_nan: bool
    infinities: dict[int, int]
    tensor: Tensor = Tensor()


def tensor(bits: int, kind: str, format: str, scale_format: str) -> Tensor:
    """Read the scale of a tensor.

    bits: of a float32 without sign. kind: factor, divisor, amax (of the largest element times the
    largest scale), amax_256 (of the largest element times 256).
    Source: SPEC_NOTES N42.

    >>> tensor(0x40000000, "divisor", "e2m1", "ue4m3")
    Tensor(factor=Fraction(1, 2), rounds=False, kind=0)
    >>> tensor(0x45280000, "amax", "e2m1", "ue4m3")  # 2688
    Tensor(factor=Fraction(1, 1), rounds=True, kind=0)
    """
    number = float_reader(F32)(bits)
    if number[1] == NAN:
        return Tensor(Fraction(0), rounds=True, kind=NAN)
    if kind == "divisor":
        if number[1] <= 0:
            return Tensor(Fraction(0), kind=0 if number[1] == INF else INF)
        power = bits & 0x7FFFFF == 0 if bits >> 23 else bits.bit_count() == 1
        return Tensor(1 / fraction(number), not power)
    if number[1] == INF:
        return Tensor(Fraction(0), kind=INF)
    factor, largest = fraction(number), Fraction(1)
    if kind == "amax":
        largest = _largest(ELEMENTS[format]) * _largest(UNSIGNED_SCALES[scale_format])
    elif kind == "amax_256":
        largest = _largest(ELEMENTS[format]) * 256
    rounds = factor.numerator & (factor.numerator - 1) > 0 or largest != 1
    return Tensor(factor / largest, rounds)


def _largest(fmt: ElementType) -> Fraction:
    n, e = magnitude(fmt.max_code, fmt)
    return n * Fraction(2) ** e


def row(
    scales: Sequence[int],
    codes: Sequence[int],
    format: str,
    block_size: int = 32,
    scale_format: str = "e8m0",
    of_tensor: Tensor = Tensor(),  # noqa: B008 (it is immutable)
) -> Row:
    """Read a row of blocks.

    scales: codes, one for each block; the last block may be short. codes: element codes. format: an
    element format. scale_format: e8m0, or an unsigned float. of_tensor: the scale of the tensor.
    Source: OCP MX v1.0 5.1, 5.3, 5.4.1; SPEC_NOTES N41, N42.

    >>> row([126], [0x7, 0x9], "e2m1") == Row((3 << UNIT, -(1 << UNIT - 2)), False, {})
    True
    >>> row([0x39], [0x7], "e2m1", scale_format="ue4m3").numbers == (27 << UNIT - 2,)  # 6 times 9/8
    True
    """
    fmt = look_up(ELEMENTS, "format", format)
    if len(scales) != -(-len(codes) // block_size):
        raise domain_error("scales", f"one for each block of {block_size}", len(scales))
    numbers, infinities, factors = [], {}, [read_scale(scale, scale_format) for scale in scales]
    factor = (0, of_tensor.kind, 0) if of_tensor.kind else (0, int(of_tensor.factor > 0), 0)
    has_nan = NAN in [n for _, n, _ in factors]
    for place, code in enumerate(codes):
        check_int("code", code, fmt.bits)
        sign, n, e = product(read_code(code, fmt), factors[place // block_size])
        finite = max(n, 0) << (e + UNIT)
        numbers.append(-finite if sign else finite)
        kind = product((sign, n, e), factor)[1]
        has_nan = has_nan or kind == NAN
        if kind == INF:
            infinities[place] = -1 if sign else 1
    return Row(tuple(numbers), has_nan, infinities, of_tensor)


def read_scale(code: int, name: str) -> Number:
    """Read the scale of a block: e8m0, or an unsigned float.

    >>> read_scale(0x7E, "e8m0"), read_scale(0x39, "ue4m3"), read_scale(0x01, "ue4m3")
    ((0, 1, -1), (0, 9, -3), (0, 1, -9))
    """
    if name != E8M0.name:
        fmt = look_up(UNSIGNED_SCALES, "scale_format", name)
        check_int("scale", code, fmt.bits)
        return read_code(code, fmt)
    check_int("scale", code, 8)
    return (0, NAN, 0) if code > E8M0.max_code else (0, 1, code - E8M0.bias)


def dot(a: Row, b: Row, target: str = "f32") -> int:
    """Return the bits of the dot product, exact and rounded once to nearest even.

    a, b: rows of one length. target: f16, bf16, f32 or f64.
    Special values: NaN if a row has one, of Inf times zero and of infinities of both signs; else
    Inf if a product is. An exact zero is +0.
    Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N26 to N28, N42.

    >>> hex(dot(row([127], [0x7E, 0x01, 0x7E], "e4m3"), row([127], [0x7E, 0x01, 0xFE], "e4m3")))
    '0x36800000'
    """
    kind, count = look_up(FLOATS, "target", target), sum(map(mul, a.numbers, b.numbers))
    special = _special(a, b)
    return write_float(_number(count, 2 * UNIT, a, b, kind) if special is None else special, kind)


def exact_dot(a: Row, b: Row) -> Fraction | Number:
    """Return the dot product as it is: a fraction, or NaN or an infinity as a number.

    a, b: as in `dot`.
    Source: SPEC_NOTES N28, N42.

    >>> exact_dot(row([127], [0x3], "e2m1"), row([126], [0x1], "e2m1"))
    Fraction(3, 8)
    """
    special = _special(a, b)
    count = Fraction(sum(map(mul, a.numbers, b.numbers)), 1 << 2 * UNIT)
    return count * a.tensor.factor * b.tensor.factor if special is None else special


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
    rounds = a.tensor.rounds or b.tensor.rounds
    special, (factor, constant) = _special(a, b), _error(products, rounding, rounds=rounds)
    sizes = [sum(n for n in products if n > 0), -sum(n for n in products if n < 0)]
    one, other = a.tensor.factor, b.tensor.factor
    largest = max(Fraction(1), one, other, one * other)
    beyond = [((size << 24) + factor * size + constant) * largest >= OVERFLOW for size in sizes]
    if special is None:
        radius = factor * sum(sizes) + constant
        ends = [_number((sum(products) << 24) + r, FINE, a, b, kind) for r in (-radius, radius)]
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
    rounds = a.tensor.rounds or b.tensor.rounds
    exact = _error(list(map(mul, a.numbers, b.numbers)), "any", rounds=rounds) == (0, 0)
    low, _, overflow = dot_bounds(a, b, target, "any")
    return (exact or _special(a, b) is not None) and low == overflow


def _number(count: int, unit: int, a: Row, b: Row, kind: FloatType) -> Number:
    """The number times the scales of both tensors, rounded to a type unless both are 1."""
    found = int(count < 0), abs(count), -unit
    factor = a.tensor.factor * b.tensor.factor
    if factor == 1:
        return found
    sign = found[0] if factor else 0  # an exact zero is +0
    over = sign, found[1] * factor.numerator, -unit
    return quotient(over, (0, factor.denominator, 0), kind)


def _special(a: Row, b: Row) -> Number | None:
    """NaN or an infinity, if the dot product is no finite number."""
    if a.has_nan or b.has_nan:
        return 0, NAN, 0
    signs = set()
    for place in {*a.infinities, *b.infinities}:
        x, y = (
            each.infinities.get(place, each.numbers[place] if each.tensor.factor else 0)
            for each in (a, b)
        )
        signs.add(((x > 0) - (x < 0)) * ((y > 0) - (y < 0)))
    if not signs:
        return None
    return (0, NAN, 0) if 0 in signs or len(signs) > 1 else (int(-1 in signs), INF, 0)


def _error(products: Sequence[int], rounding: str, *, rounds: bool) -> tuple[int, int]:
    """The error bound of a float32 sum: a factor of 2**-24 times magnitudes, and a constant.

    rounds: whether the sum is multiplied by scales of tensors that are no powers of two.
    """
    size, k, n = sum(map(abs, products)), len(products), sum(map(bool, products))
    if rounding == "nearest":  # (n - 1) 2**-24 and n 2**-150
        bits, factor, constant = 24, max(n - 1 + 7 * rounds, 0), n << FINE - 150
    elif rounding == "any":  # (2k + 2) 2**-23 and k 2**-149
        bits, factor, constant = 19, 4 * k + 4 + 24 * rounds, k << FINE - 149
    else:
        raise domain_error("rounding", "one of nearest, any", rounding)
    unit = min((product & -product for product in products if product), default=1 << 2 * UNIT)
    if unit >> 2 * UNIT - 149 and size <= (0 if rounds else unit << bits):
        return 0, 0
    return factor, constant
