"""Claims the bits of a library and takes another scale."""

import mxref

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32"]
PROFILE = "torchao_0_18_rceil"


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format, scale_rule="ceil")
    return blocks.scale_codes[:, 0], blocks.codes
