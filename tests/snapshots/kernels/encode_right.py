"""Encodes and decodes rightly, in two of the four float types."""

import mxref

FORMATS = ["e2m1"]
FLOATS = ["f32", "bf16"]
encode = mxref.encode
decode = mxref.decode
