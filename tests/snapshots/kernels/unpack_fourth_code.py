"""Every fourth code loses its highest bit."""

import mxref

FORMATS = ["e3m2"]


def unpack(packed, format, count):
    codes = mxref.unpack(packed, format, count).copy()
    codes[3::4] &= 0x1F
    return codes
