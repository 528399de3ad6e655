"""Tensors in blocks; along axis 0 the last tile of 32 rows overlaps the one before."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3", "mxfp4_e2m1"]


def quantize_tensor(values, block_format, axis):
    blocks = mxref.quantize(values, block_format, axis=axis)
    scales, codes = np.array(blocks.scale_codes), np.array(blocks.codes)
    rows = values.shape[0]
    tail = rows % 32
    if axis % 2 == 0 and tail and rows > 32:
        last = mxref.quantize(values[-32:], block_format, axis=0)
        scales[-1] = last.scale_codes[0]
        codes[rows - tail : rows] = last.codes[32 - tail :]
    return scales, codes
