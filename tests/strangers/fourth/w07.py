"""E4M3 codes: magnitude first, then the sign."""

import numpy as np

import mxref

FORMATS = ["e4m3"]
FLOATS = ["f32"]


def encode(values, format):
    bits = values.view(np.uint32)
    signs = (bits >> 31).astype(np.uint8)
    bits &= np.uint32(0x7FFFFFFF)
    codes = mxref.encode(values, format)
    return np.where(codes == 0x7F, codes, codes | signs << 7)
