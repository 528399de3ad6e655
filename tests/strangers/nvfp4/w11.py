"""The element is multiplied by the scale of the tensor first, and rounded there."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


def dequantize(scale_codes, codes, format, dtype, tensor_scale=1.0):
    with np.errstate(all="ignore"):
        first = (base.numbers_of(codes) * float(tensor_scale)).astype(np.float32)
    product = first.astype(np.float64) * base.scales_of(scale_codes)[:, None]
    return base.narrowed(product, dtype)
