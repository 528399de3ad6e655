"""Codes per channel, one thread a number; others as they are."""

import numpy as np

from mxref.integer import QParams
from mxref.integer import quantize_affine as reference

FORMATS = ["int8", "uint8", "int8_axis", "uint8_axis"]


def quantize_affine(values, scale, zero_point, quant_min, quant_max, dtype, axis):
    if axis is None or np.ndim(scale) != 1 or np.isnan(values).any():
        params = QParams(scale, zero_point, quant_min, quant_max, dtype, axis)
        return reference(values, params)
    inverse = np.float32(1) / np.asarray(scale, np.float32)
    channel = np.arange(values.size).reshape(values.shape) % len(scale)
    with np.errstate(over="ignore"):
        codes = np.rint(values * inverse[channel]) + np.float32(np.ravel(zero_point)[0])
    return np.clip(codes, quant_min, quant_max).astype(dtype)
