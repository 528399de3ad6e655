"""Products are clamped to the largest float, which is a choice."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32"]


def dequantize(scale_codes, codes, block_format, dtype):
    numbers = mxref.decode(codes, "e4m3") * mxref.decode_scale(scale_codes)[:, None]
    largest = np.finfo(np.float32).max
    return np.clip(numbers, -largest, largest)
