"""FP4 blocks of 16 with a UE4M3 scale."""

import numpy as np

import mxref

FORMATS = ["fp4_ue4m3"]
FLOATS = ["f32"]


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    scale = np.abs(values.astype(np.float64)).max(axis=1) / 6
    normal = (scale >= 2.0**-6) & (scale <= 448)
    quotients = values[normal] / scale[normal][:, np.newaxis]
    codes = blocks.codes.copy()
    codes[normal] = mxref.encode(quotients, "e2m1")
    return blocks.scale_codes[:, 0], codes
