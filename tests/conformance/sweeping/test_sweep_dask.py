"""Sweeps by the workers of a real Dask cluster of two processes, which may be lost on the way."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import PATIENCE, sentence
from sweep_helpers import OWN, PLANTED, findings, parts

from mxref.cli import main
from mxref.conformance import TargetError, load_target
from mxref.conformance.sweeping import cluster
from mxref.conformance.sweeping.cluster import dask_cluster
from mxref.conformance.sweeping.sweep import sweep
from mxref.formats.catalog import CODE_FORMATS

HALVES = PLANTED.replace("5000000 < 1000000", "500 < 100").replace("uint32", "uint16")
CRASHING = PLANTED.replace("return", "os._exit(3)\n    return")
RANGE = parts(12)


@contextmanager
def local_cluster(workers: int, *, allowed_failures: int) -> Iterator[Any]:
    """A cluster in which a part fails that has ended more workers than that."""
    import dask  # which takes longer than to collect all that is in this folder
    from distributed import LocalCluster

    few = {"distributed.scheduler.allowed-failures": allowed_failures}
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.config.set(few), LocalCluster(n_workers=workers, **options) as made:
        yield made


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with local_cluster(2, allowed_failures=1) as workers:
        yield workers.scheduler_address


@pytest.fixture
def address(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The scheduler's address, as soon as both workers are there, after one that a test has ended.

    It has all the time that it needs.
    """
    from distributed import Client

    with Client(scheduler, set_as_default=False, timeout=PATIENCE) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
    monkeypatch.setattr(dask_cluster.__wrapped__, "__defaults__", (PATIENCE, PATIENCE))
    return scheduler


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # where the workers are not
    Path("planted.py").write_text(PLANTED)
    return str(tmp_path / "planted.py")


@pytest.mark.sampled(12)
def test_the_command(address: str, planted: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("planted.py").write_text(HALVES)
    command = ["sweep", "planted.py", "--float", "bf16", "--format", "e2m1"]
    lines = []
    for more in ([], ["--dask", address]):
        assert main([*command, *more]) == 1
        lines.append(capsys.readouterr().out.splitlines())
    assert len(lines[0]) > 2
    assert lines[0][:-1] == lines[1][:-1]
    assert lines[1][-1].startswith(f"FAIL {planted}: encode e2m1 bf16 under ocp: ")
    mode = "class Mode:\n    encode = staticmethod(encode)\n"
    Path("planted.py").write_text(HALVES + mode)
    assert main(["sweep", "planted.py:Mode", *command[2:], "--dask", address]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"FAIL {planted}:Mode: encode e2m1")
    assert main(["sweep", "--float", "bf16", "--dask", address]) == 0
    assert f"0 of {len(CODE_FORMATS) << 16} wrong" in capsys.readouterr().out


@pytest.mark.sampled(0)
def test_a_lost_worker_and_an_interruption_change_nothing(
    address: str, planted: str, tmp_path: Path
) -> None:
    from distributed import Client

    load = partial(load_target, planted)
    alone = sweep(load, "encode", "e2m1", digest=True, **RANGE)
    assert alone.tally.count > 2

    def kill(done: int, total: int, wrong: int) -> None:
        if done == 2:
            with Client(address, set_as_default=False) as client:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    def interrupt(done: int, total: int, wrong: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    state, seen = tmp_path / "state.json", []
    with dask_cluster(address) as (executor, workers):
        by = partial(sweep, load, "encode", "e2m1", executor=executor, jobs=workers, **RANGE)
        assert workers == 2
        assert findings(by(digest=True, progress=kill)) == findings(alone)
        with pytest.raises(KeyboardInterrupt):
            by(state=state, progress=interrupt)
        rest = by(state=state, progress=lambda done, total, wrong: seen.append(done))
    assert seen == list(range(6, 13))
    assert {**findings(rest), "digest": alone.digest} == findings(alone)
    # The executor that Dask itself gives does it, too.
    with Client(address, set_as_default=False) as client:
        assert sweep(OWN, "encode", "e2m1", executor=client.get_executor(), **RANGE).passed


@pytest.mark.sampled(12)
def test_a_part_that_ends_its_workers(planted: str) -> None:
    Path(planted).write_text(CRASHING)
    load = partial(load_target, planted)

    def by_workers() -> None:
        with dask_cluster(made.scheduler_address) as (executor, _):
            sweep(load, "encode", "e2m1", executor=executor, **RANGE)

    with local_cluster(1, allowed_failures=0) as made:
        assert sentence(TargetError, by_workers).startswith("workers of the sweep have ended: ")


@pytest.mark.sampled(12)
def test_workers_with_another_mxref(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    version = cluster.__version__
    monkeypatch.setattr(cluster, "__version__", "0.0")
    said = sentence(ValueError, lambda: dask_cluster(address).__enter__())
    assert said == f"workers of {address} must have mxref 0.0, got {version}"


# --- nobody there ---------------------------------------------------------------------------------


def test_an_address_at_which_nobody_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        said = sentence(ValueError, lambda: dask_cluster(address, timeout=0.3).__enter__())
    wanted = f"a Dask scheduler must answer at {address} and have a worker within "
    assert said.startswith(f"{wanted}0.3 s: ")
    assert main(["sweep", "--float", "bf16", "--dask", address]) == 2  # closed by now
    assert capsys.readouterr().err.startswith(f"mxref: error: {wanted}10 s: ")


def test_dask_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = sentence(ValueError, lambda: dask_cluster("tcp://127.0.0.1:1").__enter__())
    assert said.endswith(
        "distributed: in a checkout of mxref, pip install -e '.[dask]', "
        "elsewhere pip install distributed"
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("scheduler_answers", [True, False])
def test_who_waits_gives_up_when_all_workers_stay_away(*, scheduler_answers: bool) -> None:
    def nthreads() -> dict[str, int]:
        if not scheduler_answers:
            raise OSError("gone")
        return {}

    class Silent:
        def result(self, timeout: float) -> None:
            raise TimeoutError

        def cancel(self) -> None:
            raise OSError("gone")

    client = SimpleNamespace(submit=lambda fn, *, pure: Silent(), nthreads=nthreads)
    workers = cluster._Workers(client, poll=0.01)
    future = workers.submit(abs)
    watch = threading.Thread(target=cluster._watch, args=(client, workers, threading.Event(), 0.1))
    watch.start()
    with pytest.raises(CancelledError):
        future.result()
    watch.join()
    future.cancel()
    with pytest.raises(CancelledError):
        workers.submit(abs)
