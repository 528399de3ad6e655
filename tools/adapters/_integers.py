"""What adapters of integer operations share: scales of groups as scales of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["by_rows"]

Array = NDArray[Any]
Rows = Callable[[Array, Array, Array], Array]


def by_rows(values: Array, scale: Array, zero_point: Array, axis: int, function: Rows) -> Array:
    """A function of rows, scales and zero points where each scale has a row of values of its own.

    Args:
        values: of any shape.
        scale: one for each index of the axis, or for each group along it.
        zero_point: as many.
        axis: of the scales.
        function: gives rows for rows (r, n) with r scales and zero points.
    """
    if scale.ndim == 1:
        moved = np.moveaxis(values, axis, 0)
        rows = function(moved.reshape(len(scale), -1), scale, zero_point)
        return np.moveaxis(rows.reshape(moved.shape), 0, axis)
    moved = np.moveaxis(values, axis, -1)
    flat = (np.moveaxis(each, axis, -1).reshape(-1) for each in (scale, zero_point))
    rows = function(moved.reshape(scale.size, -1), *flat)
    return np.moveaxis(rows.reshape(moved.shape), -1, axis)
