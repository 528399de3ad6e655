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
        other: makes arguments of the same shapes.

    >>> list(results_kept(lambda x: x + 1, lambda: [np.array([1])], lambda: [np.array([5])]))
    [array([2]), array([6])]
    """
    try:
        held = call(*one())
        call(*other())
        yield held
        arguments = one()
        call(*arguments)
        yield call(*map(_overwritten, arguments, other()))
    except BaseException as error:
        if not is_fault(error):
            raise


def _overwritten(mine: Any, new: Any) -> Any:
    """An array with the numbers of another one; what is no array is replaced."""
    if not isinstance(mine, np.ndarray):
        return new
    mine[...] = new
    return mine
