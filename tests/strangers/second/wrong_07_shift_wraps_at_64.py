"""The shift count of a far smaller element is taken modulo 64, as 64-bit shifts of a machine do.
Kind: range
True cause: shift count wraps at 64: elements far below the scale (2^-58 and less) get large codes
"""

import numpy as np
from second_base import (
    SPECS,
    Array,
    amax_of,
    element,
    encode,
    fields,
    shared_scale,
    tensor_by,
    with_sign,
)

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
ONE = np.uint64(1)
__all__ = ["encode", "quantize", "quantize_tensor"]


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """Integers only: the mantissa of 24 bits is shifted right and rounded to even."""
    format = element(block_format)
    mantissa_bits, bias, _, largest, _, _, _ = SPECS[format]
    scale_codes = shared_scale(amax_of(values), block_format)
    mantissa, exponent = fields(values)
    exponent = exponent - (scale_codes.astype(np.int64)[:, None] - 127)
    field = np.maximum(exponent, 1 - bias)
    shift = (23 - mantissa_bits + field - exponent).astype(np.uint64) & np.uint64(63)
    steps = mantissa >> shift
    rest, half = mantissa - (steps << shift), (ONE << shift) >> ONE
    steps += (rest > half) | ((rest == half) & (steps & ONE == 1))
    codes = np.minimum(steps.astype(np.int64) + ((field + bias - 1) << mantissa_bits), largest)
    codes = with_sign(codes, np.signbit(values), format)
    missing = np.broadcast_to((scale_codes == 255)[:, None], codes.shape)
    codes[missing] = encode(np.full(missing.sum(), np.nan), format)
    return scale_codes, codes


quantize_tensor = tensor_by(quantize)
