"""E8M0 codes of float16: the exponent field, biased anew."""

import numpy as np

import mxref

FLOATS = ["f16"]


def encode_scale(values):
    if values.dtype != np.float16:
        return mxref.encode_scale(values)
    bits = values.view(np.uint16).astype(np.int32)
    codes = (bits >> 10) + 127 - 15
    codes[(bits & 0x7FFF) == 0] = 0
    codes[(bits & 0x7C00) == 0x7C00] = 255
    return codes.astype(np.uint8)
