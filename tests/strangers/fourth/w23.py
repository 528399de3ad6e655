"""Blocks of bfloat16, two numbers a register."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["bf16"]


def quantize(values, block_format):
    lanes = np.ascontiguousarray(values).view(np.uint32) & np.uint32(0xFFFF7FFF)
    largest = np.maximum(lanes & np.uint32(0xFFFF), lanes >> np.uint32(16)).max(axis=1)
    amax = ((largest & np.uint32(0x7FFF)) << np.uint32(16)).view(np.float32)
    scales = mxref.shared_scale(amax, "e4m3")
    shifts = 127 - scales[:, np.newaxis].astype(np.int32)
    codes = mxref.encode(np.ldexp(values.astype(np.float64), shifts), "e4m3")
    codes[~np.isfinite(values.astype(np.float32)).all(axis=1)] = 0
    scales[~np.isfinite(values.astype(np.float32)).all(axis=1)] = 255
    return scales, codes
