"""Recorded answers that lack some cases: the others are diagnosed, and what is lacking is counted.

Answers under a policy are those of the columns of the vectors, which are data.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kernel_reports import file_of
from verify_helpers import Kit

STEM = "quantize/mxfp8_e4m3.f32"


def results(folder: Path, column: str, answers: int, flipped: int = -1) -> Path:
    """A folder with the first answers of a column of the vectors; one may be wrong."""
    file = file_of(STEM)
    place = file.columns.index(column)
    lines = []
    for number, case in enumerate(file.cases[:answers]):
        words = [*case.output(place)]
        words[3] ^= number == flipped
        lines.append(f"{case.id} {' '.join(f'{word:02x}' for word in words)}\n")
    folder.mkdir()
    (folder / "quantize.mxfp8_e4m3.f32.txt").write_text("".join(lines), "ascii")
    return folder


@pytest.fixture
def cases() -> int:
    return len(file_of(STEM).cases)


@pytest.mark.parametrize(
    ("column", "verdict"),
    [
        ("ocp", "conforms"),
        ("ocp+scale_rule=rceil", "conforms under ocp+scale_rule=rceil"),
    ],
)
def test_what_is_there_is_diagnosed(kit: Kit, cases: int, column: str, verdict: str) -> None:
    folder = results(kit.folder / "answers", column, 98)
    asked = ("--results", folder, "--vectors", kit.vectors(STEM))
    run = kit.run(*asked)
    left = cases - 98
    said = f"no answer to {left} of {cases} cases; on the other 98: {verdict}"
    assert run.status == 1
    assert run.last_line.endswith(f" failed: {said}")
    assert "note: results in a folder: the cases of the vectors only\n" in run.out
    first = file_of(STEM).cases[98].id
    assert f"quantize mxfp8_e4m3: {left} x no answer; the first: {first}\n" in run.out
    equals = f"your output equals {column} on 98 of 98 cases with an answer; {left} have none\n"
    assert (equals in run.out) == (column != "ocp")
    record = kit.run(*asked, "--json").json
    assert record["verdict"] == said
    assert sum(one["error"] == "no answer" for one in record["failures"]) == left


def test_a_cause_of_recorded_answers_says_that_nothing_else_was_asked(kit: Kit, cases: int) -> None:
    folder = results(kit.folder / "answers", "ocp+scale_rule=rceil", cases)
    run = kit.run("--results", folder, "--vectors", kit.vectors(STEM))
    assert f"\nasked: {cases} answers to the vectors; no other asked\n" in run.out


def test_a_wrong_answer_among_them_is_no_policy(kit: Kit, cases: int) -> None:
    folder = results(kit.folder / "answers", "ocp", 98, flipped=50)
    run = kit.run("--results", folder, "--vectors", kit.vectors(STEM))
    said = f"no answer to {cases - 98} of {cases} cases; on the other 98: violates MX-6.3"
    assert f" failed: {said}; in the cases asked, elements wrong exactly where" in run.last_line


def test_answers_to_nothing_at_all_are_one_error(kit: Kit, cases: int) -> None:
    folder = results(kit.folder / "answers", "ocp", 0)
    run = kit.run("--results", folder, "--vectors", kit.vectors(STEM))
    assert run.last_line.endswith(f": {cases} cases, {cases} failed: fails with errors: no answer")


def test_missing_answers_may_be_known(kit: Kit, cases: int) -> None:
    """Each has its case in the list, as every wrong answer."""
    folder = results(kit.folder / "answers", "ocp", cases - 1)
    asked = ("--results", folder, "--vectors", kit.vectors(STEM))
    known = kit.folder / "known.json"
    assert kit.run(*asked, "--write-xfail", known).status == 1
    record = json.loads(known.read_text("utf-8"))
    for group in record["groups"]:
        group |= {"reason": "not asked", "link": "a page"}
    known.write_text(json.dumps(record), "utf-8")
    assert kit.run(*asked, "--xfail", known).status == 0
