"""Right."""

import mxref

FORMATS = ["mxint8"]
FLOATS = ["f32"]


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    return blocks.scale_codes[:, 0], blocks.codes
