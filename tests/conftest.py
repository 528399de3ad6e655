"""Settings of the whole test suite."""

import datetime

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


@pytest.fixture(scope="session")
def share(pytestconfig: pytest.Config) -> int | None:
    """Which of seven shares of the complete product runs today; None for all of it."""
    if pytestconfig.getoption("--complete"):
        return None
    return datetime.date.today().toordinal() % 7
