"""Rounds ties of two subnormal numbers away from zero."""

import numpy as np

import mxref

FORMATS = ["e2m1"]
FLOATS = ["f32"]


def encode(values, format):
    away = mxref.encode(values, format, rounding="ties_to_away")
    return np.where(np.abs(values) < 1, away, mxref.encode(values, format))
