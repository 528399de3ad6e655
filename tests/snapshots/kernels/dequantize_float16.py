"""Subnormal numbers of float16 are flushed to zero; other float types are right."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32", "f16"]


def dequantize(scale_codes, codes, block_format, dtype):
    scales = mxref.decode_scale(scale_codes).astype(np.float64)
    numbers = (mxref.decode(codes, "e2m1", np.float64) * scales[:, None]).astype(dtype)
    if dtype == np.float16:
        numbers[np.abs(numbers) < 2.0**-14] *= 0
    return numbers
