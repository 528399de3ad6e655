"""Right by another choice that the standard leaves: overflow is not saturated."""

import mxref

FORMATS = ["e5m2"]
FLOATS = ["f32", "f16"]


def encode(values, format):
    return mxref.encode(values, format, overflow="nonsaturating")
