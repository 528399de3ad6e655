"""Memory that is used again for every chunk: it stays in the cache, and is not asked for again.

What NumPy allocates for a chunk often goes back to the system at once, and every page of it is
cleared before the next use, which takes longer than the arithmetic.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mxref._bits import Bits, to_odd

__all__ = ["odd_keys", "scratch"]


class _Own(threading.local):
    """Each thread's own arrays, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[np.uint8]] = {}


_OWN = _Own()


def scratch(name: str, size: int, dtype: DTypeLike) -> NDArray[Any]:
    """This thread's array of that name, (size,), with anything in it.

    Whoever asks for the name again gets the same memory.
    """
    wanted: np.dtype[Any] = np.dtype(dtype)
    array = _OWN.arrays.get(name)
    if array is None or array.size < size * wanted.itemsize:
        array = _OWN.arrays[name] = np.empty(size * wanted.itemsize, np.uint8)
    return array[: size * wanted.itemsize].view(wanted)


def odd_keys(bits: Bits, drop: int) -> NDArray[np.intp]:
    """`to_odd` of a chunk (n,) as indices, in memory of this thread that the next call takes."""
    index = scratch("index", bits.size, np.intp)
    if drop:
        bits = to_odd(bits, drop, scratch("key", bits.size, bits.dtype))
    # Whole indices, since narrower ones are slower to look up.
    np.copyto(index, bits, casting="same_kind" if bits.dtype.itemsize < 8 else "unsafe")
    return index
