"""A right shift by 64 or more is one by 64 less: numbers far below the maximum become large codes.
Kind: range
True cause: tiny elements beside a large maximum: shift count of 64 or more wraps, code not zero
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Integers only: the mantissa of 24 bits is shifted to units of the last place and rounded."""
    fmt = base.element(block_format)
    scales = base.shared_scale(base.block_amax(values), block_format)
    x = base.scaled(values, scales)
    m, e = np.frexp(np.where(np.isfinite(x), np.abs(x), 0.0))
    mantissa = np.ldexp(m, 24).astype(np.uint64)
    e = e.astype(np.int64)
    top = np.zeros_like(e) if fmt.is_int else np.maximum(e - 1, 1 - fmt.bias)
    binade = np.zeros_like(e) if fmt.is_int else np.where(mantissa > 0, top - 1 + fmt.bias, 0)
    shift = ((24 - e - fmt.mbits + top) & 63).astype(np.uint64)  # as x86 does
    one = np.uint64(1)
    units = mantissa >> shift
    rest = mantissa - (units << shift)
    half = (one << shift) >> one
    units += (rest > half) | ((rest == half) & (half > 0) & (units & one == 1))
    codes = base.finish((binade << fmt.mbits) + units.astype(np.int64), x, fmt)
    return scales, np.where(scales[:, None] == 255, np.uint8(0), codes)


quantize_tensor = base.tensor_by(quantize)
