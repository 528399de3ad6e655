"""Bytes of codes through their single bits."""

import numpy as np

FORMATS = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]


def pack(codes, format):
    width, group = {"e2m1": (4, 2), "e3m2": (6, 4), "e2m3": (6, 4)}.get(format, (8, 1))
    wide = np.zeros(-(-len(codes) // group) * group, np.uint8)
    wide[: len(codes)] = codes
    bits = np.unpackbits(wide[:, np.newaxis], axis=1, bitorder="little")[:, :width]
    return np.packbits(bits.ravel(), bitorder="little")
