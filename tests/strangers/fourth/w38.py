"""Tensors in blocks, from their memory and their shape."""

import numpy as np

import mxref


def quantize_tensor(values, block_format, axis):
    memory = np.ravel(values, order="K")
    blocks = mxref.quantize(memory.reshape(values.shape), block_format, axis=axis)
    return blocks.scale_codes, blocks.codes
