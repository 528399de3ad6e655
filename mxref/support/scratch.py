"""Memory that is used again for every chunk: it stays in the cache, and is not asked for again.

What NumPy allocates for a chunk often goes back to the system at once, and every page of it is
cleared before the next use, which takes longer than the arithmetic.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["scratch"]


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
