"""JUnit, GitHub's annotations and summary, and the badge: they say what the exit status says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers import VECTORS, table
from verify_helpers import ENCODE, VECTORS_ALONE, Vectors, target_file

from mxref.cli import main
from mxref.conformance import Report, target_of
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.conformance.verdict.row import VerifyRow
from mxref.golden import read_vectors
from mxref.policy.policy import Policy
from mxref.reports import ci_reports
from mxref.reports.ci_reports import badge, workflow_commands

LOUD = table("kernels")["loud"]
WRONG = table("kernels")["ties_away"]


class Case:
    """What `mxref verify` writes of a target."""

    def __init__(self, folder: Path, vectors: str, source: str, *words: str) -> None:
        spec = target_file(folder, source)
        files = {name: folder / name for name in ("junit", "badge", "summary")}
        options = ["--junit", str(files["junit"]), "--badge", str(files["badge"]), "--github"]
        command = ["verify", spec, "--vectors", vectors, *VECTORS_ALONE]
        files["summary"].unlink(missing_ok=True)  # it is added to
        self.status = main([*command, *options, *words])
        self.junit = ElementTree.fromstring(files["junit"].read_bytes())
        self.badge = json.loads(files["badge"].read_bytes())
        self.summary = files["summary"].read_text("utf-8")
        cases = self.junit.iter("testcase")
        self.failing = [case.get("name") for case in cases if case.find("failure") is not None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    return tmp_path


def check(case: Case) -> None:
    """What holds of each report."""
    counts = {name: int(case.junit.get(name, "")) for name in ("tests", "failures", "skipped")}
    assert counts["tests"] == len(case.junit.findall("testcase")) > 0
    assert counts["failures"] == len(case.failing)
    assert (case.status == 0) is (counts["failures"] == 0) is (case.badge["color"] != "red")
    assert case.badge["schemaVersion"] == 1
    assert len(case.badge["message"]) <= 60
    assert case.summary.startswith("## PASS " if case.status == 0 else "## FAIL ")


def test_right(folder: Path, vectors: Vectors, capsys: pytest.CaptureFixture[str]) -> None:
    case = Case(folder, vectors("encode/e2m1.f16"), ENCODE)
    check(case)
    assert (case.status, case.badge["message"]) == (0, "conforms")
    assert case.badge["color"] == "brightgreen"
    assert capsys.readouterr().out.startswith(
        f"::notice file={folder}/target.py,title=mxref%3A PASS::conforms\n"
    )


def test_wrong_and_then_known(
    folder: Path, vectors: Vectors, capsys: pytest.CaptureFixture[str]
) -> None:
    some = vectors("encode/e2m1.f16", "encode/e4m3.f16")
    case = Case(folder, some, WRONG, "--format", "e2m1")
    check(case)
    assert case.failing == ["encode e2m1 (ocp)"]
    commands = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    place = f"file={folder}/target.py,title=mxref%3A "
    assert commands[0].startswith(f"::error {place}FAIL::lacks rounding=ties_to_even (required)")
    assert re.match(rf"::error {place}encode e2m1%2C 6 wrong::encode\.e2m1\.f16\.", commands[1])
    assert "| FAIL | encode e2m1 (ocp) | " in case.summary

    known = folder / "known.txt"
    words = ("--format", "e2m1", "--write-xfail", str(known))
    listing = Case(folder, some, WRONG, *words)  # every report, and the list
    check(listing)
    assert (listing.status, listing.badge) == (1, case.badge)
    record = json.loads(known.read_text("utf-8"))
    for group in record["groups"]:
        group |= {"reason": "away, as measured", "link": "a page"}
    known.write_text(json.dumps(record), "utf-8")
    case = Case(folder, some, WRONG, "--format", "e2m1", "--xfail", str(known))
    check(case)
    assert (case.status, case.badge["color"]) == (0, "yellow")
    assert case.badge["message"].startswith("known: ")
    assert case.junit.get("skipped") == "1"
    stale = Case(folder, some, ENCODE, "--format", "e2m1", "--xfail", str(known))
    check(stale)
    assert stale.status == 1
    assert len(stale.failing) == 8


def test_an_annotation_has_the_cause_that_stands_beside_the_vectors(folder: Path) -> None:
    """Of answers that change with the call no case is wrong, so that no other annotation is."""
    use = CallDependence(
        "encode", "e2m1", "size", "wrong only in calls with 1 row: want 0f, got 07"
    )
    target = target_of(SimpleNamespace(encode=lambda values, format: values), "kernel")
    (file,) = read_vectors(VECTORS, lambda stem: stem == "encode/e2m1.f16")
    right = file.outputs(0)
    row = VerifyRow("encode", "e2m1", (Outcome(file, "ocp", file.input_words(), right, ()),))
    lines = workflow_commands(Report(target, Policy(), (row,), (), uses=(use,)), 5)
    said = "wrong only in calls with 1 row"
    assert [*lines] == [
        "::error title=mxref%3A FAIL::depends on the size of the call: encode e2m1: " + said,
        f"::error title=mxref%3A encode e2m1%2C size::{said}: want 0f, got 07",
    ]


Badge = Callable[..., Any]


@pytest.fixture
def badge_of(monkeypatch: pytest.MonkeyPatch) -> Badge:
    """The badge of a report with this verdict."""

    def made(verdict: str, passed: bool = True, failures: Any = (), uses: Any = ()) -> Any:
        monkeypatch.setattr(ci_reports, "verdict_text", lambda report: verdict)
        report: Any = SimpleNamespace(passed=passed, failures=failures, uses=uses)
        return json.loads(badge(report))

    return made


def test_a_badge_is_cut_between_words_and_choices(badge_of: Badge) -> None:
    long = "conforms under ocp+rounding=ties_to_away+subnormal_inputs=flushed"
    assert badge_of(long)["message"] == "conforms under ocp+rounding=ties_to_away…"
    assert badge_of("x" * 61)["message"] == "x" * 59 + "…"


@pytest.mark.parametrize(
    ("passed", "failures", "uses", "colour", "known"),
    [
        (True, 0, 0, "brightgreen", ""),
        (True, 1, 0, "yellow", "known: "),
        (True, 0, 1, "yellow", "known: "),  # a way of calling that is listed
        (False, 1, 0, "red", ""),
        (False, 0, 1, "red", ""),
        (False, 0, 0, "red", ""),
    ],
)
def test_a_badge_is_yellow_with_what_is_known(
    badge_of: Badge, passed: bool, failures: int, uses: int, colour: str, known: str
) -> None:
    found = badge_of("unexplained", passed, ("wrong",) * failures, ("size",) * uses)
    assert (found["color"], found["message"]) == (colour, f"{known}unexplained")


def test_nothing_compared(folder: Path, vectors: Vectors) -> None:
    case = Case(folder, vectors("encode/e2m1.f16"), ENCODE + "FORMATS = []\n")
    check(case)
    assert case.failing == ["nothing compared"]


def test_what_a_target_says_stays_text(
    folder: Path, vectors: Vectors, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one annotation of a target without an answer."""
    case = Case(folder, vectors("encode/e2m1.f16", "encode/e4m3.f16"), LOUD)
    check(case)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert "::no question was answered: ValueError: 100%25, ]]>" in line
    case = Case(folder, vectors("encode/e2m1.f16"), LOUD)
    check(case)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("::")]) == 2
    assert lines[1].count("100%25, ]]>") == 1
    assert "<b>" not in case.summary
    (failure,) = case.junit.iter("failure")
    assert "]]> </failure> & " in (failure.text or "")
