"""Files of few slow tests come last; the end says how many integer values were compared."""

from __future__ import annotations

import pytest
from live import lines

#: A third of the tests and nine tenths of the time: they import large libraries again and again,
#: compile, or run kernels in Triton's interpreter. Where time runs out these are left out.
LAST = (
    *("test_adder_peers", "test_adapters", "test_reports"),
    *("test_fastpath_torch", "test_fastpath_triton_ptx", "test_fastpath_triton"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow files last, in that order; all else stays as it is."""
    items.sort(key=lambda item: LAST.index(item.path.stem) if item.path.stem in LAST else -1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in lines():
        terminalreporter.write_line(line)
