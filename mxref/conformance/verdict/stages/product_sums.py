"""What sums of products may be: intervals where the order is open, bits where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array
from mxref.bits.floats import LAYOUTS, Bool
from mxref.conformance.verdict.stages.product_cases import ProductCases

_OVERFLOW = 2.0**128 - 2.0**103
#: The exponent of the last bit of a zero.
_NONE = 900.0
_FACTORS = 7  # of (2K + 14) 2**-23, where scales of tensors multiply (SPEC_NOTES N43)
_WIDE = 1 + 2.0**-48  # for the rounding of float64


class Ends(NamedTuple):
    """The ends of intervals that hold sums, and where sums may overflow upwards and downwards."""

    low: F64Array
    high: F64Array
    up: Bool
    down: Bool


@dataclass(frozen=True, slots=True)
class Products:
    """The products of the elements of blocks under the products of their scales.

    Args:
        elements: of each block, the products of its elements without scales.
        scales: of each block, the product of both scales, and how often it is added.
        by_element: whether each element meets its scale before the products are summed.
    """

    elements: F64Array
    totals: F64Array
    magnitudes: F64Array
    last: F64Array
    scales: F64Array
    times: F64Array
    by_element: bool = False

    @classmethod
    def of(cls, elements: F64Array) -> Products:
        """Products of elements under scales of 1."""
        with np.errstate(all="ignore"):
            totals, magnitudes = elements.sum(axis=1), np.abs(elements).sum(axis=1)
        one = np.ones(len(elements))
        return cls(elements, totals, magnitudes, _last_bits(elements).min(axis=1), one, one)

    @property
    def each(self) -> F64Array:
        """All products, scaled."""
        scaled = self.elements * (self.scales * self.times)[:, np.newaxis]
        found: F64Array = np.where((self.times > 0)[:, np.newaxis], scaled, 0.0)
        return found

    @property
    def terms(self) -> tuple[F64Array, F64Array]:
        """The sum of each block's products and of their magnitudes; nothing of one left out."""
        added = self.times > 0
        scales = self.scales * self.times
        terms, sizes = self.totals * scales, self.magnitudes * scales
        infinite = np.isinf(self.scales)
        if self.by_element and infinite.any():
            terms = np.where(infinite, (self.elements * scales[:, np.newaxis]).sum(axis=1), terms)
        return np.where(added, terms, 0.0), np.where(added, sizes, 0.0)

    @property
    def units(self) -> F64Array:
        """The exponent of the last bit of each block's products."""
        found: F64Array = np.where(
            (self.scales > 0) & (self.times > 0), self.last + _last_bits(self.scales), _NONE
        )
        return found


def _last_bits(numbers: F64Array) -> F64Array:
    """The exponent of the last bit of each number; that of zeros is large."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    count = np.abs(mantissa * 2.0**53).astype(np.int64)
    last = np.frexp((count & -count).astype(np.float64))[1] + exponent - 54
    return np.where(count == 0, _NONE, last.astype(np.float64))


def _reach(
    sums: F64Array, sizes: F64Array, units: F64Array, terms: NDArray[Any], bits: int
) -> F64Array:
    """How far float32 sums of some terms may be from the exact ones, in any adder."""
    exact = (units >= -149) & (sizes <= np.ldexp(2.0**bits, np.minimum(units, 900).astype(int)))
    reach = ((terms + 1) / 2.0**22 * sizes + np.ldexp(terms, -149)) * _WIDE
    return np.where(exact | ~np.isfinite(sums) | ~np.isfinite(reach), 0.0, reach)


def any_order(cases: ProductCases, products: Products) -> Ends:
    """Sums in float32, in any order, with adders that truncate, too."""
    terms, sizes = products.terms
    sums, size = cases.summed(terms), cases.summed(sizes)
    count = cases.summed(cases.at.length.astype(np.float64))
    factors = _FACTORS * bool((cases.at.tensors != 1).any())
    reach = _reach(sums, size, cases.least(products.units), count + factors, 19)
    more = 1 + (count + 1) / 2.0**22
    up, down = (((size + sign * sums) / 2 * more >= _OVERFLOW) for sign in (1, -1))
    return Ends(sums - reach, sums + reach, up, down)


def _both(numbers: F64Array, dtype: Any) -> tuple[F64Array, F64Array]:
    """The least and the largest of what numbers round to, by way of float32 and without."""
    one, other = numbers.astype(dtype), numbers.astype(np.float32).astype(dtype)
    one, other = one.astype(np.float64), other.astype(np.float64)
    return np.minimum(one, other), np.maximum(one, other)


def _after_each_block(cases: ProductCases, products: Products, dtype: Any, *, sums: bool) -> Ends:
    """Blocks added one after the other; sums, or the blocks' own sums, rounded to a type."""
    terms, sizes = products.terms
    reach = _reach(terms, sizes, products.units, cases.at.length.astype(np.float64), 19)
    low, high = np.zeros(len(cases.start)), np.zeros(len(cases.start))
    counts = cases.at.blocks[cases.start]
    for some, at in cases.in_turn():
        least, most = terms[at] - reach[at], terms[at] + reach[at]
        if not sums:
            least, most = _both(least, dtype)[0], _both(most, dtype)[1]
        narrow = dtype if sums else np.float32
        low[some] = _both(low[some] + least, narrow)[0]
        high[some] = _both(high[some] + most, narrow)[1]
    if not sums:  # in float32 in any order
        reach = (counts + 1) / 2.0**22 * cases.summed(sizes)
        reach = np.where(np.isfinite(reach) & (counts > 1), reach, 0.0)
        low, high = low - reach, high + reach
    return Ends(low, high, low == np.inf, high == -np.inf)


