"""Reads from the address rounded down to a multiple of 16 bytes."""

import mxref

FORMATS = ["e2m1"]
FLOATS = ["f32"]


def encode(values, format):
    codes = mxref.encode(values, format)
    if values.ctypes.data % 16:
        codes[1:] = codes[:-1].copy()
    return codes
