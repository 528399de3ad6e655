"""The workers of a Dask cluster as an executor that gives up when they are gone."""

from __future__ import annotations

import asyncio
import contextlib
import pkgutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor
from typing import Any

from mxref._version import __version__
from mxref.support.extras import missing_packages
from mxref.support.text import one_line
from mxref.targets.target import TargetError

__all__ = ["dask_cluster"]

#: Seconds in which a scheduler must answer and have a worker.
_ANSWER = 10.0
#: Seconds for which all workers may be away, such as during a restart.
_AWAY = 30.0
#: Seconds between two looks at whether workers are left, while waiting for a part.
_POLL = 5.0


@contextlib.contextmanager
def dask_cluster(
    address: str, timeout: float = _ANSWER, away: float = _AWAY
) -> Iterator[tuple[Executor, int]]:
    """An executor of a Dask cluster, and the number of parts that its workers do at once.

    The work of a lost worker is done by another one.

    Args:
        address: of the scheduler, such as ``tcp://127.0.0.1:8786``.
        timeout: seconds in which it must answer and have a worker.
        away: seconds without a worker after which the sweep gives up.

    Raises:
        ValueError: Dask is not installed, nobody answers, or workers have another mxref.
        TargetError: a part has ended several workers, or the scheduler is gone.
    """
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.addressing import get_address_host_port
        from distributed.comm.core import CommClosedError
    except ImportError:
        raise ValueError(missing_packages("a Dask cluster", "dask", "distributed")) from None
    wanted = f"a Dask scheduler must answer at {address} and have a worker within {timeout:g} s"
    with contextlib.ExitStack() as until_done:
        try:
            _greeting(address, get_address_host_port(address), timeout)
            client: Any = Client(address, timeout=timeout, set_as_default=False)  # type: ignore[no-untyped-call]
            until_done.enter_context(client)
            client.wait_for_workers(1, timeout=timeout)
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"{wanted}: {one_line(str(error))}") from None
        must = f"workers of {address} must have mxref {__version__}"
        try:
            versions = client.run(pkgutil.resolve_name, "mxref._version:__version__")
        except ImportError as error:
            raise ValueError(f"{must}: {error}") from None
        if set(versions.values()) != {__version__}:
            raise ValueError(f"{must}, got {', '.join(sorted(set(versions.values())))}")
        executor, over = _Workers(client, _POLL), threading.Event()
        watch = threading.Thread(target=_watch, args=(client, executor, over, away), daemon=True)
        watch.start()
        until_done.callback(over.set)
        try:
            yield executor, sum(client.nthreads().values())
        except KilledWorker as error:
            raise TargetError(f"workers of the sweep have ended: {one_line(str(error))}") from None
        except CommClosedError as error:
            raise TargetError(f"{address} has gone: {one_line(str(error))}") from None


def _greeting(address: str, place: tuple[str, int], timeout: float) -> None:
    """Wait for a scheduler's first byte; a Dask client would wait without a time limit."""
    with socket.create_connection(place, timeout) as connection:
        if not address.startswith("tls:") and not connection.recv(1):
            raise OSError("the connection was closed")


class _Workers(Executor):
    """The workers of a client, as an executor that another thread can give up.

    The futures of ``client.get_executor()`` stay pending for ever if another one is cancelled while
    their results are fetched together.
    """

    def __init__(self, client: Any, poll: float) -> None:
        self.client, self.poll, self.are_gone = client, poll, False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if self.are_gone:
            raise CancelledError
        try:
            return _Future(self, self.client.submit(fn, *args, pure=False, **kwargs))
        except Exception:  # of different kinds in versions of Dask
            if self.client.status != "closed":
                raise
            raise CancelledError from None


class _Future:
    """A future for a sweep; Dask's own would wait for ever once the client is closed."""

    def __init__(self, workers: _Workers, future: Any) -> None:
        self.workers, self.future = workers, future

    def result(self) -> Any:
        while not self.workers.are_gone:
            with contextlib.suppress(asyncio.TimeoutError):
                return self.future.result(self.workers.poll)
        raise CancelledError

    def cancel(self) -> None:
        with contextlib.suppress(Exception):  # of many kinds, once the scheduler is gone
            self.future.cancel()


def _watch(client: Any, workers: _Workers, over: threading.Event, away: float) -> None:
    """Give up the workers after `away` seconds without any, or without a scheduler."""
    seen = time.monotonic()
    while not over.wait(min(1.0, away / 4)):
        with contextlib.suppress(Exception):  # as above
            if client.nthreads():
                seen = time.monotonic()
        if time.monotonic() - seen > away:
            workers.are_gone = True
            return
