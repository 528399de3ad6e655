"""Parts of a task on several threads: NumPy lets go of the interpreter while it computes."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mxref._bits import CHUNK

__all__ = ["for_each", "in_chunks", "thread_count"]

_Part = TypeVar("_Part")
_VARIABLE = "MXREF_THREADS"


def thread_count(threads: int | None) -> int:
    """How many threads a call takes: the argument, or MXREF_THREADS, or one.

    Raises:
        TypeError: threads is no integer.
        ValueError: a number below 1, or a MXREF_THREADS that is no number.

    >>> thread_count(2)
    2
    """
    if threads is None:
        text = os.environ.get(_VARIABLE, "") or "1"
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"{_VARIABLE} must be a number from 1 on, got {text!r}")
        return int(text)
    try:
        count = operator.index(threads)
    except TypeError:
        what = type(threads).__name__
        raise TypeError(f"threads must be an integer, got {what}") from None
    if count < 1:
        raise ValueError(f"threads must be at least 1, got {count}")
    return count


def for_each(work: Callable[[_Part], None], parts: Iterable[_Part], threads: int) -> None:
    """Do the work for each part, on so many threads; what one of them raises is raised here."""
    if threads == 1:
        for part in parts:
            work(part)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, parts):
            pass


def in_chunks(
    work: Callable[..., None], threads: int | None, target: NDArray[Any], *sources: NDArray[Any]
) -> None:
    """Do ``work(target, *sources)`` for parts of arrays of one shape, flat, of CHUNK at most.

    Args:
        work: writes to the part of the target.
        threads: as `thread_count` takes it.
        target: a C-contiguous array, whose parts are views.
        sources: read; parts of one that is not C-contiguous are copies.
    """
    count = thread_count(threads)
    arrays = (target, *sources)
    if all(array.flags.c_contiguous for array in sources):
        arrays = tuple(array.reshape(-1) for array in arrays)

    def some(where: tuple[int | slice, ...]) -> None:
        work(*(array[where].reshape(-1) for array in arrays))

    for_each(some, _chunks(arrays[0].shape), count if target.size > CHUNK else 1)


def _chunks(shape: tuple[int, ...]) -> Iterator[tuple[int | slice, ...]]:
    """Indices of parts that follow each other in memory, with CHUNK elements at most."""
    axis, inner = len(shape), 1
    while axis and inner * shape[axis - 1] <= CHUNK:
        axis -= 1
        inner *= shape[axis]
    if not axis:
        yield ()
        return
    step = CHUNK // inner
    for outer in np.ndindex(shape[: axis - 1]):
        for start in range(0, shape[axis - 1], step):
            yield (*outer, slice(start, start + step))
