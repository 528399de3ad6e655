"""Scales are rounded half up where the tensor has a scale other than 1."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


def quantize(values, format, tensor_scale=1.0):
    _, size, negative = base.split(values)
    amax = np.where(base.special(size), 0, size.max(axis=1))
    tie = "even" if tensor_scale == 1 else "up"
    codes = base.nearest(amax / 6 / float(tensor_scale), base.UE4M3, tie)
    elements = base.element_codes(size, base.UE4M3[codes], tensor_scale)
    return base.finish(codes, elements, negative, base.special(size))
