"""Wrong beyond 1024 numbers: the grid has one block of 1024 threads."""

import numpy as np

import mxref

FORMATS = ["e2m3"]
FLOATS = ["f32"]


def encode(values, format):
    codes = np.zeros(len(values), np.uint8)
    codes[:1024] = mxref.encode(values[:1024], format)
    return codes
