"""Encoder with a workspace: one buffer of codes for each size, allocated once."""

import numpy as np

import mxref

_WORKSPACE = {}


def encode(values, format):
    if values.size not in _WORKSPACE:
        _WORKSPACE[values.size] = np.empty(values.size, np.uint8)
    return mxref.encode(values, format, out=_WORKSPACE[values.size])
