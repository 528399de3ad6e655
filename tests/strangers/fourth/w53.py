"""Numbers of 8-bit codes: a byte subtraction, then the scale."""

import numpy as np

from mxref.integer import QParams
from mxref.integer import dequantize_affine as reference

FORMATS = ["int8", "uint8"]


def dequantize_affine(codes, scale, zero_point, quant_min, quant_max, dtype, axis):
    if axis is not None or np.dtype(dtype).itemsize > 1:
        params = QParams(scale, zero_point, quant_min, quant_max, dtype, axis)
        return reference(codes, params)
    difference = np.clip(codes.astype(np.int32) - int(zero_point), -128, 127)
    return difference.astype(np.float32) * np.float32(scale)
