"""Gives the bits of a library, as it claims."""

import mxref

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32"]
PROFILE = "torchao_0_18_rceil"


def quantize(values, block_format):
    blocks = mxref.profile(PROFILE).quantize(values, block_format)
    return blocks.scale_codes[:, 0], blocks.codes
