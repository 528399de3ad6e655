"""SPEC_NOTES.md and the code say the same: every choice, its clause and its standing; every clause.

A clause is named by a vector or by a test, or SPEC_NOTES itself says why neither can be.
"""

from __future__ import annotations

import re

import pytest
from helpers import ROOT

from mxref.cases.words import RULES
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS, OTHER_FORMATS, SCALE_FORMATS
from mxref.golden import read_vectors
from mxref.policy.policy import Policy

NOTES = (ROOT / "SPEC_NOTES.md").read_text("utf-8")
CLAUSES = re.findall(r"^### (N\d+) · ", NOTES, re.MULTILINE)


def section(heading: str) -> str:
    start = NOTES.index(f"\n{heading}")
    return NOTES[start : (NOTES.find("\n## ", start + 1) + 1) or None]


def choices() -> list[list[str]]:
    """Rows of the table of choices: choice, member, clause, standing, source."""
    rows = [line for line in section("## Choices").splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return [row for row in cells if len(row) == 5]


def test_clauses_are_numbered_in_order() -> None:
    assert [f"N{i + 1}" for i in range(len(CLAUSES))] == CLAUSES
    assert len(CLAUSES) >= 40


def test_every_member_of_every_choice_is_listed_with_its_standing() -> None:
    listed = [(row[0].strip("`"), row[1].strip("`"), row[3]) for row in choices()]
    exists = [
        (name, member.value, member.standings)
        for name in Policy().choices()
        for member in Policy.members(name)
    ]
    assert listed == exists


def test_every_choice_names_its_clauses() -> None:
    for row in choices():
        name, clause = row[0].strip("`"), row[2]
        about = type(Policy.members(name)[0]).__doc__ or ""
        assert clause in CLAUSES, row
        if name != "scale_rounding":  # Rounding describes elements; N23 describes scales
            assert re.search(rf"\b{clause}\b", about), (name, clause)


@pytest.mark.parametrize("folder", ["mxref", "tests", "tools", "vectors/README.md", "README.md"])
def test_no_clause_is_named_that_does_not_exist(folder: str) -> None:
    path = ROOT / folder
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    assert files
    for file in files:
        for clause in re.findall(r"\bN[1-9]\d?\b", file.read_text("utf-8")):
            assert clause in CLAUSES, (file.name, clause)


def test_every_clause_has_a_vector_or_a_test_or_a_reason() -> None:
    files = read_vectors(ROOT / "vectors")
    in_vectors = {case.rule for file in files for case in file.cases}
    assert in_vectors <= set(RULES)
    in_tests = {
        f"N{clause}"
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        for clause in re.findall(r"^def test_n(\d+)_", file.read_text("utf-8"), re.MULTILINE)
    }
    for clause in CLAUSES:
        text = section(f"### {clause} · ").split("\n### ")[1]
        assert clause in in_vectors | in_tests or "Not in mxref yet" in text, clause


def test_the_index_by_question_names_every_clause() -> None:
    rows = re.findall(
        r"^\| .+\? .*\| .+ \| (N[N\d, ]+) \|$", section("## Which clause"), re.MULTILINE
    )
    assert {clause for row in rows for clause in row.split(", ")} == {*CLAUSES}


def test_a_clause_with_a_choice_names_every_member() -> None:
    for row in choices():
        choice, member, clause = row[0].strip("`"), row[1].strip("`"), row[2]
        start = NOTES.index(f"\n### {clause} · ")
        text = NOTES[start : NOTES.find("\n### ", start + 1)]
        assert "No choice" not in text, row
        assert choice in text, row
        assert member in text, row


def test_every_format_is_listed() -> None:
    listed = section("## Formats")
    for name in (*ELEMENT_FORMATS, *OTHER_FORMATS, *SCALE_FORMATS):
        assert f"`{name}`" in listed, name
    for name in BLOCK_FORMATS:
        assert BLOCK_FORMATS[name].scale.name == "e8m0"
