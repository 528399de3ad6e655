"""Intervals that no float32 accumulation leaves, and sums that no order of additions changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, Bool, FloatLayout
from mxref.products.exact_sums import ExactSums, F64Array, infinities, known, patterns_of
from mxref.products.operand import Operand
from mxref.products.run_products import (
    UNIT,
    integer_products,
    integers,
    special_values,
    sums_of_products,
)

#: Where a float32 sum becomes infinite: midway between the largest number and the next one.
_OVERFLOW = 2.0**128 - 2.0**103


class _Intervals:
    """The radius of intervals around dot products, and what float32 sums may reach."""

    def __init__(self, a: Operand, b: Operand, rounding: str) -> None:
        """The radius is `factor` times the sum of magnitudes, and `constant`."""
        self.a, self.b, self.rounding = a, b, rounding
        self.magnitudes = sums_of_products(a, b, magnitudes=True)
        x, y = ((integers(side.format)[0] != 0).astype(np.float64)[side.codes] for side in (a, b))
        if rounding == "nearest":
            terms = x @ y.T
            self.factor, self.constant = np.maximum(terms - 1, 0) / 2**24, np.ldexp(terms, -150)
        else:
            terms = np.full(self.magnitudes.head.shape, float(a.length))
            self.factor, self.constant = (terms + 1) / 2**22, np.ldexp(terms, -149)

    def end(
        self, middle: ExactSums, sign: int, *, to_odd: bool, magnitude: bool = False
    ) -> F64Array:
        """The middle, sums of products or of their magnitudes, plus or minus the radius."""
        sums = middle.copy()
        sums.add_product(sign * self.factor, self.magnitudes)
        sums.add(sign * self.constant)

        def exactly(row: int, column: int) -> tuple[int, int]:
            products = integer_products(self.a, self.b, row, column)
            sizes = sum(map(abs, products))
            factor, constant = (
                int(np.ldexp(each[row, column], power))
                for each, power in ((self.factor, 24), (self.constant, 150))
            )
            radius = factor * sizes + (constant << 2 * UNIT + 24 - 150)
            center = sizes if magnitude else sum(products)
            return (center << 24) + sign * radius, 2 * UNIT + 24

        return known(sums, exactly, to_odd=to_odd)

    def may_overflow(self) -> Bool:
        """Where a float32 sum may become infinite on the way."""
        reach = self.end(self.magnitudes, 1, to_odd=True, magnitude=True)
        return reach >= _OVERFLOW


def interval_ends(a: Operand, b: Operand, layout: FloatLayout, rounding: str) -> NDArray[Any]:
    """Patterns of the lower and the upper ends."""
    intervals, sums = _Intervals(a, b, rounding), sums_of_products(a, b)
    nan, infinite = special_values(a, b)
    overflows = intervals.may_overflow()
    ends = []
    for sign in (-1, 1):
        bits = patterns_of(intervals.end(sums, sign, to_odd=layout != F64), layout)
        signs = np.where(overflows, sign, infinite)
        bits = np.where(signs != 0, infinities(signs, layout), bits)
        ends.append(np.where(nan, layout.uint.type(layout.nan_bits), bits))
    return np.stack(ends)


def order_free(a: Operand, b: Operand) -> Bool:
    """Where every order of float32 additions is exact, and the adders of 25 and 35 bits."""
    nan, infinite = special_values(a, b)
    intervals = _Intervals(a, b, "any")
    sizes = intervals.magnitudes.head
    x, y = _last_bits(a), _last_bits(b)
    unit = np.full(sizes.shape, 1000, np.int16)
    for column in range(x.shape[1]):
        np.minimum(unit, x[:, column, np.newaxis] + y[:, column], out=unit)
    fits = (unit >= -149) & (sizes <= np.ldexp(2.0**19, unit)) & (sizes < 2.0**128)
    return nan | np.where(infinite != 0, ~intervals.may_overflow(), fits)


def _last_bits(side: Operand) -> NDArray[np.int16]:
    """The exponent of the last bit of each element times its scale; 1000 of zeros."""
    counts, unit = integers(side.format)
    last = [(n & -n).bit_length() - 1 + unit if n else 1000 for n in counts.tolist()]
    shifts = np.repeat(side.scales.astype(np.int16) - 127, side.run, axis=1)
    found: NDArray[np.int16] = np.array(last, np.int16)[side.codes] + shifts
    return found
