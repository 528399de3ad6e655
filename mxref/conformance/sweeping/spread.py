"""Who works on the parts of a sweep: this process, others, or any executor, such as Dask's."""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from mxref._text import one_line
from mxref._version import __version__
from mxref.conformance.sweeping.plan import Part, Plan, Source
from mxref.conformance.target import TargetError
from mxref.golden.workers import in_flight, processes

__all__ = ["dask_cluster", "parts_done"]

#: Seconds in which a scheduler must answer, and have a worker.
_ANSWER = 10.0
#: How many threads an executor has that does not say it.
_MANY = 16


def parts_done(
    plans: Sequence[Plan],
    source: Source,
    work: Callable[[Plan, int], Part],
    tasks: Sequence[tuple[int, int]],
    jobs: int,
    executor: Executor | None,
) -> Generator[Part, None, None]:
    """The parts, in the order of their tasks, by whoever works.

    Args:
        plans: the plans.
        source: what other processes load the target from.
        work: what does a part.
        tasks: for each part which plan it is of, and where it begins.
        jobs: how many processes.
        executor: who works instead.

    Raises:
        ValueError: other processes cannot load the source.
        TargetError: a process has ended, or an executor has dropped a part.
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
            "a part of the sweep was dropped by who worked on it: its workers have ended"
        ) from None


def _called(call: Callable[[], Part]) -> Part:
    return call()


def _pickled(source: Source) -> bytes:
    try:
        return pickle.dumps(source)
    except Exception as error:
        raise ValueError(
            "source must be what other processes can load, such as "
            f"functools.partial(load_target, 'my_kernel.py'): {error}"
        ) from None


@contextlib.contextmanager
def dask_cluster(address: str, timeout: float = _ANSWER) -> Iterator[tuple[Executor, int]]:
    """An executor of a Dask cluster, and how many parts its workers do at once.

    A worker that is lost is no loss: the scheduler gives its parts to others.

    Args:
        address: of the scheduler, such as ``tcp://127.0.0.1:8786``.
        timeout: seconds in which it must answer and have a worker.

    Raises:
        ValueError: Dask is not installed, nobody answers, or workers have another mxref.
        TargetError: the target has ended several workers, or the scheduler has ended.
    """
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError:
        raise ValueError(
            "a Dask cluster needs the package distributed: pip install 'mxref[dask]'"
        ) from None
    wanted = f"a Dask scheduler must answer at {address} and have a worker within {timeout:g} s"
    with contextlib.ExitStack() as until_done:
        try:
            client: Any = Client(address, timeout=timeout, set_as_default=False)  # type: ignore[no-untyped-call]
            until_done.enter_context(client)
            client.wait_for_workers(1, timeout=timeout)
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"{wanted}: {one_line(str(error))}") from None
        try:
            others = {name: v for name, v in client.run(_version).items() if v != __version__}
        except ImportError as error:
            raise ValueError(f"workers must have mxref {__version__}: {error}") from None
        for worker, version in others.items():
            raise ValueError(f"workers must have mxref {__version__}, got {version} at {worker}")
        try:
            yield client.get_executor(), sum(client.nthreads().values())
        except KilledWorker as error:
            raise TargetError(f"workers of the sweep have ended: {one_line(str(error))}") from None
        except CommClosedError as error:
            raise TargetError(f"the scheduler has ended: {one_line(str(error))}") from None


def _version() -> str:
    return __version__
