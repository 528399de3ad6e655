"""Quantizer with a butterfly reduction: the largest of 32 lanes in halving steps."""

import numpy as np

import mxref


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    scales, codes = blocks.scale_codes.reshape(-1).copy(), blocks.codes.copy()
    rows = np.isfinite(values).all(1)
    wide = values[rows].astype(np.float64)
    lanes, largest = np.arange(32), np.abs(wide)
    for step in (16, 8, 4, 2):
        largest = np.maximum(largest, largest[:, lanes ^ step])
    scales[rows] = mxref.shared_scale(largest[:, 0], block_format[-4:])
    quotients = wide / mxref.decode_scale(scales[rows], np.float64)[:, None]
    codes[rows] = mxref.encode(quotients, block_format[-4:])
    return scales, codes
