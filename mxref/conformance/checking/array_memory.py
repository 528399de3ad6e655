"""How the arrays of a call lie in memory."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from mxref.targets.array_libraries import at_offset
from mxref.targets.calls import strided

__all__ = [
    "COLUMNS_FIRST",
    "MEMORIES",
    "ONE_ARRAY",
    "PLACED",
    "READ_ONLY",
    "STRIDE_0",
    "copies",
    "laid",
    "named",
    "one_array",
    "wrong_in",
]

Array = NDArray[Any]

#: How the arrays of a call lie in memory; the first is a fresh C-contiguous array.
MEMORIES = (
    "C-contiguous arrays",
    "arrays that start at no multiple of 16 bytes",
    "arrays with gaps in memory",
    "arrays with columns first in memory",
    "arrays backwards in memory",
    "arrays with gaps between their rows",
    "read-only arrays",
    "arrays at odd addresses",
    "arrays with 64 KiB and more between their rows",
    "arrays that reach over 4 GiB",
    "arrays with a stride of 0",
    "one array as two arguments",
)
#: Where any arrays can lie, beside the first. The others need equal rows or numbers, and two arrays
#: of one type and shape, which are then one.
PLACED = range(1, 10)
STRIDE_0, ONE_ARRAY = 10, 11
#: Two that can lie so.
COLUMNS_FIRST, READ_ONLY = 3, 6
#: What lies in the gaps, in each byte.
_FILLER = 0x5A
#: Columns behind those that a call is given.
_BEHIND = 3
#: Bytes between rows far apart, and from the first to the last that reach beyond 32 bits.
_APART, _REACH = 1 << 16, 3 << 31
#: The most rows far apart: each takes a page of memory.
_PAGES = 1 << 12
#: Linux's MAP_NORESERVE, which Python names from 3.13 on.
_NO_RESERVE = 0x4000


def laid(array: Array, memory: int) -> Array:
    """A copy of an array that lies in memory as MEMORIES says, as far as it can.

    >>> import numpy as np
    >>> array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    >>> [laid(array, memory).strides for memory in range(7)]
    [(3, 1), (3, 1), (7, 2), (1, 2), (-3, -1), (22, 1), (3, 1)]
    >>> rows = np.array([[1, 2, 3], [1, 2, 3]], np.uint16)
    >>> found = [laid(rows, memory) for memory in (6, 7, STRIDE_0)]
    >>> found[0].flags.writeable, found[1].flags.aligned, found[2].strides
    (False, False, (0, 2))
    """
    if memory in (0, ONE_ARRAY) or not array.size or not array.ndim:
        return array.copy()
    if memory == 1:
        return at_offset(array, 1)
    bits = array.view(f"u{array.itemsize}")
    filler = int.from_bytes(bytes([_FILLER] * array.itemsize), "big")
    # From the fifth on they begin at a multiple of 16 bytes, but for those at odd addresses, so
    # that nothing else is unusual in them.
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
    if memory == 6:
        placed = at_offset(array, 0)
        placed.flags.writeable = False
        return placed
    if memory == 7:
        octets = np.frombuffer(array.tobytes(), np.uint8)
        return at_offset(octets, 1).view(array.dtype).reshape(array.shape)
    if memory in (8, 9):
        return _far(array, _REACH if memory == 9 else 0)
    if memory == STRIDE_0:
        return _repeated(bits, filler).view(array.dtype)
    moved = strided(bits if bits.ndim > 1 else bits[np.newaxis], memory - 2, filler)
    found: Array = (moved if bits.ndim > 1 else moved[0]).view(array.dtype)
    return found


def _far(array: Array, reach: int) -> Array:
    """A copy whose rows, or the numbers of its only row, lie far apart, and reach so many bytes.

    What lies between them takes no memory; a copy like any other where there are no such addresses.
    """
    rows = array.reshape(-1, array.shape[-1])
    rows = rows if len(rows) > 1 else rows.T
    last = len(rows) - 1
    step = 64 * (max(_APART, rows[0].nbytes, reach // max(last, 1)) // 64 + 1)
    if sys.platform != "linux" or last > _PAGES:
        return array.copy()
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    try:
        room = mmap.mmap(-1, step * last + rows[0].nbytes, flags=flags)
        room.madvise(mmap.MADV_NOHUGEPAGE)  # each would take 2 MiB
    except (OSError, OverflowError):  # a limit of the process or of the system
        return array.copy()
    placed: Array = np.ndarray(rows.shape, array.dtype, room, 0, (step, array.itemsize))
    placed[...] = rows
    return placed.reshape(array.shape)


def _repeated(bits: Array, filler: int) -> Array:
    """A copy with a stride of 0 along each axis on which the array is constant.

    Behind what it has there is memory for the whole array, in which nothing right lies.
    """
    kept = bits
    for axis in range(bits.ndim):
        first = kept.take([0], axis)
        kept = first if (kept == first).all() else kept
    room = at_offset(np.full(bits.size, filler, bits.dtype), 0)
    few = room[: kept.size].reshape(kept.shape)
    few[...] = kept
    return as_strided(few, bits.shape, np.broadcast_to(few, bits.shape).strides)


def one_array(arguments: Sequence[Any]) -> list[Any]:
    """The arguments of a call; an array of an earlier one's type and shape is that one.

    >>> a, b = np.int8([1, 2]), np.int8([3, 4])
    >>> one_array([a, b, 5])[1] is a
    True
    """
    first: dict[Any, Any] = {}
    return [
        first.setdefault((one.dtype, one.shape), one) if isinstance(one, np.ndarray) else one
        for one in arguments
    ]


def copies(arguments: Sequence[Any], memory: int = 0) -> list[Any]:
    """The arguments of a call, the arrays among them copied, which lie as MEMORIES says.

    Others are as they were.
    """
    found = [laid(one, memory) if isinstance(one, np.ndarray) else one for one in arguments]
    return one_array(found) if memory == ONE_ARRAY else found


def named(memories: Iterable[int]) -> str:
    """Where arrays lie, in words; once what comes several times.

    >>> named([6, 7, 6, 10])
    'read-only arrays, arrays at odd addresses and arrays with a stride of 0'
    """
    *some, last = (MEMORIES[memory] for memory in dict.fromkeys(memories))
    return f"{', '.join(some)} and {last}" if some else last


def wrong_in(memories: Iterable[int]) -> str:
    """That calls are wrong where their arrays lie so, in words.

    >>> wrong_in([6])
    'wrong only in calls with read-only arrays'
    """
    return f"wrong only in calls with {named(memories)}"
