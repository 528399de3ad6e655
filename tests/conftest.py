"""Settings of the whole test suite."""

import functools
import gc
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from environments import ENVIRONMENTS, lacking
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from needs import line_of_not_run, not_run
from shares import Share

from mxref.cases import read
from mxref.cases.parse import parse
from mxref.cases.records import VectorFile

# Derandomised everywhere: a failure on one machine is a failure on every machine.
# Nor does a busy machine make one.
settings.register_profile(
    "ci",
    derandomize=True,
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")
# Some draws are constants of the project's modules that happen to be loaded: here of none.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

# Signals that `nohup` or a shell's `&` ignores: children of this process would ignore them, too.
for number in {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}:
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

# Two processes share the cores: a thread of OpenBLAS that waits for another keeps one busy, and a
# product takes three times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Where no bytecode may lie beside sources, this process and those that tests start share it
# elsewhere: to compile all tests and rewrite their asserts takes longer than to collect them.
if sys.dont_write_bytecode:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    cache = Path(__file__).resolve().parents[1] / ".pytest_cache" / "bytecode"
    prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(cache))
    # A prefix hides the bytecode that packages were installed with, and torchao compiled again
    # warns, which is an error here.
    if importlib.util.find_spec("torch") is None:
        sys.pycache_prefix, sys.dont_write_bytecode = prefix, False


@functools.cache
def parsed(text: str) -> VectorFile:
    """A vector file, parsed once in all tests: most read copies of the same ones."""
    return parse(text, "")


def parse_once(text: str, name: str) -> VectorFile:
    """The vector file of a text; errors are those of `name`."""
    try:
        return parsed(text)
    except read.VectorError:
        return parse(text, name)


read.parse = parse_once

#: Tests of the environment `current`, and in the folder `older` those of that one.
PEERS = Path(__file__).resolve().parent / "peers"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete", action="store_true", help="all of what the test command has a fixed part of"
    )
    parser.addoption(
        "--rest", action="store_true", help="as --complete, without what the test command has whole"
    )
    parser.addoption(
        "--peers",
        choices=ENVIRONMENTS,
        help="also those of tests/peers that are of this environment of tools/environments.py",
    )
    parser.addoption(
        "--update",
        action="store_true",
        help="write the reports of tests/snapshots and the table of docs/check.md anew",
    )


def is_of(path: Path, environment: str | None) -> bool:
    """Whether a file or folder has tests that run in an environment of peers, or in none."""
    if path == PEERS or PEERS not in path.parents:
        return path != PEERS or environment is not None
    return ("older" if path.relative_to(PEERS).parts[0] == "older" else "current") == environment


class Examples:
    """Looks for examples in the files alone that have some."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> object:
        found, some = (yield), b">>>" in file_path.read_bytes()
        return [one for one in found if some or type(one).__name__ != "DoctestModule"]


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what is named and another environment's: pytest does not ask about what it was given.

    In CI, the environment must be what it is called, too.
    """
    config.pluginmanager.register(Examples())
    environment = config.getoption("--peers")
    for arg in config.args:
        if not is_of(Path(arg.partition("::")[0]).resolve(), environment):
            raise pytest.UsageError(f"{arg} must be run with --peers and its environment")
    if environment:  # torch waits for whoever else compiles an extension of the same name
        os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(Path(sys.prefix, "torch_extensions")))
        # Its threads wait for each other, too, and keep the cores busy with it: beside other
        # programs the products of MMA-Sim take twelve times as long as in one.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    if environment and os.environ.get("MXREF_REQUIRE_TOOLS") and (absent := lacking(environment)):
        raise pytest.UsageError(
            f"MXREF_REQUIRE_TOOLS is set, and {sys.prefix} must be what tools/environments.py "
            f"makes of {environment}: it lacks {', '.join(absent)}"
        )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests of peers of other environments; None lets others decide."""
    return None if is_of(collection_path, config.getoption("--peers")) else True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what begins after MXREF_UNTIL, seconds since 1970, when the time of CI is over."""
    if time.time() > float(os.environ.get("MXREF_UNTIL", "inf")):
        not_run("for want of time")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what no package brings."""
    reports = terminalreporter.stats.get("skipped", ())
    if line := line_of_not_run(str(report.longrepr[-1]) for report in reports):
        terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among tests, which all stay: neither now nor while they run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_finish() -> None:
    """From here on no bytecode: targets that tests write again are read from their source."""
    sys.dont_write_bytecode = True


def share_of(config: pytest.Config) -> Share:
    """The part that every run has; all of it with --complete."""
    return Share(complete=config.getoption("--complete") or config.getoption("--rest"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only --complete has, unless it is named; with --rest what all runs have.

    Tests that take `share` stay: they have more to do if it is complete.
    """
    if any("::" in arg for arg in config.args):
        return
    marked = [(item, mark) for item in items if (mark := item.get_closest_marker("sampled"))]
    tests = [(item.nodeid.partition("[")[0], mark.args[0]) for item, mark in marked]
    left_out = share_of(config).left_out(tests)
    if config.getoption("--rest"):
        whole = {i for i, (item, _) in enumerate(marked) if "share" not in item.fixturenames}
        left_out = sorted(whole - {*Share(complete=False).left_out(tests)})
    others = dict.fromkeys(marked[place][0] for place in left_out)
    if others:
        config.hook.pytest_deselected(items=[*others])
        items[:] = [item for item in items if item not in others]


@pytest.fixture(scope="session")
def share(pytestconfig: pytest.Config) -> Share:
    """Which share of the complete product runs."""
    return share_of(pytestconfig)
