"""The same array in other memory, and calls whose results or arrays share memory with others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.targets.array_libraries import at_offset
from mxref.targets.calls import is_fault
from mxref.targets.layout_calls import strided

__all__ = ["KEPT", "MEMORIES", "laid", "results_kept"]

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
#: What is wrong if a result of `results_kept` is, in its order.
KEPT = (
    "the result of a call is overwritten by the next call",
    "an array changed in place gives the answers to what it was before",
)


def laid(array: NDArray[Any], memory: int) -> NDArray[Any]:
    """A copy of an array of one axis or more that lies in memory as MEMORIES says.

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
    moved = strided(bits if bits.ndim > 1 else bits[np.newaxis], memory - 2, filler)
    found: NDArray[Any] = (moved if bits.ndim > 1 else moved[0]).view(array.dtype)
    return found


def _put(mine: object, new: object) -> object:
    """An array with other numbers put in it; what is no array, or has another shape, is new."""
    if isinstance(mine, np.ndarray) and isinstance(new, np.ndarray) and mine.shape == new.shape:
        mine[...] = new
        return mine
    return new


def results_kept(
    call: Callable[..., object],
    one: Callable[[], Sequence[Any]],
    other: Callable[[], Sequence[Any]],
) -> Iterator[object]:
    """A result after the next call, and that of arrays in which other numbers were put.

    The first answers `one`, the second `other`. No more of them once the target raises.

    Args:
        call: the target's function.
        one: makes arguments of a call, in arrays of their own.
        other: makes other arguments; arrays of another shape are given as they are.

    >>> list(results_kept(lambda x: x + 1, lambda: [np.array([1])], lambda: [np.array([5])]))
    [array([2]), array([6])]
    """
    try:
        held = call(*one())
        call(*other())
        yield held
        arguments = one()
        call(*arguments)
        given = [_put(mine, new) for mine, new in zip(arguments, other(), strict=True)]
        yield call(*given)
    except BaseException as error:
        if not is_fault(error):
            raise
