"""bfloat16 numbers are divided in bfloat16."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


def quantize(values, format, tensor_scale=1.0):
    if np.asarray(values).dtype.name != "bfloat16":
        return base.quantize(values, format, tensor_scale)
    _, size, negative = base.split(values)
    codes = base.scale_codes(size.max(axis=1), tensor_scale)
    divisor = base.UE4M3[codes] * float(tensor_scale)
    with np.errstate(all="ignore"):
        scaled = np.where(codes > 0, 1 / divisor, 0)[:, None] * size
        scaled = scaled.astype(np.float32).astype(values.dtype).astype(np.float64)
    elements = base.nearest(np.where(np.isfinite(scaled), scaled, 8), base.E2M1)
    return base.finish(codes, elements, negative, base.special(size))
