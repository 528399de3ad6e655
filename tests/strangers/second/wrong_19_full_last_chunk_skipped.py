"""The last chunk of 64 blocks is always taken for a tail of n % 64 blocks, also where that is 0.
Kind: size
True cause: the last 64 blocks are not written where the number of blocks is a multiple of 64
"""

import numpy as np
import second_base as base
from second_base import Array, tensor_by

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
CHUNK = 64
__all__ = ["quantize", "quantize_tensor"]


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """A pipeline over chunks, with the last one peeled off."""
    n = len(values)
    scale_codes, codes = np.zeros(n, dtype=np.uint8), np.zeros(values.shape, dtype=np.uint8)
    chunks = -(-n // CHUNK)
    for chunk in range(chunks):
        start = chunk * CHUNK
        count = CHUNK if chunk < chunks - 1 else n % CHUNK
        part = slice(start, start + count)
        scale_codes[part], codes[part] = base.quantize(values[part], block_format)
    return scale_codes, codes


quantize_tensor = tensor_by(quantize)
