"""Numbers inside of the intervals that float32 sums stay in, and these intervals in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, floats_from, layout_of, patterns
from mxref.products.intervals import Bounds

__all__ = ["allowed", "held"]


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
