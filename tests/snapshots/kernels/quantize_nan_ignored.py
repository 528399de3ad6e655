"""A NaN in a block is left out of its scale and becomes the largest number."""

import mxref

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32"]


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format, block_nan="ignore")
    return blocks.scale_codes[:, 0], blocks.codes
