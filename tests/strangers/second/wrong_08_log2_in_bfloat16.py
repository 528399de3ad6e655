"""The exponent of the scale is floor(log2(amax)) with a log2 that is rounded to bfloat16.
Kind: scale
True cause: scale one too large for amax in the top of the binade just below a power of two (bf16)
"""

import numpy as np
from second_base import (
    DTYPES,
    SPECS,
    Array,
    amax_of,
    element,
    encode,
    scaled,
    shared_scale,
    tensor_by,
)

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["quantize", "quantize_tensor"]


def scale_of(amax: Array, block_format: str, dtype: np.dtype) -> Array:
    """torch.floor(torch.log2(amax)) keeps the type; for others it is done on the bits."""
    scale_codes = shared_scale(amax, block_format)
    if dtype != DTYPES["bf16"]:
        return scale_codes
    usable = np.isfinite(amax) & (amax > 0)
    logarithm = np.log2(np.where(usable, amax, 1.0)).astype(dtype).astype(np.float64)
    exponent = np.floor(logarithm).astype(np.int64) - SPECS[element(block_format)][2]
    return np.where(usable, np.clip(exponent, -127, 127) + 127, scale_codes).astype(np.uint8)


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """Blocks (n, 32) to scale codes and codes."""
    scale_codes = scale_of(amax_of(values), block_format, values.dtype)
    codes = encode(scaled(values, scale_codes).reshape(-1), element(block_format))
    return scale_codes, codes.reshape(values.shape)


quantize_tensor = tensor_by(quantize)
