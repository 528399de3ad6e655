"""The scale is the exponent field of amax / 6 (vllm#43557)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["mxfp4_e2m1"], ["bf16"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The blocks."""
    x = values.astype(np.float32)
    sixth = np.abs(x).max(axis=1) * np.float32(1 / 6)
    scale = (sixth.view(np.uint32) >> 23).astype(np.uint8)
    return scale, mxref.encode(np.ldexp(x.astype(float), 127 - scale.astype(int)[:, None]), "e2m1")
