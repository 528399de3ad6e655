"""Raises if there is a NaN, in FP8 alone."""

import numpy as np

import mxref

FORMATS = ["e4m3", "e2m1"]
FLOATS = ["f32"]


def encode(values, format):
    if format == "e4m3" and np.isnan(values).any():
        raise ValueError("no NaN here")
    return mxref.encode(values, format)
