"""Three rows at a time."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


def quantize(values, format, tensor_scale=1.0):
    scales, codes = np.empty(len(values), np.uint8), np.empty(values.shape, np.uint8)
    for i in range(0, len(values), 3):
        scales[i : i + 3], codes[i : i + 3] = base.quantize(values[i : i + 3], format, tensor_scale)
    return scales, codes


def dequantize(scale_codes, codes, format, dtype, tensor_scale=1.0):
    found = np.empty(codes.shape, dtype)
    for i in range(0, len(codes), 3):
        some = slice(i, i + 3)
        found[some] = base.dequantize(scale_codes[some], codes[some], format, dtype, tensor_scale)
    return found
