"""A maximum of packed pairs passes over a NaN in the upper half."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


def quantize(values, format, tensor_scale=1.0):
    _, size, negative = base.split(values)
    seen = size.copy()
    upper = seen[:, 1::2]
    upper[np.isnan(upper)] = 0
    codes = base.scale_codes(seen.max(axis=1), tensor_scale)
    elements = base.element_codes(seen, base.UE4M3[codes], tensor_scale)
    elements[np.isnan(size)] = 7
    return base.finish(codes, elements, negative, base.special(seen))
