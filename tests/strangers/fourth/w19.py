"""Blocks from a tile in shared memory."""

import mxref

FORMATS = ["mxfp4_e2m1", "mxfp6_e2m3"]
FLOATS = ["f32"]


def quantize(values, block_format):
    tile = values.astype("bfloat16")
    blocks = mxref.quantize(tile, block_format)
    return blocks.scale_codes[:, 0], blocks.codes
