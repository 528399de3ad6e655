"""What the numbers of a part of a product reach, and so which of its steps are exact how.

Source: SPEC_NOTES N47.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array
from mxref.bits.floats import F32, LAYOUTS
from mxref.products.adders import Adder
from mxref.products.steps import NO_BIT, Factors, last_bits

__all__ = ["FLOOR", "LARGEST", "MOST", "TOGETHER", "Add", "Spans", "floor_of", "wide"]

#: A step: its first product and the sums so far; gives those after it.
Add: TypeAlias = Callable[[int, F64Array], F64Array]
_Integers: TypeAlias = NDArray[np.int64]

TOGETHER = 8  #: Products that are computed at once.
FLOOR = -100  #: The least exponent to which terms are aligned.
MOST = 40  #: Under `later_bits` minus that, and all sums are below 2**MOST.
_SMALLEST, LARGEST = -126, 127  #: Exponents of numbers that are neither subnormal nor infinite.


@dataclass(frozen=True, slots=True)
class Spans:
    """What the numbers of a part reach; of each step where it is an array."""

    most: float  #: More than every sum.
    units: _Integers  #: Products and sums so far are multiples of 2**unit.
    own: _Integers  #: The same of products alone.
    sizes: F64Array  #: Sums of the magnitudes of products, at most.
    highest: _Integers  #: The largest exponents of products.
    width: int  #: Bits of a product, at most. Under `tree` neither is known.

    @classmethod
    def of(cls, a: Factors, b: Factors, total: F64Array, adder: Adder) -> Spans | None:
        """Those of a part; None if something is not finite, or too small."""
        step, layout = adder.step, LAYOUTS[adder.output]
        sizes = _largest(a) * _largest(b) * (1 + 2.0**-40)
        most = 2 * (sizes.sum() + np.abs(total).max())  # sums that are rounded grow a little
        if not most < 2.0**LARGEST:
            return None
        if adder.tree:
            lows = [_lowest(side) for side in (a.values, b.values, total)]
            if min(*lows, lows[0] + lows[1]) >= _SMALLEST:
                none = np.zeros(len(sizes) // step, np.int64)
                return cls(float(most), none, none, np.zeros(none.shape), none, 0)
        lasts = [last_bits(side.values) for side in (a, b)]
        least = [one.min(axis=1).astype(np.int64) for one in lasts]
        units = _by_steps(least[0] + least[1], step).min(axis=1)
        before = int(last_bits(total).min())
        if min(before, *(int(one.min()) for one in least), int(units.min())) < _SMALLEST:
            return None
        highest, width = np.zeros_like(units), 0
        if not adder.tree:
            largest = [side.exponents.max(axis=1).astype(np.int64) for side in (a, b)]
            highest = _by_steps(largest[0] + largest[1], step).max(axis=1)
            pairs = zip((a, b), lasts, strict=True)
            width = sum(int(_bits(side.values, last).max()) for side, last in pairs)
        sums = np.minimum.accumulate(np.concatenate([[before], units]))[:-1]
        so_far = np.minimum(units, np.maximum(sums, layout.emin - layout.mantissa_bits))
        return cls(float(most), so_far, units, _by_steps(sizes, step).sum(axis=1), highest, width)


def _lowest(values: F64Array) -> int:
    """An exponent of which float32 numbers are multiples, by the least of them that is not 0."""
    least = np.abs(values).min(where=values != 0, initial=np.inf)
    return NO_BIT if least == np.inf else math.frexp(least)[1] - F32.mantissa_bits - 1


def _largest(side: Factors) -> F64Array:
    found: F64Array = np.abs(side.values).max(axis=1)
    return found


def _by_steps(each: Any, step: int) -> NDArray[Any]:
    """What each product has, a row for each step."""
    found: NDArray[Any] = each.reshape(-1, step)
    return found


def _bits(values: F64Array, last: NDArray[np.int16]) -> NDArray[Any]:
    """Bits from the first to the last one of finite numbers; of zeros fewer than 1."""
    exponents = (values.view(np.int64) >> 52 & 0x7FF) - 1023
    found: NDArray[Any] = exponents - last + 1
    return found


def floor_of(adder: Adder) -> int:
    """The least exponent to which an adder's terms are aligned here."""
    if adder.later_bits is not None:
        return -MOST
    return max(FLOOR, adder.zero_exponent or FLOOR)


def wide(single: NDArray[np.float32], turns: list[F64Array]) -> F64Array:
    """Float32 numbers in float64, in one of two arrays in turn."""
    turns.reverse()
    np.copyto(turns[0], single)
    return turns[0]
