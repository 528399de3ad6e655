"""Settings of the whole test suite."""

import datetime
from pathlib import Path

import pytest
from hypothesis import settings

# Derandomised everywhere: a failure on one machine is a failure on every machine.
settings.register_profile("ci", derandomize=True, max_examples=200, deadline=None)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete",
        action="store_true",
        help="every 16-bit float x format x rounding x overflow, not only today's share",
    )
    parser.addoption(
        "--peers",
        action="store_true",
        help="also tests/peers, which needs the extra `peers` and g++; a peer that lacks is an error",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave tests/peers out without --peers; None lets others decide."""
    peers = collection_path == Path(__file__).parent / "peers"
    return True if peers and not config.getoption("--peers") else None


@pytest.fixture(scope="session")
def share(pytestconfig: pytest.Config) -> int | None:
    """Which of seven shares of the complete product runs today; None for all of it."""
    if pytestconfig.getoption("--complete"):
        return None
    return datetime.date.today().toordinal() % 7
