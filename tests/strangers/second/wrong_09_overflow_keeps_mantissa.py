"""dequantize adds the exponents; past the last it sets the field to 255 and keeps the mantissa.
Kind: special
True cause: a product that overflows float32 becomes NaN instead of infinity (large scales)
"""

from typing import Any

import numpy as np
from second_base import DTYPES, TABLES, Array, element, narrow, scale_value

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["dequantize"]


def dequantize(scale_codes: Array, codes: Array, block_format: str, dtype: Any) -> Array:
    """The bits of float32: sign and mantissa of the element, the sum of the exponents."""
    numbers = TABLES[element(block_format)][codes]
    product = numbers * scale_value(scale_codes)[:, None]
    if np.dtype(dtype) == DTYPES["f64"]:
        return product
    bits = narrow(product, np.float32).view(np.uint32)
    mantissa = numbers.astype(np.float32).view(np.uint32) & 0x807FFFFF
    past = np.isfinite(product) & (np.abs(product) >= 2.0**128)
    bits = np.where(past, mantissa | 0x7F800000, bits).astype(np.uint32)
    return narrow(bits.view(np.float32), dtype)
