"""Work on several processes, with results in the order of the tasks."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

T = TypeVar("T")
R = TypeVar("R")

#: Times that a cancelled future is submitted again.
_AGAIN = 3


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
    with processes(jobs) as pool:
        yield from pool.map(work, tasks)


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """An executor of new processes, which end with this one and then drop waiting tasks."""
    # Imported here: it would double the time that the command line takes to start.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    _silent_tracker()
    # Fresh processes: a copy of this one may hold locks of threads that it does not have.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as pool:
        others = multiprocessing.active_children()
        try:
            yield pool
        except KeyboardInterrupt:  # the workers may not have got the signal
            for worker in multiprocessing.active_children():
                if worker not in others:
                    worker.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _silent_tracker() -> None:
    """Start Python's own process that removes semaphores, so that it warns of none.

    It does so when this process is killed, long after the command has ended.
    """
    from multiprocessing import resource_tracker

    name, value = "PYTHONWARNINGS", os.environ.get("PYTHONWARNINGS")
    os.environ[name] = "ignore"
    try:
        resource_tracker.ensure_running()
    finally:
        del os.environ[name]
        if value is not None:
            os.environ[name] = value


def in_flight(
    executor: Executor, work: Callable[[T], R], tasks: Iterable[T], ahead: int
) -> Iterator[R]:
    """The results of any number of tasks, in their order; only a few are submitted in advance.

    A future that was cancelled from outside is submitted again, three times at most.

    Args:
        executor: runs the tasks.
        work: a function that the executor can call.
        tasks: its arguments.
        ahead: how many tasks are submitted before their results are taken.
    """
    from concurrent.futures import CancelledError  # slow to import

    waiting: deque[tuple[T, Future[R]]] = deque()

    def first() -> R:
        for left in reversed(range(_AGAIN + 1)):
            task, future = waiting[0]
            try:
                result = future.result()
                break
            except CancelledError:
                if not left:
                    raise
                waiting[0] = task, executor.submit(work, task)
        waiting.popleft()  # only now: it can be cancelled while this waits
        return result

    try:
        for task in tasks:
            waiting.append((task, executor.submit(work, task)))
            if len(waiting) > ahead:
                yield first()
        while waiting:
            yield first()
    finally:
        for _, future in waiting:
            future.cancel()


def _end_with_parent() -> None:
    """End this worker when its parent ends, even if the parent is killed."""
    import multiprocessing
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    from multiprocessing.connection import wait

    wait([sentinel])
    os._exit(1)
