"""Cuts off between 2 and 4."""

import numpy as np

import mxref

FORMATS = ["e4m3"]
FLOATS = ["f32"]


def encode(values, format):
    size = np.abs(values)
    cut = mxref.encode(values, format, rounding="toward_zero")
    return np.where((size >= 2) & (size < 4), cut, mxref.encode(values, format))
