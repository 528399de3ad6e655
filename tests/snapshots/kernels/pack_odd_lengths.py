"""The last byte of an odd number of codes is lost."""

import mxref

FORMATS = ["e2m1"]


def pack(codes, format):
    packed = mxref.pack(codes, format).copy()
    packed[-1] *= len(codes) % 2 == 0
    return packed
