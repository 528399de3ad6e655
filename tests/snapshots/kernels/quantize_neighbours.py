"""A block of zeros takes the scale of the block before it."""

import numpy as np

import mxref

FORMATS = ["mxfp6_e2m3"]
FLOATS = ["f32"]


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    scales = blocks.scale_codes[:, 0].copy()
    for row in np.flatnonzero((values == 0).all(axis=1)):
        scales[row] = scales[max(row - 1, 0)]
    return scales, blocks.codes
