"""Blocks with the scale before the elements, 128 blocks a tile."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1", "mxfp8_e4m3"]
POLICY = "ocp+scale_place=before"
TILE = 128


def pack_blocks(scale_codes, codes, block_format):
    shared = scale_codes[:TILE]
    scales = shared[np.arange(len(scale_codes)) % TILE]
    packed = mxref.pack_blocks(scales[:, np.newaxis], codes, block_format, POLICY)
    return packed.reshape(len(codes), -1)
