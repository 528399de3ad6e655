"""A block of zeros gets the smallest scale, lest something is divided by 0."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


def quantize(values, format, tensor_scale=1.0):
    codes, elements = base.quantize(values, format, tensor_scale)
    zeros = (np.asarray(values) == 0).all(axis=1)
    return np.where(zeros, 1, codes).astype(np.uint8), elements
