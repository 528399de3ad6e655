"""Two blocks of 16 elements are read under the scale of the first (vllm-xpu-kernels#553)."""

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
    """The numbers, each block under the scale of the block at an even place before it."""
    first = np.arange(len(codes)) // 2 * 2
    scales = mxref.decode(scale_codes[first], "e4m3", "float32").astype(np.float64)
    elements = mxref.decode(codes, "e2m1", "float32").astype(np.float64)
    with np.errstate(over="ignore"):
        numbers = elements * scales[:, np.newaxis] * np.float64(tensor_scale)
        return numbers.astype(dtype)
