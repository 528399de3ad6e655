"""Quantizer with a ring of four result buffers for each size, so that results need no copy."""

import numpy as np

import mxref

_RINGS = {}


def quantize(values, block_format):
    n = len(values)
    if n not in _RINGS:
        ring = [(np.empty((n, 32), np.uint8), np.empty((n, 1), np.uint8)) for _ in range(4)]
        _RINGS[n] = ring
    codes, scales = _RINGS[n].pop(0)
    _RINGS[n].append((codes, scales))
    mxref.quantize(values, block_format, out=(codes, scales))
    return scales[:, 0], codes
