"""Encoder in chunks of 4,096 numbers, so that each stays in the cache."""

import numpy as np

import mxref

CHUNK = 4096


def encode(values, format):
    out = np.zeros(values.size, np.uint8)
    for start in range(0, max(values.size - 1, 1), CHUNK):
        out[start : start + CHUNK] = mxref.encode(values[start : start + CHUNK], format)
    return out
