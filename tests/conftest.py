"""Settings of the whole test suite."""

import functools
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from shares import Part, Share

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

PEERS = Path(__file__).resolve().parent / "peers"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="everything that a run has a share of, not only share MXREF_SHARE (an integer; 0)",
    )
    parser.addoption(
        "--part",
        type=Part.of,
        default=Part(0, 1),
        help="I/N: of all tests selected those at I, I + N and so on; 0/N to N-1/N are all of them",
    )
    parser.addoption(
        "--peers",
        action="store_true",
        help="also tests/peers, with the extra `peers` and g++; a missing peer is an error",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse tests/peers by name without --peers: pytest does not ask about what it was given."""
    named = [Path(arg.partition("::")[0]).resolve() for arg in config.args]
    if any(PEERS in (path, *path.parents) for path in named) and not config.getoption("--peers"):
        raise pytest.UsageError("tests/peers must be run with --peers and the extra `peers`")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave tests/peers out without --peers; None lets others decide."""
    return True if collection_path == PEERS and not config.getoption("--peers") else None


def pytest_collection_finish() -> None:
    """From here on no bytecode: targets that tests write again are read from their source."""
    sys.dont_write_bytecode = True


def share_of(config: pytest.Config) -> Share:
    """The share that the environment names; all of it with --complete."""
    return Share(None if config.getoption("--complete") else int(os.environ.get("MXREF_SHARE", 0)))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Leave out what other shares have, unless it is named; and then what other parts have."""
    if not any("::" in arg for arg in config.args):
        marked = [(item, mark) for item in items if (mark := item.get_closest_marker("sampled"))]
        tests = [(item.nodeid.partition("[")[0], mark.args[0]) for item, mark in marked]
        leave_out(config, items, [marked[place][0] for place in share_of(config).left_out(tests)])
    yield
    part: Part = config.getoption("--part")
    leave_out(config, items, [item for i, item in enumerate(items) if not part.takes(i)])


def leave_out(config: pytest.Config, items: list[pytest.Item], others: list[pytest.Item]) -> None:
    """Deselect the others of all items."""
    if others:
        config.hook.pytest_deselected(items=others)
        places = {id(item) for item in others}
        items[:] = [item for item in items if id(item) not in places]


@pytest.fixture(scope="session")
def share(pytestconfig: pytest.Config) -> Share:
    """Which share of the complete product runs."""
    return share_of(pytestconfig)
