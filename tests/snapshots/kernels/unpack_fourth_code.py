"""The highest bit of every fourth code is set."""

import mxref

FORMATS = ["e3m2"]


def unpack(packed, format, count):
    codes = mxref.unpack(packed, format, count).copy()
    codes[3::4] |= 0x20
    return codes
