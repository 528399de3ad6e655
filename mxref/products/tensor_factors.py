"""The scales of both tensors of a product: one factor, exact, or as float32 multiplies by it.

Source: SPEC_NOTES N42, N43.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mxref.bits.float32 import fl
from mxref.blocks.two_level import Ratio
from mxref.products.exact_sums import F64Array, rounded_fraction
from mxref.products.operand import NO_FACTOR, Operand
from mxref.products.run_products import last_bits

#: By how many times 2**-24 five roundings to nearest, and by how many times 2**-23 five cuts, widen
#: an interval of float32 sums.
NEAREST_MORE, ANY_MORE = 7, 12


@dataclass(frozen=True, slots=True)
class TensorFactors:
    """The scales of two tensors as factors of their product.

    Args:
        factor: the product of both; 0 where one is Inf or NaN.
        largest: by what a sum may be multiplied on the way, at most; at least 1.
        rounds: whether float32 rounds where it multiplies by them: not by powers of two.
    """

    factor: Fraction = Fraction(1)
    largest: Fraction = Fraction(1)
    rounds: bool = False

    @classmethod
    def of(cls, a: Operand, b: Operand) -> TensorFactors:
        """Those of two operands."""
        one, other = _factor(a.tensor), _factor(b.tensor)
        every = (n for side in (a, b) for n in (side.tensor.numerator, side.tensor.denominator))
        rounds = any(number & (number - 1) for number in every)
        return cls(one * other, max(Fraction(1), one, other, one * other), rounds)


#: Of tensors without scales of their own.
NO_FACTORS = TensorFactors()


def multiplied(sums: F64Array, a: Operand, b: Operand) -> F64Array:
    """Float32 sums times the product of both scales, which is rounded to float32, as the result."""
    if a.tensor == b.tensor == NO_FACTOR:
        return sums
    alpha = fl(np.array([rounded_fraction(TensorFactors.of(a, b).factor, to_odd=True)]))
    return fl(sums * alpha)


def check_float32(a: Operand, b: Operand) -> None:
    """Refuse numbers that the scales of tensors make too small or too large for float32's sums.

    Raises:
        ValueError: a product of numbers and scales of tensors, or a part of it, is a multiple of
            no normal float32 number, or that of the scales is 2**127 or more.
    """
    if a.tensor == b.tensor == NO_FACTOR:
        return
    tensors = TensorFactors.of(a, b)
    factors = _factor(a.tensor), _factor(b.tensor), tensors.factor
    least = min([Fraction(1), *filter(None, factors)])
    lasts = (int(last_bits(side).min(initial=0)) for side in (a, b))
    unit = Fraction(2) ** sum(lasts) * least
    if unit < Fraction(1, 1 << 126) or tensors.factor >= 1 << 127:
        raise ValueError(
            "a and b must have products that are multiples of normal float32 numbers for sums in "
            f"float32, got tensor scales that make a factor of {float(tensors.factor)}: take the "
            "exact product"
        )


def _factor(tensor: Ratio) -> Fraction:
    if tensor.is_inf or tensor.is_nan:
        return Fraction(0)
    exponent: int = tensor.exponent
    return Fraction(tensor.numerator, tensor.denominator) * Fraction(2) ** exponent
