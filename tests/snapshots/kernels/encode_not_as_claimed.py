"""Claims ties away from zero and rounds them to even."""

import mxref

FORMATS = ["e3m2"]
FLOATS = ["f32"]
POLICY = "ocp+rounding=ties_to_away"


def encode(values, format):
    return mxref.encode(values, format)
