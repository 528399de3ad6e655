"""E2M1 codes, one number a thread."""

import numpy as np

import mxref

FORMATS = ["e2m1"]
THREADS_PER_BLOCK = 256
MAX_BLOCKS = 128


def encode(values, format):
    blocks = min(-(-len(values) // THREADS_PER_BLOCK), MAX_BLOCKS)
    codes = np.zeros(len(values), np.uint8)
    for block in range(blocks):
        some = slice(block * THREADS_PER_BLOCK, (block + 1) * THREADS_PER_BLOCK)
        codes[some] = mxref.encode(values[some], format)
    return codes
