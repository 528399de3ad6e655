"""Scratch memory that every chunk reuses, so that it stays in the cache.

NumPy often returns the memory of a chunk to the system at once. The system clears every page before
it hands it out again, which takes longer than the arithmetic.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class _Own(threading.local):
    """Each thread's own arrays, by name."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[np.uint8]] = {}
        self.views: dict[object, NDArray[Any]] = {}


_OWN = _Own()
#: Views that are kept: making one takes as long as a short call of NumPy.
_VIEWS = 64


def scratch(name: str, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An uninitialised array of this thread; the next one of this name overwrites it."""
    own, key = _OWN, (name, shape, dtype)
    view = own.views.get(key)
    if view is not None:
        return view
    wanted: np.dtype[Any] = np.dtype(dtype)
    count = (math.prod(shape) if isinstance(shape, tuple) else shape) * wanted.itemsize
    if name not in own.arrays or own.arrays[name].size < count:
        own.views.clear()
        own.arrays.pop(name, None)  # smaller memory is freed before there is larger
        own.arrays[name] = np.empty(count, np.uint8)
    elif len(own.views) >= _VIEWS:
        own.views.clear()
    view = own.views[key] = own.arrays[name][:count].view(wanted).reshape(shape)
    return view
