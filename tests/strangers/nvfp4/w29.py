"""A subnormal tensor scale counts as the smallest normal float32."""

import nvfp4_base as base

FORMATS = ["nvfp4"]


def dequantize(scale_codes, codes, format, dtype, tensor_scale=1.0):
    scale = max(float(tensor_scale), 2.0**-126)
    return base.dequantize(scale_codes, codes, format, dtype, scale)
