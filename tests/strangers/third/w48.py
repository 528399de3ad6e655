"""Affine dequantizer: the difference in the type of the codes, the product in float32."""

import numpy as np

from mxref.integer import QParams
from mxref.integer import dequantize_affine as reference


def dequantize_affine(codes, scale, zero_point, quant_min, quant_max, dtype, axis):
    if axis is None and codes.dtype == np.uint8:
        difference = (codes - np.uint8(zero_point)).view(np.int8)
        return difference.astype(np.float32) * np.float32(scale)
    return reference(codes, QParams(scale, zero_point, quant_min, quant_max, dtype, axis))
