"""Numbers of codes, from a pointer and a length."""

import numpy as np

import mxref


def decode(codes, format):
    base = codes
    if len(codes) > 1 and codes.strides[0] > 0:
        base = np.lib.stride_tricks.as_strided(codes, strides=(1,))
    return mxref.decode(base, format)
