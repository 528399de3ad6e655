"""A block with a negative infinity is clamped to the largest scale; one with +Inf is NaN."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


def quantize(values, format, tensor_scale=1.0):
    x, size, negative = base.split(values)
    codes = base.scale_codes(size.max(axis=1), tensor_scale)
    bad = np.isnan(x).any(axis=1) | (x == np.inf).any(axis=1)
    clamped = (x == -np.inf).any(axis=1) & ~bad
    codes[clamped] = 0x7E
    elements = base.element_codes(size, base.UE4M3[codes], tensor_scale)
    elements[clamped[:, None] & np.isinf(x)] = 7
    return base.finish(codes, elements, negative, bad)
