"""Parts of arrays on several threads: NumPy releases the interpreter's lock while it computes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mxref.support.integers import integer

_Part = TypeVar("_Part")
_VARIABLE = "MXREF_THREADS"
#: Elements per chunk: intermediate arrays stay in the cache.
CHUNK = 1 << 15
#: Elements of a chunk whose only step is a table lookup: without intermediate arrays it may be
#: larger, and fewer calls are made.
TILE = 1 << 18
#: Elements of a part if several threads share the array.
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
        text = os.environ.get(_VARIABLE)
        if not text:
            return 1
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"{_VARIABLE} must be a number from 1 on, got {text!r}")
        return int(text)
    count = integer(threads, "threads")
    if count < 1:
        raise ValueError(f"threads must be at least 1, got {count}")
    return count


def part_size(usual: int, total: int, threads: int) -> int:
    """Elements of a part: `usual` for one thread, more for several.

    A thread releases the interpreter's lock in each call of NumPy and waits to get it back, which
    takes as long as a short call. Measured with two threads of `encode`: parts of 2**15 elements
    gain nothing, parts of 2**18 take little more than half of the time.

    >>> part_size(1 << 15, 1 << 24, 2) == 1 << 18
    True
    """
    if threads == 1:
        return usual
    return max(CHUNK, min(_SHARED, total // threads))


def for_each(work: Callable[[_Part], None], parts: Iterable[_Part], threads: int) -> None:
    """Call `work` for each part on several threads; raise the error of the first part that fails.

    The calling thread is one of them. A thread pool is slower: it makes an object with locks for
    each part, and meanwhile the others wait for the interpreter's lock.
    """
    if threads == 1:
        for part in parts:
            work(part)
        return
    tasks = list(parts)
    waiting = iter(range(len(tasks)))
    lock = threading.Lock()
    errors: list[tuple[int, BaseException]] = []

    def run() -> None:
        index: int | None = 0
        try:
            while not errors:
                with lock:
                    index = next(waiting, None)
                if index is None:
                    return
                work(tasks[index])
        except BaseException as error:  # a KeyboardInterrupt stops the others, too
            errors.append((index or 0, error))

    others = [threading.Thread(target=run) for _ in range(min(threads, len(tasks)) - 1)]
    for other in others:
        other.start()
    run()
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
    """Call ``work(target, *sources)`` for flat parts of arrays of one shape.

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
    if target.size > step:
        for_each(some, _chunks(arrays[0].shape, step), count)
    else:
        some(())


def _chunks(shape: tuple[int, ...], size: int) -> Iterator[tuple[int | slice, ...]]:
    """Indices of contiguous parts with at most `size` elements, in the order of memory."""
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
