"""Blocks of 17 bytes, the scale after the elements, read as 16-bit words."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1"]
POLICY = "ocp+scale_place=after"


def unpack_blocks(packed, block_format):
    scales = packed[:, 16].copy()
    memory = np.ascontiguousarray(packed).ravel()
    starts = np.arange(len(packed)) * 17 & ~1
    elements = memory[starts[:, np.newaxis] + np.arange(16)]
    return scales, mxref.unpack(elements, "e2m1", 32)
