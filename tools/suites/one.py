"""One suite in this process: its tests with mxref in them, and what came of each as JSON.

    python -m suites.one SHIM FOLDER RESULT [PYTEST_ARGUMENT...]

A shim either has `replace_all()`, which puts mxref into the library before pytest imports the
tests, or `cases(folder)`, which yields for each case a name and what is wrong, nothing, or None
if it is skipped.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from suites.asked import TALLY


class Outcomes:
    """A pytest plugin that keeps what came of each test and how many values it asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, tuple[str, int, str]] = {}
        self._before = 0

    def pytest_runtest_logstart(self) -> None:
        """A test begins."""
        self._before = TALLY.values

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the worst phase of a test; the values are those of all phases."""
        outcome, _, text = self.rows.get(report.nodeid, ("passed", 0, ""))
        if report.outcome != "passed":
            outcome = report.outcome
            crash = getattr(report.longrepr, "reprcrash", None)
            text = str(crash.message if crash else report.longrepr).strip().partition("\n")[0]
        self.rows[report.nodeid] = (outcome, TALLY.values - self._before, text)

    def pytest_collectreport(self, report: Any) -> None:
        """A module that cannot be collected is a failure, or is skipped as a whole."""
        if report.outcome != "passed":
            text = str(report.longrepr).strip().splitlines()[-1]
            self.rows[report.nodeid] = (report.outcome, 0, text)


def of_pytest(folder: Path, arguments: list[str]) -> dict[str, tuple[str, int, str]]:
    """What came of a suite's tests."""
    import pytest

    outcomes = Outcomes(folder)
    own = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:mxref",
        "--rootdir",
        str(folder),
        "-c",
        os.devnull,
    ]
    own += [
        "--tb=short",
        "--continue-on-collection-errors",
        "--show-capture=no",
        "-W",
        "ignore",
        "--import-mode=importlib",
    ]
    status = pytest.main([*own, *arguments], plugins=[outcomes])
    if status not in (0, 1, 2) or not outcomes.rows:
        raise SystemExit(f"pytest ended with {status!r}: no test of {folder} was run")
    return outcomes.rows


def of_cases(shim: Any, folder: Path) -> dict[str, tuple[str, int, str]]:
    """What came of the cases that a shim reads from data."""
    rows, before = {}, TALLY.values
    for name, wrong in shim.cases(folder):
        if name in rows:
            raise SystemExit(f"cases must have names of their own, got {name} twice")
        outcome = "skipped" if wrong is None else "failed" if wrong else "passed"
        rows[name] = (outcome, TALLY.values - before, wrong or "")
        before = TALLY.values
    return rows


def main() -> None:
    """Run the suite that the arguments name."""
    name, folder, result, *arguments = sys.argv[1:]
    warnings.simplefilter("ignore")
    where = Path(folder)
    sys.path.insert(1, folder)
    shim = importlib.import_module(f"suites.shims.{name}")
    if hasattr(shim, "replace_all"):
        shim.replace_all()
        rows = of_pytest(where, arguments)
    else:
        rows = of_cases(shim, where)
    Path(result).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
