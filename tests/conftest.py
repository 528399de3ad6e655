"""Settings of the whole test suite."""

import datetime
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Derandomised everywhere: a failure on one machine is a failure on every machine.
settings.register_profile("ci", derandomize=True, max_examples=200, deadline=None)
settings.load_profile("ci")
# Some draws are constants of the project's modules that happen to be loaded: here of none.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

PEERS = Path(__file__).resolve().parent / "peers"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="every 16-bit float x format x rounding x overflow, not only today's share",
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


@pytest.fixture(scope="session")
def share(pytestconfig: pytest.Config) -> int | None:
    """Which of seven shares of the complete product runs today; None for all of it."""
    if pytestconfig.getoption("--complete"):
        return None
    return datetime.date.today().toordinal() % 7
