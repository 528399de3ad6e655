"""Only the first four columns of scales are stored, and read."""

import numpy as np

import mxref


def pack_scales(scale_codes):
    return mxref.pack_scales(scale_codes * (np.arange(scale_codes.shape[1]) < 4))


def unpack_scales(packed, shape):
    codes = mxref.unpack_scales(packed, shape).copy()
    codes[:, 4:] = 0
    return codes
