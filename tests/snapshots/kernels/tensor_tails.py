"""The last, partial block of a long axis is not written, where there are two whole ones."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32"]


def quantize_tensor(values, block_format, axis):
    blocks = mxref.quantize(values, block_format, axis=axis)
    codes, length = np.moveaxis(blocks.codes.copy(), axis, -1), values.shape[axis]
    if length > 64:
        codes[..., length // 32 * 32 : length] = 0
    return blocks.scale_codes, np.moveaxis(codes, -1, axis)
