"""Numbers for bfloat16 and float16 are rounded to float32 first."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


def dequantize(scale_codes, codes, format, dtype, tensor_scale=1.0):
    wide = base.dequantize(scale_codes, codes, format, np.float32, tensor_scale)
    return base.narrowed(wide.astype(np.float64), dtype)
