"""Axis 0: the tile is loaded transposed, but its mask has rows and columns as they were.
Kind: layout
True cause: axis 0 of a tensor that is not square: elements beyond the swapped bounds become zero
"""

import second_base as base
from second_base import Array, quantize

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["quantize", "quantize_tensor"]


def quantize_tensor(values: Array, block_format: str, axis: int) -> tuple[Array, Array]:
    """Loads with a mask: i < columns and j < rows, where it should be the other way round."""
    if axis in (0, -2):
        rows, columns = values.shape
        values = values.copy()
        values[columns:, :] = 0
        values[:, rows:] = 0
    return base.quantize_tensor(values, block_format, axis)
