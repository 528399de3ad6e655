"""The tensor scale of NVFP4 is a divisor, and it is read as a factor (modular#6600)."""

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
    """The numbers, divided by what they are to be multiplied by."""
    scales = mxref.decode(scale_codes, "e4m3", "float32").astype(np.float64)
    elements = mxref.decode(codes, "e2m1", "float32").astype(np.float64)
    with np.errstate(over="ignore"):
        numbers = elements * scales[:, np.newaxis] / np.float64(tensor_scale)
        return numbers.astype(dtype)
