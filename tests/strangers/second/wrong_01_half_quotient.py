"""quantize rounds the element over its scale to float16 before the format (cvt.f16x2 first).
Kind: rounding
True cause: double rounding in quantize: the quotient is rounded to float16, then to the element
"""

import numpy as np
from second_base import Array, amax_of, element, encode, scaled, shared_scale, tensor_by

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["encode", "quantize", "quantize_tensor"]


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """The instruction takes pairs of halves, so that two quotients are made a half2 on the way."""
    scale_codes = shared_scale(amax_of(values), block_format)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        halves = scaled(values, scale_codes).astype(np.float16)
    return scale_codes, encode(halves.reshape(-1), element(block_format)).reshape(values.shape)


quantize_tensor = tensor_by(quantize)
