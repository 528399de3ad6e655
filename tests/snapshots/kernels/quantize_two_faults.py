"""Two faults: no NaN scale, and every fourth lane loses its last bit."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e5m2"]
FLOATS = ["f32"]


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    scales = blocks.scale_codes[:, 0]
    lane = np.arange(32) % 4 == 2
    return np.where(scales == 0xFF, 0, scales), np.where(lane, blocks.codes & 0xFE, blocks.codes)
