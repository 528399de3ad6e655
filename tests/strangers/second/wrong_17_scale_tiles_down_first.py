"""pack_scales: the tiles of 128 x 4 stand one below the other, not one beside the other.
Kind: layout
True cause: order of tiles column-major: wrong with over 128 rows and over 4 columns of scales
"""

import numpy as np
from second_base import Array

FORMATS = ["e8m0"]
FLOATS = ["f32", "bf16"]
POLICY = "ocp+scale_layout=tiles_128x4"
__all__ = ["pack_scales", "unpack_scales"]


def index(rows: int, columns: int) -> Array:
    """Where each scale lies."""
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    tile = (column // 4) * -(-rows // 128) + row // 128
    return tile * 512 + (row % 32) * 16 + (row % 128) // 32 * 4 + column % 4


def pack_scales(scale_codes: Array) -> Array:
    """Tiles of 512 bytes, filled up with zeros."""
    rows, columns = scale_codes.shape
    packed = np.zeros(-(-rows // 128) * -(-columns // 4) * 512, dtype=np.uint8)
    packed[index(rows, columns)] = scale_codes
    return packed


def unpack_scales(packed: Array, shape: tuple[int, int]) -> Array:
    """The inverse of pack_scales."""
    return packed[index(*shape)]
