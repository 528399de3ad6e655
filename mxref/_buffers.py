"""Memory that is used again for every chunk, so that it stays in the processor's cache."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref._bits import CHUNK

__all__ = ["Buffers", "buffers_of"]

_HALF = int(sys.byteorder == "big")


@dataclass(frozen=True, slots=True)
class Buffers:
    """Arrays for one chunk.

    Args:
        a: words.
        b: words.
        ones: words, all of them 1.
        index: indices for a table; their upper halves are 0.
        words: the lower halves of `index`, to be written.
    """

    a: NDArray[np.uint32]
    b: NDArray[np.uint32]
    ones: NDArray[np.uint32]
    index: NDArray[np.intp]
    words: NDArray[np.uint32]

    @classmethod
    def new(cls, size: int) -> Buffers:
        """Buffers for a number of elements."""
        index = np.zeros(size, np.int64)
        a, b = np.empty(size, np.uint32), np.empty(size, np.uint32)
        return cls(a, b, np.ones(size, np.uint32), index, index.view(np.uint32)[_HALF::2])


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
    return Buffers(
        whole.a[part], whole.b[part], whole.ones[part], whole.index[part], whole.words[part]
    )
