"""dequantize to bfloat16 takes the upper half of the float32 ("every code fits into 8 bits").
Kind: rounding
True cause: subnormal products in bfloat16 are truncated, not rounded to nearest (tiny scales)
"""

from typing import Any

import numpy as np
from second_base import DTYPES, TABLES, Array, element, narrow, scale_value

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["dequantize"]


def dequantize(scale_codes: Array, codes: Array, block_format: str, dtype: Any) -> Array:
    """A shift instead of a conversion, where the type is bfloat16."""
    product = TABLES[element(block_format)][codes] * scale_value(scale_codes)[:, None]
    if np.dtype(dtype) != DTYPES["bf16"]:
        return narrow(product, dtype)
    bits = narrow(product, np.float32).view(np.uint32) >> 16
    return bits.astype(np.uint16).view(DTYPES["bf16"])