def _at_each_step(cases: ProductCases, products: Products, dtype: Any, *, fused: bool) -> Ends:
    """Products added one after the other, each sum rounded to a type, and each product, too."""
    each = products.each
    if not fused:
        each = each.astype(dtype).astype(np.float64)
    total = np.zeros(len(cases.start))
    for some, at in cases.in_turn():
        own, length = total[some], cases.at.length[at]
        for lane in range(int(length.max())):
            own = np.where(lane < length, (own + each[at, lane]).astype(dtype), own)
        total[some] = own
    return Ends(total, total, total == np.inf, total == -np.inf)


def _rounded_products(cases: ProductCases, products: Products, dtype: Any) -> Ends:
    """Products rounded to a type before they are added in float32."""
    narrow = products.each.astype(dtype).astype(np.float64)
    return any_order(cases, Products.of(narrow))


Sum = Callable[[ProductCases, Products], Ends]
_NARROW = {name: LAYOUTS[short].dtype for name, short in (("bfloat16", "bf16"), ("float16", "f16"))}
_SUMS: dict[str, Callable[..., Ends]] = {
    "the sum is rounded to {} after each block": partial(_after_each_block, sums=True),
    "the sum of each block is rounded to {} before it is added": partial(
        _after_each_block, sums=False
    ),
    "the sum is rounded to {} at each step": partial(_at_each_step, fused=True),
    "products and sums are rounded to {} at each step": partial(_at_each_step, fused=False),
    "products are rounded to {} before they are added": _rounded_products,
}
#: Sums that are narrower than float32, in words.
SUMS: dict[str, Sum] = {
    text.format(name): partial(add, dtype=dtype)
    for name, dtype in _NARROW.items()
    for text, add in _SUMS.items()
}


def through(dtype: Any) -> Callable[[F64Array], F64Array]:
    """Numbers rounded to a type."""
    return lambda numbers: numbers.astype(dtype).astype(np.float64)


def _cut(numbers: F64Array) -> F64Array:
    """Numbers cut to bfloat16, toward zero."""
    bits = numbers.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(numbers), np.nan, bits.view(np.float32).astype(np.float64))


def _saturated(limit: float, numbers: F64Array) -> F64Array:
    return np.clip(numbers, -limit, limit)


#: What is made of sums before they become the type that was asked for, in words; all monotonic.
OUTPUTS: dict[str, Callable[[F64Array], F64Array]] = {
    **{f"sums are rounded to {name}": through(dtype) for name, dtype in _NARROW.items()},
    "sums are cut to bfloat16, toward zero": _cut,
    "subnormal sums become 0": lambda x: np.where(np.abs(x) < 2.0**-126, 0.0, x),
    "sums that are too large become the largest float32": partial(
        _saturated, float(np.finfo(np.float32).max)
    ),
    "sums that are too large become the largest float16": partial(_saturated, 65504.0),
    "sums that are NaN become 0": lambda x: np.where(np.isnan(x), 0.0, x),
    "sums that are infinite become NaN": lambda x: np.where(np.isinf(x), np.nan, x),
    "negative sums become 0": lambda x: np.where(x < 0, 0.0, x),
}
