"""Work over several processes, results in order, so that they do not depend on how many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["cores", "in_order"]

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(work: Callable[[T], R], tasks: Iterable[T], jobs: int) -> Iterator[R]:
    """The results of tasks, in their order; with one job without any other process.

    Args:
        work: a function of a module, so that other processes find it.
        tasks: its arguments.
        jobs: how many processes, from 1.

    >>> list(in_order(abs, [-2, 1], 1))
    [2, 1]

    Raises:
        ValueError: jobs below 1.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be 1 or more, got {jobs}: leave it out for one per processor")
    if jobs == 1:
        yield from map(work, tasks)
        return
    # Imported here: it would double the time that the command line takes to start.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Fresh processes: a copy of this one may hold locks of threads that it does not have.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as pool:
        try:
            yield from pool.map(work, tasks)
        finally:
            pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this worker when its parent has ended, killed ones included, instead of waiting on."""
    import multiprocessing
    import threading

    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    from multiprocessing.connection import wait

    wait([sentinel])
    os._exit(1)
