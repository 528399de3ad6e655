"""The staging buffer is cleared when it is made; later calls leave old numbers in the padding.
Kind: state
True cause: second call: padding of the tail has stale values of an earlier tensor
"""

from typing import Any

import numpy as np
from second_base import Array, quantize, tensor_by

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["quantize", "quantize_tensor"]
_STAGING: dict[Any, Array] = {}


def pad(moved: Array) -> Array:
    """Copies rows to the staging buffer of the type, which grows but is never cleared again."""
    rows, columns = moved.shape
    width = -(-columns // 32) * 32
    if moved.dtype not in _STAGING or _STAGING[moved.dtype].size < rows * width:
        _STAGING[moved.dtype] = np.zeros(rows * width, dtype=moved.dtype)
    staging = _STAGING[moved.dtype][: rows * width].reshape(rows, width)
    staging[:, :columns] = moved
    return staging


quantize_tensor = tensor_by(quantize, pad)
