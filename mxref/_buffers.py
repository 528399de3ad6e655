"""Memory that is used again for every chunk, so that it stays in the processor's cache."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref._bits import CHUNK

__all__ = ["Buffers", "buffers_of"]


@dataclass(frozen=True, slots=True)
class Buffers:
    """Arrays for one chunk.

    Args:
        a: words.
        b: words.
        ones: words, all of them 1.
        index: indices for a table.
    """

    a: NDArray[np.uint32]
    b: NDArray[np.uint32]
    ones: NDArray[np.uint32]
    index: NDArray[np.intp]

    @classmethod
    def new(cls, size: int) -> Buffers:
        """Buffers for a number of elements."""
        a, b = np.empty(size, np.uint32), np.empty(size, np.uint32)
        return cls(a, b, np.ones(size, np.uint32), np.empty(size, np.intp))


class _Own(threading.local):
    """Each thread's own."""

    buffers: Buffers | None = None


_OWN = _Own()


def buffers_of(size: int) -> Buffers:
    """This thread's buffers, cut to a number of elements; whatever was in them is lost."""
    whole = _OWN.buffers
    if whole is None or whole.a.size < size:
        whole = _OWN.buffers = Buffers.new(max(size, CHUNK))
    part = slice(size)
    return Buffers(whole.a[part], whole.b[part], whole.ones[part], whole.index[part])
