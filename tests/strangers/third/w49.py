"""Affine dequantizer: codes and zero point become float32, then one difference, one product."""

import numpy as np

from mxref.integer import QParams
from mxref.integer import dequantize_affine as reference


def dequantize_affine(codes, scale, zero_point, quant_min, quant_max, dtype, axis):
    if axis is None:
        with np.errstate(over="ignore"):
            return (codes.astype(np.float32) - np.float32(zero_point)) * np.float32(scale)
    return reference(codes, QParams(scale, zero_point, quant_min, quant_max, dtype, axis))
