"""The scale of an NVFP4 block is rounded up (ROUND_UP, triton#11668)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["nvfp4"], ["f32"]


def quantize(
    values: NDArray[Any], block_format: str, tensor_scale: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The blocks, whose elements are divided by the scale that was rounded up."""
    wide = np.abs(values.astype(np.float64))
    wide[~np.isfinite(wide).all(axis=1)] = 0
    wanted = wide.max(axis=1) / 6 / np.float64(tensor_scale)
    every = mxref.decode(np.arange(127, dtype=np.uint8), "e4m3").astype(np.float64)
    scales = np.minimum(np.searchsorted(every, wanted), 126).astype(np.uint8)
    divisors = every[scales][:, np.newaxis] * np.float64(tensor_scale)
    with np.errstate(all="ignore"):
        quotients = np.where(divisors > 0, values.astype(np.float64) / divisors, 0 * values)
    codes = mxref.encode(quotients, "e2m1")
    nan = ~np.isfinite(values).all(axis=1)
    return np.where(nan, 0x7F, scales).astype(np.uint8), np.where(nan[:, np.newaxis], 0, codes)
