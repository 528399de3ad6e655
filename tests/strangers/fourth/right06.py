"""Codes of bytes: bits in a row, weighted by powers of two."""

import numpy as np

FORMATS = ["e3m2", "e2m3", "e2m1"]


def unpack(packed, format, n):
    width = 4 if format == "e2m1" else 6
    bits = np.unpackbits(packed, bitorder="little")[: n * width]
    return bits.reshape(n, width) @ (1 << np.arange(width))
