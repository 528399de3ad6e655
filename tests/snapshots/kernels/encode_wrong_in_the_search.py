"""Wrong in sixteen bfloat16 numbers, which no vector has."""

import numpy as np

import mxref

FORMATS = ["e2m1"]
FLOATS = ["bf16"]


def encode(values, format):
    codes = mxref.encode(values, format)
    codes[values.view(np.uint16) & 0xFFF == 0x5A5] ^= 1
    return codes
