"""The same array in other memory: at another address, with gaps, columns first, or backwards."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from mxref.targets.array_libraries import at_offset
from mxref.targets.layout_calls import strided

__all__ = ["MEMORIES", "laid"]

#: How the arrays of a call lie in memory; the first is a fresh C-contiguous array.
MEMORIES = (
    "C-contiguous arrays",
    "arrays that start at no multiple of 16 bytes",
    "arrays with gaps in memory",
    "arrays with columns first in memory",
    "arrays backwards in memory",
)
#: What lies in the gaps, in each byte.
_FILLER = 0x5A


def laid(array: NDArray[Any], memory: int) -> NDArray[Any]:
    """A copy of an array that lies in memory as MEMORIES says; the first axes of several as one.

    >>> import numpy as np
    >>> array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    >>> [laid(array, memory).strides for memory in range(5)]
    [(3, 1), (3, 1), (7, 2), (1, 2), (-3, -1)]
    """
    if memory == 0:
        return array.copy()
    if memory == 1:
        return at_offset(array, 1)
    bits = array.view(f"u{array.itemsize}")
    filler = int.from_bytes(bytes([_FILLER] * array.itemsize), "big")
    rows = math.prod(bits.shape[:-1]), bits.shape[-1]
    matrix = strided(bits.reshape(rows), memory - 2, filler)
    moved: NDArray[Any] = matrix.reshape(array.shape).view(array.dtype)
    return moved
