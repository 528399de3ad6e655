"""pack: eight codes at a time; of the rest only the bytes that are full are written.
Kind: size
True cause: last partial byte is lost for odd counts (tail bytes rounded down)
"""

import second_base as base
from second_base import BITS, Array, unpack

FORMATS = ["e2m1"]
FLOATS = ["f32", "bf16"]
__all__ = ["pack", "unpack"]


def pack(codes: Array, format: str) -> Array:
    """The buffer is zero before; the tail copies rest * bits // 8 bytes."""
    bits = BITS[format]
    packed = base.pack(codes, format)
    whole = len(codes) // 8 * bits
    packed[whole + len(codes) % 8 * bits // 8 :] = 0
    return packed
