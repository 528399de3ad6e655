"""Tensors in blocks; a row ends in a block that is filled up."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3", "mxfp6_e3m2"]


def quantize_tensor(values, block_format, axis):
    blocks = mxref.quantize(values, block_format, axis=axis)
    scales, codes = np.array(blocks.scale_codes), np.array(blocks.codes)
    rows, columns = values.shape
    tail = columns % 32
    if axis % 2 == 1 and tail:
        memory = np.concatenate([values.ravel(), np.zeros(32, values.dtype)])
        starts = np.arange(1, rows + 1) * columns - tail
        loaded = mxref.quantize(memory[starts[:, np.newaxis] + np.arange(32)], block_format)
        scales[:, -1:] = loaded.scale_codes
        codes[:, -32:][:, :tail] = loaded.codes[:, :tail]
    return scales, codes
