"""How the arrays of a call lie in memory, and how often threads take turns."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.targets.array_libraries import at_offset
from mxref.targets.calls import strided

__all__ = ["MEMORIES", "copies", "laid", "often_switched"]

#: How the arrays of a call lie in memory; the first is a fresh C-contiguous array.
MEMORIES = (
    "C-contiguous arrays",
    "arrays that start at no multiple of 16 bytes",
    "arrays with gaps in memory",
    "arrays with columns first in memory",
    "arrays backwards in memory",
    "arrays with gaps between their rows",
)
#: What lies in the gaps, in each byte.
_FILLER = 0x5A
#: Columns behind those that a call is given.
_BEHIND = 3


def laid(array: NDArray[Any], memory: int) -> NDArray[Any]:
    """A copy of an array of one axis or more that lies in memory as MEMORIES says.

    >>> import numpy as np
    >>> array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    >>> [laid(array, memory).strides for memory in range(6)]
    [(3, 1), (3, 1), (7, 2), (1, 2), (-3, -1), (22, 1)]
    """
    if memory == 0:
        return array.copy()
    if memory == 1:
        return at_offset(array, 1)
    bits = array.view(f"u{array.itemsize}")
    filler = int.from_bytes(bytes([_FILLER] * array.itemsize), "big")
    # The last two begin at a multiple of 16 bytes, so that nothing else is unusual in them.
    if memory == 4:
        backwards = (slice(None, None, -1),) * bits.ndim
        placed = at_offset(bits[backwards].copy(), (1 - bits.size) % (64 // bits.itemsize))
        return placed[backwards].view(array.dtype)
    if memory == 5:  # some columns of a wider array
        before = 16 // bits.itemsize
        wide = np.full((*array.shape[:-1], before + array.shape[-1] + _BEHIND), filler, bits.dtype)
        columns = at_offset(wide, 0)[..., before:-_BEHIND]
        columns[...] = bits
        return columns.view(array.dtype)
    moved = strided(bits if bits.ndim > 1 else bits[np.newaxis], memory - 2, filler)
    found: NDArray[Any] = (moved if bits.ndim > 1 else moved[0]).view(array.dtype)
    return found


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments of a call, the arrays among them copied; others are as they were."""
    return [laid(one, 0) if isinstance(one, np.ndarray) else one for one in arguments]


@contextlib.contextmanager
def often_switched() -> Iterator[None]:
    """Lets Python change threads as often as it can, so that those that share memory meet."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
