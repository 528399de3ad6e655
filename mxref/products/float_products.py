"""Products of matrices of any floats, in Python integers: exact, rounded once, and their bounds.

Slow, but without limits: a product of float64 numbers may have thousands of bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import F64Array
from mxref.bits.floats import FloatLayout, Floats, floats_from, split
from mxref.numbers.source import Source
from mxref.policy.groups import ElementPolicy
from mxref.products.intervals import Bounds

#: Where a float32 sum becomes infinite: midway between the largest number and the next one.
_OVERFLOW = (1 << 128) - (1 << 103)
_COLUMNS = 64  # of a part: Python integers need much memory


@dataclass(frozen=True, slots=True)
class FloatMatrix:
    """Numbers as Python integers times a power of two.

    Args:
        integers: an array of them; 0 for Inf and NaN.
        unit: exponent of that power.
        marks: Inf and NaN as they are; of the other numbers the signs, -1, 0 or 1.
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


def float_sum(a: NDArray[Any], b: NDArray[Any], layout: FloatLayout) -> Floats:
    """The sum of two arrays, exact and rounded once, ties to even; -0 and -0 are -0.

    >>> from mxref.bits.floats import F64
    >>> float_sum(np.array([1.0, 1.0]), np.array([2.0**-53, 3 * 2.0**-54]), F64) - 1
    array([0.00000000e+00, 2.22044605e-16])
    """
    left, right = FloatMatrix.of(a), FloatMatrix.of(b)
    unit = min(left.unit, right.unit)
    sums = (left.integers << left.unit - unit) + (right.integers << right.unit - unit)
    with np.errstate(invalid="ignore"):
        special = left.marks + right.marks
    found = _floats(sums, unit, special, layout)
    return np.where((sums == 0).astype(bool) & np.signbit(a) & np.signbit(b), a, found)


def float_product_bounds(
    a: ArrayLike,
    b: ArrayLike,
    layout: FloatLayout,
    rounding: Literal["nearest", "any"] = "nearest",
    *,
    scaled: bool = False,
) -> Bounds:
    """What float32 sums of float32 products may be, in any order.

    With n nonzero products of K, each rounded as well as the sums, fused or not, and A the sum of
    their magnitudes, the ends are the exact sum +- (n 2**-24 A + n 2**-150) (`nearest`), or, for
    products and sums that may be truncated, +- ((2K + 4) 2**-23 A + 3K 2**-149) (`any`). A sum may
    overflow upwards where the positive products alone, with their bound, reach 2**128 - 2**103, and
    downwards likewise.

    With `scaled`, numbers are elements times float32 scales, and each term is rounded up to five
    times on the way, as scales are multiplied in: 2**-24 (n + 6) A in place of n, or 2K + 14 of
    2K + 4. It is supposed that no such product leaves float32's normal range.

    Raises:
        ValueError: K is above 2**22 - 2, or 2**22 - 9 with `scaled`.

    Source: Jeannerod and Rump, Improved error bounds for inner products in floating-point
    arithmetic, 2013; SPEC_NOTES N44.

    >>> from mxref.bits.floats import F32
    >>> low, high, _ = float_product_bounds([[1.0, 1.0]], [[1.0], [1.0]], F32)
    >>> low.view(np.uint32), high.view(np.uint32)
    (array([[1073741822]], dtype=uint32), array([[1073741825]], dtype=uint32))
    """
    left, right = FloatMatrix.of(a), FloatMatrix.of(b)
    unit = left.unit + right.unit
    finer = max(unit + 126, 0)  # so that integers times 2**(unit - finer - 24) have 2**-150
    sums = _matmul(left.integers, right.integers) << finer
    size = _matmul(abs(left.integers), abs(right.integers)) << finer
    length = left.marks.shape[1]
    fewer = 9 if scaled else 2
    if length > (1 << 22) - fewer:  # error bounds would add up to more than the magnitudes
        raise ValueError(f"a must have at most 2**22 - {fewer} elements in a row, got {length}")
    unit -= finer + 24
    count = ((left.marks != 0).astype(np.int64) @ (right.marks != 0)).astype(object)
    factor = count if rounding == "nearest" else np.full_like(count, 4 * length + 8)
    if scaled:
        factor = factor + (6 if rounding == "nearest" else 20)
    halves = count if rounding == "nearest" else np.full_like(count, 6 * length)
    constant, special, largest = halves << -150 - unit, _special(left, right), _OVERFLOW << -unit
    ends = []
    for sign in (-1, 1):
        end = (sums << 24) + sign * (factor * size + constant)
        ends.append(_floats(end, unit, special, layout))
    overflow = np.zeros_like(special)
    for sign in (-1, 1):
        # Half of what magnitudes and sums add up to.
        reach = ((size + sign * sums) * ((1 << 24) + factor) >> 1) + constant
        beyond = (reach >= largest).astype(bool) | (special == sign * np.inf)
        overflow[beyond] = np.where(overflow[beyond] == 0, sign * np.inf, np.nan)
    low, high = ends
    keep = (overflow == 0) | np.isnan(special)
    return Bounds(low, high, np.where(keep, low, overflow.astype(layout.dtype)))


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
    bits = np.frompyfunc(lambda n: pattern(n, unit, layout), 1, 1)(sums).astype(layout.uint)
    word = layout.uint.type
    bits[special == np.inf] = word(layout.inf_bits)
    bits[special == -np.inf] = word(layout.inf_bits | layout.sign_bit)
    bits[np.isnan(special)] = word(layout.nan_bits)
    return floats_from(bits, layout)


def pattern(n: int, unit: int, layout: FloatLayout) -> int:
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
