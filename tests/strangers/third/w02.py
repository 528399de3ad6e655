"""INT8 encoder: a body of whole vectors of 16, then a scalar tail that clamps to a byte."""

import numpy as np

import mxref

FORMATS = ["int8"]


def encode(values, format):
    body = values.size // 16 * 16
    out = np.empty(values.size, np.uint8)
    out[:body] = mxref.encode(values[:body], format)
    rounded = np.rint(values[body:].astype(np.float64) * 64)
    rounded = np.where(np.isnan(rounded), 127, np.clip(rounded, -128, 127))
    out[body:] = rounded.astype(np.int8).view(np.uint8)
    return out
