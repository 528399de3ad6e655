"""FP6 bytes: four codes in three bytes, and a remainder of one to three codes."""

import numpy as np

import mxref

FORMATS = ["e3m2", "e2m3"]


def pack(codes, format):
    out = mxref.pack(codes, format)
    if codes.size % 4 == 3:
        out[-1] = 0
    return out


def unpack(packed, format, n):
    padded = np.append(packed, np.zeros(-packed.size % 3, np.uint8)).astype(np.uint32)
    word = padded[0::3] | padded[1::3] << 8 | padded[2::3] << 16
    codes = (word[:, None] >> np.uint32([0, 6, 12, 18]) & 63).astype(np.uint8).reshape(-1)[:n]
    if n % 4 == 2:
        codes[-1] &= 3
    return codes
