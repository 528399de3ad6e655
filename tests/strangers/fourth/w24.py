"""MXFP6 E2M3 blocks: fixed point with three fractional bits up to 2, floats above."""

import numpy as np

import mxref

FORMATS = ["mxfp6_e2m3"]


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    scales = blocks.scale_codes[:, 0]
    shifts = 127 - scales[:, np.newaxis].astype(np.int32)
    scaled = np.abs(np.ldexp(values.astype(np.float64), shifts))
    carry = (scaled >= 7.75) & (scales != 255)[:, np.newaxis]
    field = (blocks.codes & 0x1F) + carry
    return scales, np.uint8(blocks.codes & 0x20 | field & 0x1F)
