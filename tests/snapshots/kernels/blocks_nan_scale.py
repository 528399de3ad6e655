"""Stores no NaN scale, and reads the upper half of each block from the lower one."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1"]
POLICY = "ocp+scale_place=before"


def pack_blocks(scale_codes, codes, block_format):
    stored = np.where(scale_codes == 0xFF, 0xFE, scale_codes).astype(np.uint8)
    packed = mxref.pack_blocks(stored, codes.reshape(-1), block_format, POLICY)
    return packed.reshape(len(stored), -1)


def unpack_blocks(packed, block_format):
    scales, codes = mxref.unpack_blocks(packed, block_format, POLICY)
    return scales.reshape(-1), codes.reshape(-1, 32)[:, [*range(16), *range(16)]]
