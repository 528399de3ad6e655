"""tools/suites: its page is its table, and what is not as expected is an error."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import helpers
import pytest
from helpers import ROOT
from suites.__main__ import run
from suites.page import page
from suites.table import AbsentError, Outcome, Suite, outcome_of, suites

NOTHING = Suite("gfloat", "", "", "", "", "", "", [], 0, 0, 0, {}, variable="MXREF_SUITE_MADE_UP")
TESTS = (ROOT / "tests" / "tools" / "data" / "made_up_suite.txt").read_text("ascii")


def test_the_page_is_made_of_the_table() -> None:
    assert (ROOT / "docs" / "suites.md").read_text("utf-8") == page()


def test_every_suite_has_a_shim_and_one_source() -> None:
    for name, suite in suites().items():
        assert (ROOT / "tools" / "suites" / "shims" / f"{name}_shim.py").is_file()
        assert bool(suite.package) + bool(suite.sdist) + bool(suite.variable) == 1
        assert suite.tests >= suite.notice > 0
        assert suite.values > 0


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    (tmp_path / "test_made_up.py").write_text(TESTS, "ascii")
    monkeypatch.setenv("MXREF_SUITE_MADE_UP", str(tmp_path))
    return dataclasses.replace(NOTHING, arguments=["test_made_up.py"], tests=1, values=2)


@pytest.mark.sampled(6)
def test_a_suite_of_pytest(made_up: Suite) -> None:
    outcome = run(made_up, None, flip=False, verbose=False)
    assert (outcome.tests, outcome.values, outcome.skipped, outcome.silent) == (1, 2, 1, 1)
    (failed,) = outcome.failed
    assert failed == "test_made_up.py::test_expects_something_else"
    assert outcome.unexpected(made_up) == [f"{failed}: {outcome.failed[failed]}"]
    known = dataclasses.replace(made_up, known={failed: "a reason"})
    assert outcome.unexpected(known) == []


def test_a_listed_difference_that_is_gone_and_other_counts() -> None:
    outcome = Outcome(2, 10, {}, 0, 0)
    suite = dataclasses.replace(NOTHING, tests=3, values=10, known={"test_a": "a reason"})
    gone, counts = outcome.unexpected(suite)
    assert gone.startswith("test_a: does not fail")
    assert counts == "2 tests instead of 3"


def test_tests_that_ask_nothing_do_not_count() -> None:
    rows = {"a": ("passed", 5, ""), "b": ("passed", 0, ""), "c": ("skipped", 0, "no GPU")}
    assert outcome_of(rows) == Outcome(1, 5, {}, 1, 1)


def test_an_absent_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MXREF_SUITE_MADE_UP", raising=False)
    with pytest.raises(AbsentError, match="MXREF_SUITE_MADE_UP must name a checkout"):
        NOTHING.folder(None)
    with pytest.raises(AbsentError, match="--sources FOLDER"):
        dataclasses.replace(NOTHING, variable="", sdist="gfloat==0.5.2").folder(None)
    with pytest.raises(AbsentError, match="pip install no_such_thing==1"):
        run(
            dataclasses.replace(NOTHING, needs=["no_such_thing==1"]),
            None,
            flip=False,
            verbose=False,
        )


WRONG = "codes ['0x1', '0x9'"
EVERY = "codes ['0x0', '0x1', '0x2', '0x3'"


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("value", "flip", "text"), [(0.25, False, ""), (1.0, False, WRONG), (0.25, True, EVERY)]
)
def test_a_suite_of_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float, flip: bool, text: str
) -> None:
    positive = [0.0, value, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0]
    values = [*positive, float("nan"), *(-x for x in positive[1:])]
    rows = [f"{code:#04x},{x.hex()}, \n" for code, x in enumerate(values)]
    (tmp_path / "Binary4p2sf.csv").write_text("codepoint,value,subnormal\n" + "".join(rows))
    monkeypatch.setenv("MXREF_SUITE_MADE_UP", str(tmp_path))
    outcome = run(dataclasses.replace(NOTHING, name="p3109"), None, flip=flip, verbose=False)
    assert outcome.failed.get("Binary4p2sf", "")[: len(text)] == text
    assert outcome.tests == (not text)


def test_a_named_suite_that_is_absent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MXREF_SUITE_P3109", raising=False)
    done = helpers.run(sys.executable, ROOT / "tools" / "suites", "p3109")
    assert done.returncode == 2
    assert "absent: MXREF_SUITE_P3109 must name a checkout" in done.stdout
