"""Stochastic rounding as it claims."""

import mxref

FORMATS = ["e2m1"]
FLOATS = ["f32"]
POLICY = "ocp+rounding=stochastic_a"


def encode_stochastic(values, bits, width, format):
    return mxref.encode(
        values, format, rounding="stochastic_a", random_bits=bits, random_width=width
    )
