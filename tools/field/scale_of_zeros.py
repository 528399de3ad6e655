"""A block of zeros gets the scale 1, divided by that of the tensor (Model-Optimizer#1397)."""

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["nvfp4"], ["f32"]


def quantize(
    values: NDArray[Any], format: str, tensor_scale: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scale codes and element codes."""
    blocks = mxref.quantize(values, format, tensor_scale=tensor_scale)
    with np.errstate(all="ignore"):
        one = (np.float32(1) / np.float32(tensor_scale)).astype(ml_dtypes.float8_e4m3fn)
    zeros = ~values.any(axis=1)
    return np.where(zeros, one.view(np.uint8), blocks.scale_codes[:, 0]), blocks.codes
