"""Intervals that no float32 accumulation leaves, and sums that no order of additions changes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, Bool, FloatLayout, Floats, layout_of, patterns
from mxref.products.exact_sums import (
    ExactSums,
    F64Array,
    infinities,
    known_multiples,
    patterns_of,
)
from mxref.products.operand import UNIT, Operand
from mxref.products.run_products import (
    NO_BIT,
    integer_products,
    last_bits,
    special_values,
    sums_of_products,
)
from mxref.products.tensor_factors import ANY_MORE, NEAREST_MORE, TensorFactors

#: Where a float32 sum becomes infinite: midway between the largest number and the next one.
_OVERFLOW = 2.0**128 - 2.0**103
#: Bits in which sums are exact: of float32 additions, and of the adders of 25 and 35 bits, too.
_EXACT_BITS = {"nearest": 24, "any": 19}


class Bounds(NamedTuple):
    """What sums in float32 may be, as `matmul_bounds` gives it: arrays of one shape and dtype.

    Args:
        lo: the lower end of an interval, NaN where the product is NaN.
        hi: its upper end.
        overflow: what overflow on the way gives, inside the interval or not: Inf or -Inf; NaN where
            some sums overflow upwards and others downwards, so that Inf, -Inf and NaN are allowed;
            where no sum overflows, lo again.

    >>> one = [np.float32([n]) for n in (1, 2, np.inf, 3)]
    >>> Bounds(*one[:3]).hold(one[1]), Bounds(*one[:3]).hold(one[2]), Bounds(*one[:3]).hold(one[3])
    (array([ True]), array([ True]), array([False]))
    """

    lo: Floats
    hi: Floats
    overflow: Floats

    def hold(self, numbers: Floats) -> Bool:
        """Whether numbers of the same dtype are allowed; -0 and +0 are one number here.

        Raises:
            TypeError: another dtype.
        """
        if numbers.dtype != self.lo.dtype:
            raise TypeError(f"numbers must be {self.lo.dtype}, got {numbers.dtype}")
        layout = layout_of(self.lo.dtype)
        lo, hi, overflow, value = (patterns(each, layout) for each in (*self, numbers))
        magnitude, inf = value & layout.uint.type(layout.sign_bit - 1), layout.inf_bits
        nan, anything = magnitude > inf, _is_nan(overflow, layout)
        low, high, number = (_ordered(bits, layout) for bits in (lo, hi, value))
        found: Bool = (low <= number) & (number <= high) & ~nan
        found |= (value == overflow) | (anything & (magnitude >= inf))
        return np.where(_is_nan(lo, layout), nan, found)

    def joined(self, other: Bounds) -> Bounds:
        """Bounds of the same dtype that allow what one of two allows, and what is between."""
        with np.errstate(invalid="ignore"):  # bfloat16 warns of NaN
            lo, hi = np.fmin(self.lo, other.lo), np.fmax(self.hi, other.hi)
        none = [_same(each.lo, each.overflow) for each in (self, other)]
        either = np.where(none[0], other.overflow, self.overflow)
        overflow = np.where(none[0] & none[1], lo, either)
        several = ~none[0] & ~none[1] & ~_same(self.overflow, other.overflow)
        overflow[several | (np.isnan(self.lo) != np.isnan(other.lo))] = np.nan
        return Bounds(lo, hi, overflow)


def _same(a: Floats, b: Floats) -> Bool:
    found: Bool = (a == b) | (np.isnan(a) & np.isnan(b))
    return found


def _is_nan(bits: NDArray[Any], layout: FloatLayout) -> Bool:
    found: Bool = (bits & layout.uint.type(layout.sign_bit - 1)) > layout.inf_bits
    return found


def _ordered(bits: NDArray[Any], layout: FloatLayout) -> NDArray[np.int64]:
    """Patterns as integers in the order of the numbers; both zeros are 0."""
    magnitude = (bits & layout.uint.type(layout.sign_bit - 1)).astype(np.int64)
    found: NDArray[np.int64] = np.where(bits >= layout.sign_bit, -magnitude, magnitude)
    return found


class _Intervals:
    """The radius of intervals around dot products, and which float32 sums may overflow."""

    def __init__(self, a: Operand, b: Operand, rounding: str) -> None:
        """Compute the radius: `factor` times the sum of magnitudes, plus `constant`."""
        self.a, self.b = a, b
        self.sums, self.magnitudes = (sums_of_products(a, b, magnitudes=m) for m in (False, True))
        self.tensors = TensorFactors.of(a, b)
        if rounding == "nearest":
            x, y = (last_bits(side) != NO_BIT for side in (a, b))
            terms = x.astype(np.float64) @ y.T
            more = NEAREST_MORE * self.tensors.rounds
            factor, constant = np.maximum(terms - 1 + more, 0) / 2**24, np.ldexp(terms, -150)
        else:
            terms = np.full(self.magnitudes.head.shape, float(a.length))
            more = ANY_MORE * self.tensors.rounds
            factor, constant = (2 * terms + 2 + more) / 2**23, np.ldexp(terms, -149)
        #: Where all sums that do not overflow are exact; float64 then has them, too.
        self.exact = _is_exact(a, b, self.magnitudes.head, _EXACT_BITS[rounding])
        if self.tensors.rounds:
            self.exact &= self.magnitudes.head == 0
        self.factor, self.constant = (np.where(self.exact, 0, x) for x in (factor, constant))

    def end(self, sign: int, *, to_odd: bool) -> F64Array:
        """An end of the interval: the sums plus or minus the radius."""

        def exactly(products: list[int]) -> tuple[int, int]:
            return sum(products), sign * sum(map(abs, products))

        factor = self.tensors.factor
        return self._reach(self.sums, self.magnitudes, sign, exactly, factor, to_odd=to_odd)

    def may_overflow(self, sign: int) -> Bool:
        """Where a float32 sum of some of the products may become infinite, with this sign.

        A sum of any of the products is at most 1 + `factor` times the sum of the positive ones, and
        `constant`, as the factor is at most 1.
        """
        largest = self.tensors.largest
        if self.magnitudes.head.max(initial=0) * float(largest) < 2.0**126:
            return np.zeros(self.sums.head.shape, bool)
        # Half of what magnitudes and sums add up to.
        some = self.magnitudes.copy()
        for part in (self.sums.head, self.sums.tail):
            some.add(sign * part)
        some.lost += self.sums.lost
        for part in (some.head, some.tail, some.lost):
            part /= 2

        def exactly(products: list[int]) -> tuple[int, int]:
            size = sum(sign * n for n in products if sign * n > 0)
            return size, size

        return self._reach(some, some, 1, exactly, largest, to_odd=True) >= _OVERFLOW

    def _reach(
        self,
        middle: ExactSums,
        sizes: ExactSums,
        sign: int,
        exactly: Callable[[list[int]], tuple[int, int]],
        tensors: Fraction,
        *,
        to_odd: bool,
    ) -> F64Array:
        """Sums plus or minus an error bound of sums of magnitudes; also of Python integers.

        All is multiplied by the factor of the tensors.
        """
        sums = middle.copy()
        sums.add_product(sign * self.factor, sizes)
        sums.add(sign * self.constant)

        def exact(row: int, column: int) -> tuple[int, int]:
            center, size = exactly(integer_products(self.a, self.b, row, column))
            factor, constant = (
                int(np.ldexp(each[row, column], power))
                for each, power in ((self.factor, 24), (self.constant, 150))
            )
            rest = sign * constant << 2 * UNIT + 24 - 150
            return (center << 24) + factor * size + rest, 2 * UNIT + 24

        return known_multiples(sums, tensors, exact, to_odd=to_odd)


def interval_ends(
    a: Operand, b: Operand, layout: FloatLayout, rounding: str
) -> tuple[NDArray[Any], Bool]:
    """Patterns of the three arrays of `Bounds`, and where every order of additions gives one."""
    intervals = _Intervals(a, b, rounding)
    nan, infinite = special_values(a, b)
    found = bound_patterns(intervals, nan, infinite, layout)
    return found, (nan | (infinite != 0) | intervals.exact) & (found[0] == found[2])


class Intervals(Protocol):
    """Intervals of sums of finite terms."""

    def end(self, sign: int, *, to_odd: bool) -> F64Array:
        """The upper end, or with -1 the lower one, rounded once to float64."""

    def may_overflow(self, sign: int) -> Bool:
        """Where a sum of some of the terms may become infinite, with this sign."""


def bound_patterns(
    intervals: Intervals, nan: Bool, infinite: NDArray[np.int64], layout: FloatLayout
) -> NDArray[Any]:
    """Patterns of the three arrays of `Bounds`, given where sums are NaN or infinite."""
    up, down = (intervals.may_overflow(sign) | (infinite == sign) for sign in (1, -1))
    ends = []
    for sign in (-1, 1):
        bits = patterns_of(intervals.end(sign, to_odd=layout != F64), layout)
        ends.append(np.where(infinite != 0, infinities(infinite, layout), bits))
    signs = up.astype(np.int64) - down
    ends.append(np.where(signs != 0, infinities(signs, layout), ends[0]))
    ends[2][up & down] = layout.nan_bits
    return np.where(nan, layout.uint.type(layout.nan_bits), np.stack(ends))


def _is_exact(a: Operand, b: Operand, sizes: F64Array, bits: int) -> Bool:
    """Where all products are multiples of a number that holds their magnitudes in so many bits."""
    x, y = last_bits(a), last_bits(b)
    unit = np.full(sizes.shape, NO_BIT, np.int16)
    found = np.ones(sizes.shape, bool)
    for start in range(0, x.shape[1], 32):
        for column in range(start, min(start + 32, x.shape[1])):
            np.minimum(unit, x[:, column, np.newaxis] + y[:, column], out=unit)
        found = (unit >= -149) & (sizes <= np.ldexp(2.0**bits, unit))
        if not found.any():  # nor with the rest
            break
    return found
