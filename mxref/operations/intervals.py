"""Numbers inside of the intervals that float32 sums stay in, and these intervals in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, floats_from, layout_of, patterns
from mxref.bits.weighted_sums import exact_in_every_order
from mxref.integer.layers import linear_bounds, linear_qcs8w
from mxref.products.intervals import Bounds

__all__ = ["WIDEST", "allowed", "held", "interval_of"]

#: The order whose intervals hold those of the others.
WIDEST = "offset"


def held(bounds: Bounds, got: NDArray[np.uint64], float: str) -> NDArray[np.bool_]:
    """Whether patterns of a float type are numbers that bounds allow."""
    layout = LAYOUTS[float]
    found: NDArray[np.bool_] = bounds.hold(floats_from(got, layout))
    return found & (got <= np.iinfo(layout.uint).max)


def allowed(bounds: Bounds, index: int = 0) -> str:
    """What bounds allow of one of their numbers, in words."""
    ends = [end.reshape(-1)[index] for end in bounds]
    layout = layout_of(bounds.lo.dtype)
    shown = [f"{int(patterns(end, layout)):0{layout.width // 4}x}" for end in ends]
    found = "exactly" if shown[0] == shown[1] else f"or from {shown[0]} to {shown[1]}"
    if np.isnan(ends[2]) and not np.isnan(ends[0]):
        return f"{found}, or Inf, -Inf or NaN where a sum overflows on the way"
    if shown[2] not in shown[:2]:
        return f"{found}, or {shown[2]} where a sum overflows on the way"
    return found


def interval_of(
    x: NDArray[Any], codes: NDArray[Any], scales: NDArray[Any], order: str = WIDEST
) -> Bounds:
    """The interval of operands: the exact answer where no order rounds; by the fast path.

    >>> [end.item() for end in interval_of(np.float32([[2]]), np.int8([[3]]), np.float32([1]))]
    [6.0, 6.0, 6.0]
    """
    large = np.abs(codes.astype(np.int64) + 8) + 8
    factors = scales.astype(np.float64).reshape(len(codes), -1)
    one = exact_in_every_order(x.view(np.uint32), codes.astype(np.int64), large, factors)
    exact = linear_qcs8w(x, codes, scales)
    ends = (np.where(one, exact, end) for end in linear_bounds(x, codes, scales, order))
    return Bounds(*(end.reshape(-1) for end in ends))
