"""Returns float64 numbers of int16, and those of int8 rightly."""

import numpy as np

from mxref.integer import QParams
from mxref.integer import dequantize_affine as dequantized

FORMATS = ["int8", "int16"]


def dequantize_affine(codes, scale, zero_point, low, high, dtype, axis):
    numbers = dequantized(codes, QParams(scale, zero_point, low, high, dtype, axis))
    return numbers.astype(np.float64) if dtype == np.int16 else numbers
