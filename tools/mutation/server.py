"""The pytest plugin of tools/mutate.py: a map of what tests execute, or a server of mutants.

With MUTATE_MAP=FILE the tests run once, and FILE gets, as JSON, the seconds of each test and which
tests execute a line. With MUTATE_PIPES=IN,OUT (numbers of open files) nothing runs by itself: when
all tests are collected, each line of IN is a job, and OUT gets a line with its answer. A job is
tried in a fork of the process, so that no test and no cache knows of another mutant.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from mutation.planting import Living

SLACK = 20.0  # seconds of CPU that a test has beside five times what it took in the map
PATIENCE = 120.0  # seconds of waiting, likewise


def seconds() -> list[float]:
    """The CPU time of this process, and of the children that it has waited for."""
    return [
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]


class Recorder:
    """Writes the map: CPU seconds of each test and of its children, lines, caches."""

    def __init__(self) -> None:
        module = importlib.import_module("coverage")
        self.coverage = module.Coverage(data_file=None, include=[f"{Path.cwd()}/mxref/*"])
        self.coverage.start()
        self.begin = seconds()
        self.tests: dict[str, list[float]] = {}
        self.failed: set[str] = set()
        self.caches: list[Any] = []
        self.counts: list[Any] = []
        self.filled: dict[int, list[str]] = defaultdict(list)
        self.used: dict[int, list[str]] = defaultdict(list)

    def pytest_collection_finish(self) -> None:
        """From here on caches are watched: a test may use what another one has computed."""
        self.caches = Living(Path.cwd()).caches

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """From here on this test executes the lines."""
        self.coverage.switch_context(nodeid)
        self.counts = [cache.cache_info() for cache in self.caches]
        self.begin = seconds()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails without any mutant says nothing of one."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Keep what the test took, and which caches it filled and used."""
        self.tests[nodeid] = [end - begin for end, begin in zip(seconds(), self.begin, strict=True)]
        for place, (cache, count) in enumerate(zip(self.caches, self.counts, strict=True)):
            now = cache.cache_info()
            if now.misses > count.misses:
                self.filled[place].append(nodeid)
            elif now.hits > count.hits:
                self.used[place].append(nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the map."""
        self.coverage.stop()
        data = self.coverage.get_data()
        place = {name: index for index, name in enumerate(self.tests)}
        lines: dict[str, dict[int, list[int]]] = {}
        for file in data.measured_files():
            lines[str(Path(file).relative_to(Path.cwd()))] = {
                line: sorted(place.get(name, -1) for name in names)  # -1: import and collection
                for line, names in data.contexts_by_lineno(file).items()
            }
        caches = [[self.filled[place], self.used[place]] for place in sorted(self.used)]
        found: dict[str, Any] = {"tests": self.tests, "failed": sorted(self.failed)}
        found |= {"lines": lines, "caches": caches}
        Path(os.environ["MUTATE_MAP"]).write_text(json.dumps(found))


class Server:
    """Answers jobs, each in a fork."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the reports of the test that runs."""
        self.reports.append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer one line after the other, instead of the tests."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        if session.testsfailed:
            raise session.Interrupted("modules that cannot be imported")
        items = {item.nodeid: item for item in session.items}
        living = Living(Path.cwd())
        gc.collect()
        gc.freeze()  # forks leave these objects where they are
        jobs, answers = map(int, os.environ["MUTATE_PIPES"].split(","))
        with open(jobs) as lines, open(answers, "w") as out:
            print("ready", file=out, flush=True)
            for line in lines:
                print(
                    json.dumps(self.answer(items, living, json.loads(line))), file=out, flush=True
                )
        return True

    def answer(self, items: dict[str, pytest.Item], living: Living, job: Any) -> Any:
        """The end of a job: outcome, the test that decided, how many ran, CPU seconds."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            os.close(reader)
            try:
                self.attempt(items, living, job, writer)
            except BaseException as error:
                os.write(writer, f"killed {type(error).__name__}\n".encode())
            finally:
                os._exit(0)
        os.close(writer)
        said, late = b"", False
        while not late:
            late = not select.select([reader], [], [], PATIENCE + 5 * job["longest"])[0]
            if not late and not (more := os.read(reader, 1 << 16)):
                break
            said += b"" if late else more
            if said.splitlines()[-1].startswith((b"survived", b"killed")):
                break  # not waiting for processes that a test left behind
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        _, status, used = os.wait4(pid, 0)
        lines = said.decode().splitlines()
        ran = [line.removeprefix("run ") for line in lines if line.startswith("run ")]
        if lines and lines[-1] == "survived":
            outcome = "survived"
        elif late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF):
            outcome = "timeout"
        else:  # by a test that failed or ended the process; before the first it is an error here
            outcome = "killed" if ran else "error"
        why = lines[-1] if lines and lines[-1].startswith("killed") else f"status {status}"
        test = "" if outcome == "survived" else f"{ran[-1] if ran else ''} {why}"
        test = test.removesuffix(" killed")
        return {"outcome": outcome, "test": test, "ran": len(ran), "cpu": sum(used[:2])}

    def attempt(self, items: dict[str, pytest.Item], living: Living, job: Any, writer: int) -> None:
        """Plant the mutant, run the tests until one fails; each step is written to a pipe."""
        if "new" in job:  # else it was there before the process
            living.plant(Path.cwd() / job["file"], job["old"], job["new"])
        tests = [(items[name], limit) for name, limit in job["tests"] if name in items]
        followers = [item for item, _ in tests[1:]] + [None]
        for (item, limit), follower in zip(tests, followers, strict=False):
            os.write(writer, f"run {item.nodeid}\n".encode())
            signal.setitimer(signal.ITIMER_PROF, SLACK + 5 * limit)
            self.reports.clear()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=follower)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if any(report.failed for report in self.reports):
                os.write(writer, b"killed\n")
                return
        os.write(writer, b"survived\n")


RECORDER = Recorder() if "MUTATE_MAP" in os.environ else None


def pytest_configure(config: pytest.Config) -> None:
    """Register what is asked for; a mutant may not take all memory."""
    signal.setitimer(signal.ITIMER_PROF, 0 if RECORDER else 5 * SLACK)  # to collect the tests
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if RECORDER is not None:
        config.pluginmanager.register(RECORDER)
    if "MUTATE_PIPES" in os.environ:
        config.pluginmanager.register(Server())
