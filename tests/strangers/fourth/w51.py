"""Codes of int8: converted with saturation, then moved to the zero point."""

import numpy as np

from mxref.integer import QParams
from mxref.integer import quantize_affine as reference

FORMATS = ["int8", "int8_axis"]


def quantize_affine(values, scale, zero_point, quant_min, quant_max, dtype, axis):
    zero = np.asarray(zero_point)
    params = QParams(scale, np.zeros_like(zero), -128, 127, np.int8, axis)
    codes = reference(values, params).astype(np.int32)
    if zero.ndim == 1:
        zero = zero.reshape([-1 if i == axis % values.ndim else 1 for i in range(values.ndim)])
    elif zero.ndim:
        zero = np.repeat(zero, values.shape[axis] // zero.shape[axis], axis)
    return np.clip(codes + zero, quant_min, quant_max).astype(dtype)
