"""Groups of 32 rows are written at the stride of the columns that there are (aiter#2900)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

POLICY = "ocp+scale_layout=tiles_gfx950"


def pack_scales(scale_codes: NDArray[Any]) -> NDArray[Any]:
    """The tiles, each group of rows where the columns' number, not filled up to 8, puts it."""
    rows, columns = scale_codes.shape
    right = mxref.pack_scales(scale_codes, scale_layout="tiles_gfx950")
    filled = -(-columns // 8) * 8
    out = np.zeros_like(right)
    for group in range(-(-rows // 32)):
        part = right[32 * filled * group : 32 * filled * (group + 1)]
        out[32 * columns * group :][: len(part)] = part
    return out
