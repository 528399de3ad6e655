"""Subnormal numbers of float16 get a scale that is one too large."""

import numpy as np

import mxref

FLOATS = ["f32", "f16"]


def encode_scale(values):
    size = np.abs(values)
    small = (values.dtype == np.float16) & (size > 0) & (size < 2.0**-14)
    return mxref.encode_scale(values) + small
