"""The scale of the tensor goes to a tensor core as TF32, with 10 bits."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


def quantize(values, format, tensor_scale=1.0):
    bits = np.float32(tensor_scale).view(np.uint32)
    tf32 = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return base.quantize(values, format, tf32)
