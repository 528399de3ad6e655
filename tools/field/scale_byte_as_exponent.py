"""The UE4M3 scale of an NVFP4 block is read as an E8M0 scale (vllm-xpu-kernels#553)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["nvfp4"], ["f32"]


def dequantize(
    scale_codes: NDArray[Any],
    codes: NDArray[Any],
    block_format: str,
    dtype: Any,
    tensor_scale: float,
) -> NDArray[Any]:
    """The numbers, from scales that were shifted to the exponent of a float32."""
    scales = (scale_codes.astype(np.uint32) << 23).view(np.float32)
    elements = mxref.decode(codes, "e2m1", "float32")
    numbers = elements.astype(np.float64) * scales[:, np.newaxis] * np.float64(tensor_scale)
    with np.errstate(over="ignore"):
        return numbers.astype(dtype)
