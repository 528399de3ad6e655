"""Several processes: the same bytes in the same order as one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mxref import golden
from mxref.golden import regen
from mxref.golden.vector_cases import file_tasks
from mxref.support.workers import cores, in_flight, in_order


@pytest.mark.sampled(0)
def test_two_workers_build_the_bytes_that_one_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    # A share of all files (the whole set: `mxref regen --check` with --jobs 1 and 2), in which
    # there are quick and slow ones, and ones with and without a part in the C header.
    some = list(file_tasks())[::9]
    monkeypatch.setattr(regen, "file_tasks", lambda: some)
    one, two = golden.build(1), golden.build(2)
    assert list(one) == list(two)
    assert one == two
    # Beside them the schema, the thresholds of six formats, the C header and the manifest.
    assert len(one) == 2 * len(some) + 9


@pytest.mark.sampled(6)
def test_results_come_in_the_order_of_the_tasks() -> None:
    delays = [0.2, 0.0, 0.1, 0.0]
    assert list(in_order(_slept, delays, 2)) == delays


def _slept(delay: float) -> float:
    time.sleep(delay)
    return delay


def test_some_tasks_are_in_flight_and_results_in_order() -> None:
    given: list[float] = []

    def delays() -> Iterator[float]:
        for delay in [0.2, 0.0, 0.1, 0.0, 0.0, 0.0]:
            given.append(delay)
            yield delay

    with ThreadPoolExecutor(2) as pool:
        results = in_flight(pool, _slept, delays(), 2)
        assert next(results) == 0.2
        assert len(given) == 3  # the one that is done and two more
        assert list(results) == [0.0, 0.1, 0.0, 0.0, 0.0]


def test_what_is_waited_for_is_cancelled_with_the_rest() -> None:
    class Waiting(Executor):
        def __init__(self) -> None:
            self.futures: list[Future[Any]] = []

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            self.futures.append(Interrupted())
            return self.futures[-1]

    class Interrupted(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            raise KeyboardInterrupt

    executor = Waiting()
    with pytest.raises(KeyboardInterrupt):
        list(in_flight(executor, abs, range(9), 2))
    assert [future.cancelled() for future in executor.futures] == [True] * 3


@pytest.mark.parametrize(("times", "is_done"), [(3, True), (4, False)])
def test_what_others_cancel_is_submitted_again(times: int, *, is_done: bool) -> None:
    class Cancelling(Executor):
        left = times

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            future: Future[Any] = Future()
            if args == (-2,) and self.left:
                self.left -= 1
                future.cancel()
            else:
                future.set_result(fn(*args))
            return future

    results = in_flight(Cancelling(), abs, [-1, -2, -3], 1)
    if is_done:
        assert list(results) == [1, 2, 3]
    else:
        assert next(results) == 1
        with pytest.raises(CancelledError):
            next(results)


@pytest.mark.sampled(6)
def test_work_is_done_by_other_processes() -> None:
    assert set(in_order(_process, range(4), 1)) == {os.getpid()}
    assert os.getpid() not in set(in_order(_process, range(4), 2))


def test_a_killed_process_leaves_no_warning(tmp_path: Path) -> None:
    text = """if True:
        import os, signal
        from mxref.support.workers import processes
        if __name__ == "__main__":
            with processes(2) as pool:
                list(pool.map(abs, [1, 2]))
                os.kill(os.getpid(), signal.SIGKILL)
    """
    (tmp_path / "killed.py").write_text(text)
    run = subprocess.run(
        [sys.executable, "killed.py"], cwd=tmp_path, capture_output=True, check=False
    )
    assert (run.returncode, run.stderr) == (-signal.SIGKILL, b"")


def _process(_: int) -> int:
    return os.getpid()


def test_jobs_are_one_or_more() -> None:
    assert cores() >= 1
    with pytest.raises(ValueError, match="jobs must be 1 or more, got 0"):
        list(in_order(abs, [1], 0))
