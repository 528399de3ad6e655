"""Scratch memory that every chunk reuses, so that it stays in the cache.

NumPy often returns the memory of a chunk to the system at once. The system clears every page before
it hands it out again, which takes longer than the arithmetic.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class _Own(threading.local):
    """Each thread's own arrays, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[np.uint8]] = {}


_OWN = _Own()


def scratch(name: str, size: int, dtype: DTypeLike) -> NDArray[Any]:
    """An uninitialised array (size,) of this thread; the next one of this name overwrites it."""
    wanted: np.dtype[Any] = np.dtype(dtype)
    array = _OWN.arrays.get(name)
    if array is None or array.size < size * wanted.itemsize:
        array = _OWN.arrays[name] = np.empty(size * wanted.itemsize, np.uint8)
    return array[: size * wanted.itemsize].view(wanted)
