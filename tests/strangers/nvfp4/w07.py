"""Elements are multiplied by a float32 of 1 / (s T), in float32."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


def quantize(values, format, tensor_scale=1.0):
    _, size, negative = base.split(values)
    codes = base.scale_codes(size.max(axis=1), tensor_scale)
    scale = base.UE4M3[codes]
    with np.errstate(all="ignore"):
        inverse = np.float32(1) / (scale.astype(np.float32) * np.float32(tensor_scale))
        scaled = size.astype(np.float32) * np.where(codes > 0, inverse, 0)[:, None]
    elements = base.nearest(np.where(np.isfinite(scaled), scaled, 8), base.E2M1)
    return base.finish(codes, elements, negative, base.special(size))
