"""Wrong here and there, without a rule."""

import numpy as np

import mxref

FORMATS = ["e2m3"]
FLOATS = ["f32"]


def encode(values, format):
    hashed = values.view(np.uint32) * np.uint32(0x9E3779B1) >> np.uint32(26)
    return mxref.encode(values, format) ^ (hashed == 3)
