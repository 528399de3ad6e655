"""Rows from number 32,768 on have no thread block."""

import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


def dequantize(scale_codes, codes, format, dtype, tensor_scale=1.0):
    found = base.dequantize(scale_codes, codes, format, dtype, tensor_scale)
    found[32768:] = 0
    return found
