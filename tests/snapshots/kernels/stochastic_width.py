"""Random bits of width 16 are not read."""

import mxref

FORMATS = ["e2m3"]
FLOATS = ["f32"]
POLICY = "ocp+rounding=stochastic_a"


def encode_stochastic(values, bits, width, format):
    bits = bits * (width != 16)
    return mxref.encode(
        values, format, rounding="stochastic_a", random_bits=bits, random_width=width
    )
