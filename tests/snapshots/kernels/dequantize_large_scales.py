"""The sign is lost under large scales."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32"]


def dequantize(scale_codes, codes, block_format, dtype):
    numbers = mxref.decode(codes, "e2m1") * mxref.decode_scale(scale_codes)[:, None]
    return np.where(scale_codes[:, None] > 0x80, np.abs(numbers), numbers)
