"""-0 is read as +0 where the scale is not 0."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


def dequantize(scale_codes, codes, format, dtype, tensor_scale=1.0):
    found = base.dequantize(scale_codes, codes, format, dtype, tensor_scale)
    scaled = (np.asarray(scale_codes) > 0)[:, None]
    return np.where((np.asarray(codes) == 8) & scaled & (found == 0), 0, found).astype(dtype)
