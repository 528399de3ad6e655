"""NVFP4: the scale of a block with a number above 3 is one code too large."""

import numpy as np

import mxref

FORMATS = ["nvfp4"]
FLOATS = ["f32"]


def quantize(values, block_format, tensor_scale):
    blocks = mxref.quantize(values, block_format, tensor_scale=tensor_scale)
    scales = blocks.scale_codes[:, 0]
    large = (scales < 0x7E) & (np.abs(values).max(axis=1) > 3)
    return scales + large, blocks.codes
