"""float64 numbers are made float32 first."""

import numpy as np
import nvfp4_base as base

FORMATS = ["nvfp4"]


def quantize(values, format, tensor_scale=1.0):
    values = np.asarray(values)
    if values.dtype == np.float64:
        with np.errstate(all="ignore"):
            values = values.astype(np.float32)
    return base.quantize(values, format, tensor_scale)
