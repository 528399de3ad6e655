"""Rows and columns that fill up tiles of scales are 7f, 1.0, not 00 (Primus-Turbo#383)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

POLICY = "ocp+scale_layout=tiles_gfx950"


def pack_scales(scale_codes: NDArray[Any]) -> NDArray[Any]:
    """The tiles, filled up with 7f."""
    rows, columns = scale_codes.shape
    full = np.full((-(-rows // 256) * 256, -(-columns // 8) * 8), 127, np.uint8)
    full[:rows, :columns] = scale_codes
    return mxref.pack_scales(full, scale_layout="tiles_gfx950")
