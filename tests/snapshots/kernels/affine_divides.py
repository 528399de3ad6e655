"""Divides by the scale, as ONNX does: another choice. Upper codes are read without zero point."""

import numpy as np

from mxref.integer import QParams
from mxref.integer import dequantize_affine as dequantized
from mxref.integer import quantize_affine as quantized

FORMATS = ["uint8"]


def quantize_affine(values, scale, zero_point, low, high, dtype, axis):
    qparams = QParams(scale, zero_point, low, high, dtype, axis)
    return quantized(values, qparams, scaling="divide")


def dequantize_affine(codes, scale, zero_point, low, high, dtype, axis):
    right = dequantized(codes, QParams(scale, zero_point, low, high, dtype, axis))
    return np.where(codes >= 128, codes * np.float32(scale), right).astype(np.float32)
