"""The interval around one dot product that no chain of aligned steps leaves, in fractions.

Source: SPEC_NOTES N47.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

from mxref.exact.adder_steps import UNITS, Unit, read_factor
from mxref.exact.arithmetic import product, quotient
from mxref.exact.dot import Tensor, read_scale
from mxref.exact.format_table import (
    ELEMENTS,
    FLOATS,
    UNSIGNED_SCALES,
    FloatType,
    domain_error,
    look_up,
    read_code,
)
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.patterns import float_reader, write_float
from mxref.exact.sums import fraction, total_of

_ZERO = (0, 0, 0)
_NAN = (0, NAN, 0)


def multiplied_bounds(
    a: Sequence[int],
    b: Sequence[int],
    c: int,
    format_a: str,
    format_b: str,
    unit: str | Unit,
) -> tuple[int, ...]:
    """Return the bits of both ends for c + a · b, and of what overflow gives, as `dot_bounds` does.

    Arguments are those of `multiplied`; the unit must be an aligned one.
    Source: SPEC_NOTES N47.

    >>> rows = [0x38, *[0] * 31, 0x01], [0x38, *[0] * 31, 0x08], 0, "e4m3", "e4m3"
    >>> [hex(end) for end in multiplied_bounds(*rows, "hopper_fp8")]
    ['0x3f7ed9eb', '0x3f80950a', '0x3f7ed9eb']
    """
    how = look_up(UNITS, "unit", unit) if isinstance(unit, str) else unit
    if how.kind != "aligned":
        raise domain_error("unit", "an aligned one", unit)
    pairs = [
        (read_factor(x, format_a), read_factor(y, format_b)) for x, y in zip(a, b, strict=True)
    ]
    products = [product(x, y) for (x, _), (y, _) in pairs]
    sizes = [_size(*x) * _size(*y) for x, y in pairs]
    before = float_reader(FLOATS[how.output])(c)
    return _ends(products, sizes, before, how, how.output)


def chained_dot_bounds(
    a: Sequence[int],
    b: Sequence[int],
    scales_a: Sequence[int],
    scales_b: Sequence[int],
    format_a: str,
    format_b: str,
    bits: int,
    step: int,
    target: str = "f32",
    block_size: int = 32,
    scale_formats: tuple[str, str] = ("e8m0", "e8m0"),
    tensors: tuple[Tensor, Tensor] = (Tensor(), Tensor()),
) -> tuple[int, ...]:
    """Return the same for a dot product of blocks, of steps that keep so many bits.

    a, b: K element codes. scales_a, scales_b: a code for each block. target: f16, bf16, f32 or f64.
    scale_formats: e8m0, or an unsigned float. tensors: the scales of both tensors, finite ones.
    Special values: those of `dot_bounds`.
    Source: SPEC_NOTES N47.

    >>> [hex(end) for end in chained_dot_bounds([0x38], [0x39], [127], [127], *["e4m3"] * 2, 4, 1)]
    ['0x3f900000', '0x3f900000', '0x3f900000']
    """
    products, sizes = [], []
    for place, codes in enumerate(zip(a, b, strict=True)):
        total, size = (0, 1, 0), Fraction(1)
        for code, scale, name, of_scale in zip(
            codes, (s[place // block_size] for s in (scales_a, scales_b)),
            (format_a, format_b), scale_formats, strict=True,
        ):  # fmt: skip
            number, factor = read_code(code, ELEMENTS[name]), read_scale(scale, of_scale)
            exponent = number[2] + ELEMENTS[name].mantissa_bits + factor[2]
            if of_scale in UNSIGNED_SCALES:
                exponent += UNSIGNED_SCALES[of_scale].mantissa_bits
            both = product(number, factor)
            total, size = product(total, both), size * _size(both, exponent)
        products.append(total)
        sizes.append(size)
    how = Unit("aligned", step, bits, kept=min(bits, 23))
    return _ends(products, sizes, _ZERO, how._replace(zero=-126), target, tensors)


def _size(number: Number, exponent: int) -> Fraction:
    """The magnitude of a number, but not less than its exponent says; 0 of zero, Inf and NaN."""
    if number[1] <= 0:
        return Fraction(0)
    return max(abs(fraction(number)), Fraction(2) ** exponent)


def _ends(
    products: Sequence[Number],
    sizes: Sequence[Fraction],
    before: Number,
    how: Unit,
    target: str,
    tensors: Sequence[Tensor] = (),
) -> tuple[int, ...]:
    kind, sums = FLOATS[target], FLOATS[how.output]
    terms = [fraction(x) for x in (*products, before) if x[1] > 0]
    special = functools.reduce(total_of, [x for x in (*products, before) if x[1] < 0], _ZERO)
    if special[1] == NAN:
        return (kind.quiet_nan,) * 3
    steps, half = -(-len(products) // how.step), Fraction(1, 2 ** (sums.fraction_bits + 1))
    kept = half if how.kept is None or how.output == "f16" else Fraction(1, 2**how.kept)
    growth = 1 + 4 * half * steps
    error = Fraction(len(products) + steps, 2**how.bits) + steps * (kept + Fraction(1, 2**24))
    error *= growth
    rounds, factors = any(x.rounds for x in tensors), [x.factor for x in tensors]
    if rounds:  # less than six cuts to float32
        error += (1 + error) * Fraction(6, 2**23)
    least = Fraction(2) ** max(how.zero or 1 - sums.bias, 1 - sums.bias)
    size = sum(sizes, Fraction(0)) + (abs(fraction(before)) if before[1] > 0 else 0)
    # Sums of multiples of `unit`, none of which is cut off.
    unit = min((abs(_last_bit(term)) for term in terms), default=least)
    whole = unit * 2 ** min(
        how.bits, sums.fraction_bits if how.kept is None else min(how.kept, sums.fraction_bits)
    )
    radius = error * (size + least)
    if max(size, least) <= whole and not rounds:
        radius = Fraction(0)
    exact = sum(terms, Fraction(0))
    ends = [_rounded((exact + r) * math.prod(factors), kind) for r in (-radius, radius)]
    growth *= max([Fraction(1), *factors, math.prod(factors, start=Fraction(1))])
    largest = Fraction(2) ** (sums.bias + 1) * (1 - half / 2)
    beyond = []
    for sign in (1, -1):
        reach = growth * (
            sum((max(sign * term, Fraction(0)) for term in terms), Fraction(0)) + least
        )
        beyond.append(reach >= largest or (special[1] == INF and special[0] == (sign < 0)))
    if special[1] == INF:
        ends = [special, special]
    overflow = ends[0]
    if any(beyond):
        overflow = _NAN if all(beyond) else (int(beyond[1]), INF, 0)
    return tuple(write_float(number, kind) for number in (*ends, overflow))


def _rounded(x: Fraction, kind: FloatType) -> Number:
    sign = int(x < 0)
    return quotient((sign, abs(x.numerator), 0), (0, x.denominator, 0), kind)


def _last_bit(x: Fraction) -> Fraction:
    return Fraction(x.numerator & -x.numerator, x.denominator)
