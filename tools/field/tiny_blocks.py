"""A scale that is subnormal in float32 counts as 0, and its reciprocal as Inf (flashinfer#2440)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["mxfp8_e4m3"], ["bf16"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The blocks: Inf and 0 * Inf where code 00 is the scale."""
    x = values.astype(np.float32)
    scale = (
        mxref.profile("transformer_engine_mxfp8").quantize(values, block_format).scale_codes[:, 0]
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inverse = 1 / (scale.astype(np.uint32) << 23).view(np.float32)
        inverse[~np.abs(x).max(axis=1).astype(bool)] = 0
        return scale, mxref.encode(x * inverse[:, None], "e4m3")
