"""Parts of a task on several threads: NumPy lets go of the interpreter while it computes."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHUNK", "TILE", "for_each", "in_chunks", "part_size", "thread_count"]

_Part = TypeVar("_Part")
_VARIABLE = "MXREF_THREADS"
#: Elements per chunk: intermediate arrays stay in the cache.
CHUNK = 1 << 15
#: Elements of a chunk whose only step is a table lookup: fewer calls for the same cache.
TILE = 1 << 17
#: Elements of a part with several threads, if there are enough.
_SHARED = 1 << 18


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


def part_size(usual: int, total: int, threads: int) -> int:
    """Elements of a part: the usual ones, or what is better for several threads.

    A thread gives the interpreter back at each call of NumPy and has to wake up to get it again,
    which takes as long as a short call. Measured with two threads of `encode`: parts of 2**15
    elements gain nothing, parts of 2**18 take little more than half of the time.

    >>> part_size(1 << 15, 1 << 24, 2) == 1 << 18
    True
    """
    if threads == 1:
        return usual
    return max(CHUNK, min(_SHARED, total // threads))


def for_each(work: Callable[[_Part], None], parts: Iterable[_Part], threads: int) -> None:
    """Do the work for each part, on so many threads; what the first of them raises is raised here.

    This thread is one of them. A pool would make an object with locks for each part, which takes
    the interpreter from those who work.
    """
    if threads == 1:
        for part in parts:
            work(part)
        return
    tasks = list(parts)
    waiting = iter(range(len(tasks)))
    lock = threading.Lock()
    errors: list[tuple[int, BaseException]] = []

    def some() -> None:
        index: int | None = 0
        try:
            while not errors:
                with lock:
                    index = next(waiting, None)
                if index is None:
                    return
                work(tasks[index])
        except BaseException as error:  # an interruption, too, stops the others
            errors.append((index or 0, error))

    others = [threading.Thread(target=some) for _ in range(min(threads, len(tasks)) - 1)]
    for other in others:
        other.start()
    some()
    for other in others:
        other.join()
    if errors:
        raise min(errors, key=lambda error: error[0])[1]


def in_chunks(
    work: Callable[..., None],
    threads: int | None,
    target: NDArray[Any],
    *sources: NDArray[Any],
    size: int = CHUNK,
) -> None:
    """Do ``work(target, *sources)`` for parts of arrays of one shape, flat.

    Args:
        work: writes to the part of the target.
        threads: as `thread_count` takes it.
        target: a C-contiguous array, whose parts are views.
        sources: read; parts of one that is not C-contiguous are copies.
        size: elements of a part that one thread takes, at most.
    """
    count = thread_count(threads)
    arrays = (target, *sources)
    if all(array.flags.c_contiguous for array in sources):
        arrays = tuple(array.reshape(-1) for array in arrays)

    def some(where: tuple[int | slice, ...]) -> None:
        work(*(array[where].reshape(-1) for array in arrays))

    step = part_size(size, target.size, count)
    for_each(some, _chunks(arrays[0].shape, step), count if target.size > step else 1)


def _chunks(shape: tuple[int, ...], size: int) -> Iterator[tuple[int | slice, ...]]:
    """Indices of parts that follow each other in memory, with so many elements at most."""
    axis, inner = len(shape), 1
    while axis and inner * shape[axis - 1] <= size:
        axis -= 1
        inner *= shape[axis]
    if not axis:
        yield ()
        return
    step = size // inner
    for outer in np.ndindex(shape[: axis - 1]):
        for start in range(0, shape[axis - 1], step):
            yield (*outer, slice(start, start + step))
