"""Products of matrices of any floats, in Python integers: exact, rounded once, and their bounds.

Slow, and of no limit: a product of float64 numbers may have thousands of bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import F64Array
from mxref.bits.floats import FloatLayout, Floats, floats_from, split
from mxref.numbers.source import Source
from mxref.policy.policy import ElementPolicy

#: Where a float32 sum becomes infinite: midway between the largest number and the next one.
_OVERFLOW = (1 << 128) - (1 << 103)
_COLUMNS = 64  # of a part: Python integers need much memory


@dataclass(frozen=True, slots=True)
class FloatMatrix:
    """Numbers as Python integers times a power of two.

    Args:
        integers: an array of them; 0 for Inf and NaN.
        unit: exponent of that power.
        marks: the numbers' signs, -1, 0 or 1; Inf and NaN are themselves.
    """

    integers: NDArray[Any]
    unit: int
    marks: F64Array

    @classmethod
    def of(cls, values: ArrayLike, parameter: str = "values") -> FloatMatrix:
        """The numbers of an array.

        Raises:
            TypeError: no floats or integers.
            ValueError: an integer beyond 2**53.
        """
        source = Source.of(values, ElementPolicy(), parameter)
        parts = split(*source.exact_numbers(source.array))
        significand = np.where(parts.is_inf | parts.is_nan, 0, parts.significand)
        unit = int(parts.exponent.min(initial=0, where=significand != 0))
        shift = np.where(significand == 0, 0, parts.exponent - unit)
        sign = np.where(parts.negative, -1, 1)
        marks = sign * np.where(parts.is_inf, np.inf, np.sign(significand))
        marks[parts.is_nan] = np.nan
        return cls((sign * significand).astype(object) << shift.astype(object), unit, marks)


def float_product(a: ArrayLike, b: NDArray[Any], layout: FloatLayout) -> Floats:
    """The product of two matrices, each sum exact and rounded once, ties to even.

    NaN if a number is NaN, for Inf times zero and for infinities of both signs; an exact zero is
    +0; K = 0 gives +0.

    Args:
        a: (M, K) floats, or integers up to 2**53.
        b: (K, N).
        layout: the type of the result.

    >>> from mxref.bits.floats import F32
    >>> float_product([[1.0, 2.0**-60, -1.0]], np.ones((3, 1)), F32)
    array([[8.6736174e-19]], dtype=float32)
    """
    left = FloatMatrix.of(a)
    out = np.empty((len(left.integers), b.shape[1]), layout.dtype)
    for first in range(0, b.shape[1], _COLUMNS):
        part = slice(first, first + _COLUMNS)
        right = FloatMatrix.of(b[:, part])
        sums = _matmul(left.integers, right.integers)
        out[:, part] = _floats(sums, left.unit + right.unit, _special(left, right), layout)
    return out


def float_product_bounds(
    a: ArrayLike,
    b: ArrayLike,
    layout: FloatLayout,
    rounding: Literal["nearest", "any"] = "nearest",
) -> tuple[Floats, Floats]:
    """The ends of the interval that holds every float32 sum of float32 products, in any order.

    With n nonzero products of K, each rounded as well as the sums, fused or not, and A the sum of
    their magnitudes: exact +- (n 2**-24 A + n 2**-150) (`nearest`), or, for products and sums that
    may be cut off, (2K + 4) 2**-23 A + 3K 2**-149 (`any`). NaN is both ends; -Inf and Inf are the
    ends where A with its bound reaches 2**128 - 2**103, so that a sum may overflow and be NaN.

    Raises:
        ValueError: K is 2**22 or more.

    Source: Jeannerod and Rump, Improved error bounds for inner products in floating-point
    arithmetic, 2013; SPEC_NOTES N44.

    >>> from mxref.bits.floats import F32
    >>> low, high = float_product_bounds([[1.0, 1.0]], [[1.0], [1.0]], F32)
    >>> low.view(np.uint32), high.view(np.uint32)
    (array([[1073741822]], dtype=uint32), array([[1073741825]], dtype=uint32))
    """
    left, right = FloatMatrix.of(a), FloatMatrix.of(b)
    unit = left.unit + right.unit
    finer = max(unit + 126, 0)  # so that integers times 2**(unit - finer - 24) have 2**-150
    sums = _matmul(left.integers, right.integers) << finer
    size = _matmul(abs(left.integers), abs(right.integers)) << finer
    length = left.marks.shape[1]
    if length >= 1 << 22:
        raise ValueError(f"a must have fewer than 2**22 elements in a row, got {length}")
    unit -= finer + 24
    count = ((left.marks != 0).astype(np.int64) @ (right.marks != 0)).astype(object)
    if rounding == "nearest":
        radius = count * (size + (1 << -150 - unit))
    else:
        radius = (4 * length + 8) * size + (6 * length << -150 - unit)
    special = _special(left, right)
    overflows = ~np.isnan(special) & ((size << 24) + radius >= _OVERFLOW << -unit).astype(bool)
    low, high = (
        _floats((sums << 24) + ends, unit, np.where(overflows, end, special), layout)
        for ends, end in ((-radius, -np.inf), (radius, np.inf))
    )
    return low, high


def _matmul(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The product of integers; of no integers it is 0, not None."""
    zeros = np.zeros((len(a), b.shape[1]), object)
    return a @ b + zeros if a.shape[1] else zeros


def _special(a: FloatMatrix, b: FloatMatrix) -> F64Array:
    """Inf and NaN of a product, by place, and other numbers where it is finite."""
    special = np.zeros((len(a.marks), b.marks.shape[1]))
    finite = np.isfinite(a.marks).all(0) & np.isfinite(b.marks).all(1)
    with np.errstate(invalid="ignore"):
        for k in np.flatnonzero(~finite):
            special += a.marks[:, k, None] * b.marks[k]
    return special


def _floats(sums: NDArray[Any], unit: int, special: F64Array, layout: FloatLayout) -> Floats:
    """Integers times 2**unit, rounded once; Inf and NaN where `special` has them."""
    bits = np.frompyfunc(lambda n: _pattern(n, unit, layout), 1, 1)(sums).astype(layout.uint)
    word = layout.uint.type
    bits[special == np.inf] = word(layout.inf_bits)
    bits[special == -np.inf] = word(layout.inf_bits | layout.sign_bit)
    bits[np.isnan(special)] = word(layout.nan_bits)
    return floats_from(bits, layout)


def _pattern(n: int, unit: int, layout: FloatLayout) -> int:
    """The pattern of n * 2**unit, rounded once, ties to even.

    A pattern counts the numbers of one sign upwards from zero, so that a carry moves into the
    exponent by itself.
    """
    if not n:
        return 0
    size, m = abs(n) << layout.mantissa_bits + 2, layout.mantissa_bits
    unit -= m + 2
    binade = max(size.bit_length() - 1 + unit, layout.emin)
    drop = binade - m - unit  # 2 or more
    count = size + (1 << drop - 1) - 1 + (size >> drop & 1) >> drop
    magnitude = min((binade - layout.emin << m) + count, layout.inf_bits)
    return magnitude | (layout.sign_bit if n < 0 else 0)
