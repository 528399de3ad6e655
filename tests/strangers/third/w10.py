"""Scale encoder: the exponent is the floor of the logarithm, in the precision of the values."""

import numpy as np

import mxref


def encode_scale(values):
    codes = mxref.encode_scale(values)
    if values.dtype != np.float16:
        return codes
    magnitude = np.abs(values)
    ordinary = (magnitude >= np.float16(2.0**-14)) & np.isfinite(values)
    exponent = np.floor(np.log2(np.where(ordinary, magnitude, np.float16(1))))
    return np.where(ordinary, exponent.astype(np.int32) + 127, codes)
