"""The rows that fill no group of eight take their amax in float16."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


def quantize(values, format, tensor_scale=1.0):
    _, size, negative = base.split(values)
    amax = size.max(axis=1)
    rest = len(amax) // 8 * 8
    with np.errstate(over="ignore"):
        amax[rest:] = amax[rest:].astype(np.float16)
    codes = base.scale_codes(amax, tensor_scale)
    elements = base.element_codes(size, base.UE4M3[codes], tensor_scale)
    return base.finish(codes, elements, negative, base.special(size))
