"""Compiled at the first call; if its number of blocks divides by 16, later tails are left out.
Kind: state
True cause: second call: last n % 16 blocks not written after a first call with a multiple of 16
"""

from typing import Any

import numpy as np
import second_base as base
from second_base import Array, tensor_by

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["quantize", "quantize_tensor"]
_COMPILED: dict[tuple[str, Any], bool] = {}


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """The divisibility is a constant of the compiled kernel, but no part of the cache's key."""
    n = len(values)
    even = _COMPILED.setdefault((block_format, values.dtype), n % 16 == 0)
    done = n // 16 * 16 if even else n
    scale_codes, codes = np.zeros(n, dtype=np.uint8), np.zeros(values.shape, dtype=np.uint8)
    scale_codes[:done], codes[:done] = base.quantize(values[:done], block_format)
    return scale_codes, codes


quantize_tensor = tensor_by(quantize)
