"""The scale is 2^floor(log2 amax), without E4M3's emax of 8 taken off (vllm#53668)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["mxfp8_e4m3"], ["bf16"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The blocks, the largest element between 1 and 2."""
    x = values.astype(np.float32)
    amax = np.abs(x).max(axis=1)
    scale = (amax.view(np.uint32) >> 23).astype(np.uint8)  # the exponent, and 255 of what has none
    return scale, mxref.encode(np.ldexp(x.astype(float), 127 - scale.astype(int)[:, None]), "e4m3")
