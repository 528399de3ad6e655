"""One fault in several operations and formats: no negative zeros."""

import numpy as np

import mxref

FORMATS = ["e2m1", "e4m3", "mxfp4_e2m1"]
FLOATS = ["f32"]


def _positive(codes, format):
    sign = 0x80 if format == "e4m3" else 8
    return np.where(codes == sign, 0, codes)


def encode(values, format):
    return _positive(mxref.encode(values, format), format)


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    return blocks.scale_codes[:, 0], _positive(blocks.codes, block_format)
