"""The result lies in a buffer that the next call overwrites."""

import numpy as np

import mxref

FORMATS = ["e3m2"]
FLOATS = ["f32"]
_buffer = np.zeros(1 << 20, np.uint8)


def encode(values, format):
    codes = _buffer[: len(values)]
    codes[:] = mxref.encode(values, format)
    return codes
