"""Returns float64."""

import numpy as np

import mxref

FORMATS = ["e2m1"]


def decode(codes, format):
    return mxref.decode(codes, format, np.float64)
