"""Zeros are not written: the workspace still has the codes of the call before."""

import numpy as np

import mxref

FORMATS = ["e2m1"]
FLOATS = ["f32"]
_workspace = np.zeros(1 << 20, np.uint8)


def encode(values, format):
    codes = mxref.encode(values, format)
    some = codes != 0
    _workspace[: len(values)][some] = codes[some]
    return _workspace[: len(values)].copy()
