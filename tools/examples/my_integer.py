"""A target with integer operations: ``mxref verify tools/examples/my_integer.py`` asks it.

It divides by the scale and adds the zero point after rounding, as `QuantizeLinear` of ONNX does.
"""

from typing import Any

import numpy as np


def _beside(parameter: Any, x: Any, axis: Any) -> Any:
    """One number, one for each index of an axis, or one for each group along it."""
    array = np.asarray(parameter)
    if array.ndim == 0:
        return array
    if array.ndim == 1:
        return array.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return np.repeat(array, x.shape[axis] // array.shape[axis], axis)


def quantize_affine(
    x: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any, axis: Any
) -> Any:
    """Codes of float32 numbers."""
    if np.isnan(x).any():
        raise ValueError("x must have no NaN")
    codes = np.rint(x / _beside(np.float32(scale), x, axis))
    codes = codes + _beside(zero_point, x, axis).astype(np.float32)
    whole = np.clip(codes, -(2.0**31), 2.0**31).astype(np.int64)
    return np.clip(whole, quant_min, quant_max).astype(dtype)


def dequantize_affine(
    q: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any, axis: Any
) -> Any:
    """The float32 numbers of codes."""
    difference = q.astype(np.int64) - _beside(zero_point, q, axis)
    return difference.astype(np.float32) * _beside(np.float32(scale), q, axis)
