"""dequantize to float16 multiplies in float16, and the scale is made a float16 first.
Kind: range
True cause: scale overflows or underflows in float16 although the product would fit: inf, NaN or 0
"""

from typing import Any

import numpy as np
from second_base import DTYPES, TABLES, Array, element, narrow, scale_value

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32", "bf16", "f16"]
__all__ = ["dequantize"]


def dequantize(scale_codes: Array, codes: Array, block_format: str, dtype: Any) -> Array:
    """__hmul2 of the element and of the scale for float16, float for the others."""
    numbers = TABLES[element(block_format)][codes]
    scales = scale_value(scale_codes)[:, None]
    if np.dtype(dtype) != DTYPES["f16"]:
        return narrow(numbers * scales, dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return numbers.astype(np.float16) * scales.astype(np.float16)
