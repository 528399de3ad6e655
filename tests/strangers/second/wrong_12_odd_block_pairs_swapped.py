"""dequantize: a warp has two blocks; a single last block goes a path that swaps each pair.
Kind: lane
True cause: last block of an odd number of blocks has its lanes (elements) swapped pairwise
"""

from typing import Any

import numpy as np
import second_base as base
from second_base import Array

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]
__all__ = ["dequantize"]


def dequantize(scale_codes: Array, codes: Array, block_format: str, dtype: Any) -> Array:
    """The half-warp reads 16 bits at a time and takes the upper half first."""
    order = np.arange(32)
    numbers = base.dequantize(scale_codes, codes, block_format, dtype)
    if len(numbers) % 2 == 1:
        numbers[-1] = numbers[-1, order ^ 1]
    return numbers
