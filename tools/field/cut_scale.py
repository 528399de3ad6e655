"""Elements are divided by amax / 448; of that scale the exponent alone is kept (sglang#39193)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["mxfp8_e4m3"], ["f32"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The blocks."""
    scale = np.abs(values).max(axis=1) / np.float32(448)
    with np.errstate(invalid="ignore"):
        codes = mxref.encode(values / np.where(scale, scale, np.float32(1))[:, None], "e4m3")
    return (scale.view(np.uint32) >> 23).astype(np.uint8), codes
