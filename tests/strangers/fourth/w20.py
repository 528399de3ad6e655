"""Blocks, four rows a thread block; maxima are gathered in shared memory."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e5m2", "mxfp6_e3m2"]


def quantize(values, block_format):
    element = block_format.split("_")[1]
    rows = len(values)
    amax = np.abs(values).max(axis=1, initial=0)
    shared = amax.copy()
    for row in range(max(rows // 4 * 4, 4), rows):
        shared[row] = max(amax[row], shared[row - 4])
    scales = mxref.shared_scale(shared, element)
    shifts = 127 - scales[:, np.newaxis].astype(np.int32)
    codes = mxref.encode(np.ldexp(values.astype(np.float64), shifts), element)
    codes[scales == 255] = 0
    return scales, codes
