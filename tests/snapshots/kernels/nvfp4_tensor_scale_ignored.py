"""NVFP4: numbers are not multiplied by the tensor's scale."""

import numpy as np

import mxref

FORMATS = ["nvfp4", "fp4_ue4m3"]
FLOATS = ["f32"]


def dequantize(scale_codes, codes, block_format, dtype, tensor_scale=None):
    scales = mxref.decode(scale_codes, "ue4m3", np.float64)
    return (mxref.decode(codes, "e2m1", np.float64) * scales[:, None]).astype(dtype)
