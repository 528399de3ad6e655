"""The last, partial group of eight numbers is not written where there are whole ones."""

import numpy as np

import mxref

FORMATS = ["e2m1"]
FLOATS = ["f32"]


def encode(values, format):
    whole = len(values) // 8 * 8 or len(values)
    codes = np.zeros(len(values), np.uint8)
    codes[:whole] = mxref.encode(values[:whole], format)
    return codes
