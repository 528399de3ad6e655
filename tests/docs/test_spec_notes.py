"""SPEC_NOTES.md and the code say the same: every choice, its clause and its standing; every clause.

A clause is named by a vector or by a test, or SPEC_NOTES itself says why neither can be.
"""

from __future__ import annotations

import re

import pytest
from helpers import ROOT, all_files

from mxref import integer
from mxref.cases.words import rules
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS, OTHER_FORMATS, SCALE_FORMATS
from mxref.integer import integer_choices
from mxref.policy.policy import Policy

NOTES = (ROOT / "SPEC_NOTES.md").read_text("utf-8")
CLAUSES = re.findall(r"^### (N\d+) · ", NOTES, re.MULTILINE)
INTEGER_CLAUSES = re.findall(r"^### (Q\d+) · ", NOTES, re.MULTILINE)


def section(heading: str) -> str:
    start = NOTES.index(f"\n{heading}")
    return NOTES[start : (NOTES.find("\n## ", start + 1) + 1) or None]


def choices() -> list[list[str]]:
    """Rows of the table of choices: choice, member, clause, standing, source."""
    rows = [line for line in section("## Choices").splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    return [row for row in cells if len(row) == 5]


def test_clauses_are_numbered_in_order() -> None:
    for letter, clauses in (("N", CLAUSES), ("Q", INTEGER_CLAUSES)):
        assert [f"{letter}{i + 1}" for i in range(len(clauses))] == clauses
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


@pytest.mark.parametrize(
    "folder", ["mxref", "tests", "tools", "docs", "vectors/README.md", "README.md"]
)
def test_no_clause_is_named_that_does_not_exist(folder: str) -> None:
    path = ROOT / folder
    files = [path] if path.is_file() else sorted(path.rglob("*.md" if folder == "docs" else "*.py"))
    assert files
    for file in files:
        named = re.findall(r"\bN[1-9]\d?\b", file.read_text("utf-8"))
        assert {*named} <= {*CLAUSES}, file.name


@pytest.mark.sampled(6)
def test_every_clause_has_a_vector_or_a_test_or_a_reason() -> None:
    files = all_files()
    in_vectors = {case.rule for file in files for case in file.cases}
    assert in_vectors <= set(rules())
    in_tests = {
        f"N{clause}"
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        for clause in re.findall(r"^def test_n(\d+)_", file.read_text("utf-8"), re.MULTILINE)
    }
    for name in ("clauses", "calls"):
        facts = (ROOT / f"tests/whole/data/{name}.txt").read_text("utf-8")
        in_tests |= {*re.findall(r"^(N\d+) ", facts, re.MULTILINE)}
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


# --- the clauses of integers ----------------------------------------------------------------------


def test_integer_clauses_have_a_test_each() -> None:
    tests = "".join(path.read_text() for path in sorted((ROOT / "tests/integer").glob("*.py")))
    assert {f"Q{n}" for n in re.findall(r"^def test_q(\d+)_", tests, re.MULTILINE)} == {
        *INTEGER_CLAUSES
    }
    asked = re.findall(r"^\| .+\? .*\| .+ \| (Q[Q\d, ]+) \|$", section("## Integer"), re.MULTILINE)
    assert [clause for row in asked for clause in row.split(", ")] == INTEGER_CLAUSES


def test_integer_clauses_name_every_member() -> None:
    kinds = [vars(integer_choices)[name] for name in integer_choices.__all__]
    assert {clause for kind in kinds for clause in re.findall(r"\bQ\d+\b", kind.__doc__)} <= {
        *INTEGER_CLAUSES
    }
    for kind in kinds:
        (clause,) = re.findall(r"\bQ\d+\b", kind.__doc__)
        text = section(f"### {clause} · ").split("\n### ")[1]
        for member in kind:
            name = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", kind.__name__).lower()
            assert f"`{name}={member.value}`" in text, (clause, member)


def test_no_integer_clause_is_named_that_does_not_exist() -> None:
    files = [*(ROOT / "mxref" / "integer").glob("*.py"), ROOT / "mxref" / "exact" / "integer.py"]
    assert len(files) >= 6
    for file in files:
        named = re.findall(r"\bQ[1-9]\d?\b", file.read_text("utf-8"))
        assert named or file.name == "__init__.py", file
        assert {*named} <= {*INTEGER_CLAUSES}, file


def test_the_rows_of_documents_about_integers_name_a_function_or_say_why_not() -> None:
    rows = re.findall(r"^\| (00[12], .+) \|$", section("## Founding documents"), re.MULTILINE)
    assert len(rows) >= 35
    for row in rows:
        where = row.split(" | ")[2]
        assert "not numerical" in where or re.search(r"`integer\.\w+", where), row
        for name in re.findall(r"`integer\.(\w+)", where):
            assert name in integer.__all__, row
        if "not numerical" not in where:
            found = re.findall(r"(?:vectors|tests)/[\w/.]+", where)
            assert found, row
            assert all((ROOT / path).exists() for path in found), row


def test_no_row_of_a_document_waits() -> None:
    assert "not yet" not in section("## Founding documents").lower()
