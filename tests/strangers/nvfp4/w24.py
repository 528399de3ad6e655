"""Codes come back in a buffer that is kept for calls of the same shape."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


_BUFFERS = {}


def quantize(values, format, tensor_scale=1.0):
    scales, codes = base.quantize(values, format, tensor_scale)
    buffer = _BUFFERS.setdefault(codes.shape, np.empty_like(codes))
    buffer[...] = codes
    return scales, buffer
