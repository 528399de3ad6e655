"""The test command has a part of every test that is sampled; --complete has all, --rest others."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from helpers import ROOT, run
from shares import Share

SOME, ALL = Share(complete=False), Share(complete=True)


@pytest.mark.parametrize("parts", range(2, 29))
def test_one_index_in_so_many_is_taken(parts: int) -> None:
    assert [index for index in range(100) if SOME.takes(index, parts)] == list(range(0, 100, parts))
    assert all(ALL.takes(index, parts) for index in range(100))


@pytest.mark.parametrize("parts", [2, 3, 4, 6, 7, 12, 14, 28])
def test_of_so_many_cases_one_runs(parts: int) -> None:
    """And of 4 x 4 values, such as formats and float types, each is among them."""
    cases = [("other", 7), *[("test", parts)] * 16 * parts]
    run = sorted(set(range(1, len(cases))) - set(SOME.left_out(cases)))
    turns = [(case - 1) // parts for case in run]
    assert turns == list(range(16))
    if parts == 4:
        assert {(case - 1) % 4 for case in run} == {0, 1, 2, 3}
    assert ALL.left_out([*cases, ("never", 0)]) == []
    assert SOME.left_out([("never", 0)] * 2) == [0, 1]


@pytest.mark.parametrize("parts", [2, 6, 28])
def test_of_tests_of_one_case_so_many_run(parts: int) -> None:
    cases = [(f"test_{number}", parts) for number in range(100 * parts)]
    assert 60 < len(cases) - len(SOME.left_out(cases)) < 140


def collected(*options: str) -> set[str]:
    """The tests of a file with one that takes `share`, and of a room without one."""
    where = ("tests/golden/test_schema.py", "tests/packing")
    quiet = ("-q", "--collect-only", "-p", "no:cacheprovider")
    found = run(sys.executable, "-m", "pytest", *quiet, *options, *where, cwd=ROOT)
    assert found.returncode == 0, found.stdout
    return {line for line in found.stdout.splitlines() if "::" in line}


def test_the_rest_is_what_was_not_whole() -> None:
    some, rest, every = collected(), collected("--rest"), collected("--complete")
    assert some | rest == every
    whole = every - rest
    assert some > whole > set()
    assert {one for one in every if "::test_every_line_is_valid[" in one} <= rest
    assert {one for one in whole if one.startswith("tests/packing")}


def test_nothing_depends_on_the_date_or_the_commit() -> None:
    dates = re.compile(r"date\.today|datetime\.now|time\.localtime|MXREF_SHARE")
    files = [*(ROOT / "tests").rglob("*.py"), *map(ROOT.joinpath, ("README.md", ".ci/run"))]
    files.remove(Path(__file__))
    assert [path for path in files if dates.search(path.read_text("utf-8"))] == []
    chosen = [path.name for path in files if "rev-parse" in path.read_text("utf-8")]
    assert chosen == ["test_ledger_digest.py"]  # of a repository that it makes
