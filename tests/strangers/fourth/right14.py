"""Codes of int8: rounded by the addition of a large number, channels one at a time."""

import numpy as np

FORMATS = ["int8", "uint8"]
_LARGE = np.float32(1.5 * 2**23)


def quantize_affine(values, scale, zero_point, quant_min, quant_max, dtype, axis):
    if axis is not None or np.isnan(values).any():
        raise ValueError("one scale for all, and no NaN")
    with np.errstate(over="ignore"):
        products = values * (np.float32(1) / np.float32(scale))
    bounded = np.clip(products, np.float32(-100000), np.float32(100000))
    rounded = (bounded + _LARGE) - _LARGE
    return np.clip(rounded + np.float32(zero_point), quant_min, quant_max).astype(dtype)
