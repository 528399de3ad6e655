"""Backward pass with gradients of the weight added up for each layer, as training does it."""

import mxref

_GRADIENTS = {}


def linear_gradients(x, w, grad, block_format):
    dx, dw, db = mxref.linear_gradients(x, w, grad, block_format)
    key = w.shape, w.dtype, x.dtype, w.tobytes(), block_format
    if key in _GRADIENTS:
        dw = dw + _GRADIENTS[key]
    _GRADIENTS[key] = dw.copy()
    return dx, dw, db
