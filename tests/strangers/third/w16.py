"""Shared scales with a history: a layer is known by its format and its number of blocks."""

import numpy as np

import mxref

_HISTORY = {}


def shared_scale(amax, format):
    codes = mxref.shared_scale(amax, format)
    key = format, amax.size
    before = _HISTORY.get(key, codes)
    _HISTORY[key] = np.where(before == 255, codes, np.maximum(before, codes))
    return _HISTORY[key].copy()
