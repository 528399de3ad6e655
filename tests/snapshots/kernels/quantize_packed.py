"""Returns two codes to a byte."""

import mxref

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32"]


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    return blocks.scale_codes[:, 0], mxref.pack(blocks.codes, "e2m1")
