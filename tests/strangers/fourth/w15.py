"""Shared scales of the maxima of blocks, eight maxima a step."""

import numpy as np

import mxref


def shared_scale(amax, format):
    body = len(amax) // 8 * 8
    maxima = amax.copy()
    if body < len(amax):
        maxima[body:] = np.max(amax[body:])
    return mxref.shared_scale(maxima, format)
