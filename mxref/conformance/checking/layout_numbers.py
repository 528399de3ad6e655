"""Random codes and numbers of calls about layouts and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.operands.splitmix import splitmix64

__all__ = ["drawn_codes", "drawn_numbers"]


def drawn_codes(seed: int, count: int, codes: int) -> NDArray[np.uint8]:
    """Codes from 1 to `codes` - 1."""
    drawn = splitmix64(seed, -(-count // 8)).astype("<u8").view(np.uint8)[:count]
    return 1 + drawn % np.uint8(codes - 1)


def drawn_numbers(seed: int, rows: int, columns: int, layout: FloatLayout) -> NDArray[Any]:
    """Numbers whose binades rise from row to row and from column to column.

    One in eight lies 1 to 4 ulp below a power of two.
    """
    m = layout.mantissa_bits
    drawn = splitmix64(seed, rows * columns).reshape(rows, columns)
    row, column = np.arange(rows)[:, np.newaxis], np.arange(columns)
    below = (drawn >> np.uint64(56) & np.uint64(3)).astype(np.int64)
    exponent = (layout.inf_bits >> m) // 2 + row % 5 + column % 7 - below
    fraction = drawn.view(np.int64) & ((1 << m) - 1)
    near = drawn >> np.uint64(58) & np.uint64(7)
    fraction = np.where(near == 0, (1 << m) - 1 - (fraction & 3), fraction)
    sign = (drawn >> np.uint64(63)).astype(layout.uint) << np.array(layout.width - 1, layout.uint)
    bits = (exponent << m | fraction).astype(layout.uint) | sign
    found: NDArray[Any] = bits.astype(layout.uint).view(layout.dtype)
    return found
