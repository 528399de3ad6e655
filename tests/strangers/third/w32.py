"""Tensor quantizer: columns are rows of the transpose, and come back in C order."""

import numpy as np

import mxref


def quantize_tensor(values, block_format, axis):
    if axis in (1, -1):
        blocks = mxref.quantize(values, block_format, axis=1)
        return blocks.scale_codes, blocks.codes
    blocks = mxref.quantize(values.T, block_format, axis=1)
    scales = blocks.scale_codes.reshape(blocks.scale_codes.shape[::-1])
    return scales, np.ascontiguousarray(blocks.codes.T)
