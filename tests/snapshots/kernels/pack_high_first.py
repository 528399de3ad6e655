"""The first code of a pair is the high half of the byte, which is a choice."""

import mxref

FORMATS = ["e2m1"]


def pack(codes, format):
    packed = mxref.pack(codes, format)
    return packed << 4 | packed >> 4


def unpack(packed, format, count):
    return mxref.unpack(packed << 4 | packed >> 4, format, count)
