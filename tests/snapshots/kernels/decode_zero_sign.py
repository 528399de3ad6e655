"""Negative zero becomes zero, which is a choice."""

import numpy as np

import mxref

FORMATS = ["e2m1", "e3m2"]


def decode(codes, format):
    return mxref.decode(codes, format) + np.float32(0)
