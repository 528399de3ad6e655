"""The parts of a sweep, done by this process, by several, or by an executor."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from functools import partial

from mxref.conformance.sweeping.plan import Plan, Source, SweepPart
from mxref.support.workers import in_flight, processes
from mxref.targets.target import TargetError

__all__ = ["parts_done"]

#: Assumed number of threads of an executor that does not tell it.
_MANY = 16


def parts_done(
    plans: Sequence[Plan],
    source: Source,
    work: Callable[[Plan, int], SweepPart],
    tasks: Sequence[tuple[int, int]],
    jobs: int,
    executor: Executor | None,
) -> Generator[SweepPart, None, None]:
    """The parts of a sweep, in the order of their tasks.

    Args:
        plans: the plans.
        source: from which other processes load the target.
        work: does a part.
        tasks: for each part the index of its plan, and its first input.
        jobs: number of processes.
        executor: works instead of processes.

    Raises:
        ValueError: other processes cannot load the source.
        TargetError: a process has ended, or an executor has cancelled a part.
    """
    from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor

    if executor is None and (jobs == 1 or len(tasks) < 2):
        yield from (work(plans[index], first) for index, first in tasks)
        return
    if not isinstance(executor, ThreadPoolExecutor):
        pickled = _pickled(source)
        plans = [dataclasses.replace(plan, source=pickled) for plan in plans]
    calls = (partial(work, plans[index], first) for index, first in tasks)
    ahead = 4 * jobs
    try:
        if executor is not None:
            ahead = 4 * max(jobs, getattr(executor, "_max_workers", _MANY))
            yield from in_flight(executor, _called, calls, ahead)
            return
        with processes(min(jobs, len(tasks))) as pool:
            yield from in_flight(pool, _called, calls, ahead)
    except BrokenExecutor:
        raise TargetError(
            "a process of the sweep has ended: the target has crashed it, or memory was short"
        ) from None
    except CancelledError:
        raise TargetError(
            "a part of the sweep was cancelled: its workers, or their scheduler, are gone"
        ) from None


def _called(call: Callable[[], SweepPart]) -> SweepPart:
    return call()


def _pickled(source: Source) -> bytes:
    try:
        return pickle.dumps(source)
    except Exception as error:
        raise ValueError(
            "source must be what other processes can load, such as "
            f"functools.partial(load_target, 'my_kernel.py'): {error}"
        ) from None
