"""Four blocks share a thread block; in the last, partial one all write the scale of the first.
Kind: size
True cause: scales of the last blocks, where the number of blocks is not a multiple of 4, repeat
"""

import second_base as base
from second_base import Array, tensor_by

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["quantize", "quantize_tensor"]


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """Full groups store four scales as one word, the last group byte by byte, from warp 0's."""
    scale_codes, codes = base.quantize(values, block_format)
    whole = len(scale_codes) // 4 * 4
    if whole < len(scale_codes):
        scale_codes[whole:] = scale_codes[whole]
    return scale_codes, codes


quantize_tensor = tensor_by(quantize)
