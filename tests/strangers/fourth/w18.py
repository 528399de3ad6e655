"""Blocks with one lane a number; the maximum comes from a butterfly of shuffles."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3", "mxfp4_e2m1"]


def quantize(values, block_format):
    element = block_format.split("_")[1]
    amax = np.abs(values)
    for offset in (16, 8, 4, 2):
        amax = np.maximum(amax, amax[:, np.arange(32) ^ offset])
    scales = mxref.shared_scale(amax[:, 0], element)
    shifts = 127 - scales[:, np.newaxis].astype(np.int32)
    codes = mxref.encode(np.ldexp(values.astype(np.float64), shifts), element)
    codes[scales == 255] = 0
    return scales, codes
