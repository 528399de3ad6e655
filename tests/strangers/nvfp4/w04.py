"""Scales below the smallest normal one are cut off, not rounded."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


def quantize(values, format, tensor_scale=1.0):
    _, size, negative = base.split(values)
    amax = np.where(base.special(size), 0, size.max(axis=1))
    scale = amax / 6 / float(tensor_scale)
    codes = base.nearest(scale, base.UE4M3)
    codes = np.where(scale < 2.0**-6, np.floor(np.minimum(scale, 1) * 512).astype(int), codes)
    elements = base.element_codes(size, base.UE4M3[codes], tensor_scale)
    return base.finish(codes, elements, negative, base.special(size))
