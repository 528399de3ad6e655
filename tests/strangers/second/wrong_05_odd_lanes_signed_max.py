"""The mask that clears the sign covers only the low half of each packed pair.
Kind: sign
True cause: amax compares odd lanes signed: a negative largest element in an odd lane is ignored
"""

import numpy as np
from second_base import Array, element, encode, scaled, shared_scale, tensor_by, wide

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]
__all__ = ["quantize", "quantize_tensor"]


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """Pairs (even, odd) are compared at once; the mask should be 0x7FFF7FFF and is 0xFFFF7FFF."""
    numbers = wide(values)
    low = np.abs(numbers[:, 0::2]).max(axis=1)
    high = numbers[:, 1::2].max(axis=1)
    scale_codes = shared_scale(np.maximum(np.maximum(low, high), 0.0), block_format)
    codes = encode(scaled(values, scale_codes).reshape(-1), element(block_format))
    return scale_codes, codes.reshape(values.shape)


quantize_tensor = tensor_by(quantize)
