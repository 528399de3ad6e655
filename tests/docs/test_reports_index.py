"""docs/reports/README.md and `mxref explain bugs` name the clauses that the pages argue from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import ROOT

import mxref
from mxref.cli import main
from mxref.cli.explain_bugs import known_bugs
from mxref.cli.spec_notes import sections

REPORTS = ROOT / "docs" / "reports"
PAGES = sorted(path for path in REPORTS.glob("*.md") if path.name != "README.md")


def test_the_clauses_of_the_index_are_those_that_pages_argue_from() -> None:
    assert sorted(bug.page for bug in known_bugs()) == [page.stem for page in PAGES]
    for bug in known_bugs():
        text = (REPORTS / f"{bug.page}.md").read_text("utf-8")
        why = text.partition("## Why it is a bug\n")[2].partition("\n## ")[0]
        assert re.findall(r"MX-([\d.]+\d)", bug.clause) == sorted(
            set(re.findall(r"§([\d.]+\d)", why))
        )
        assert bug.clause.strip(" -"), bug.page  # without a section it names another promise
        assert sections().keys() >= set(re.findall(r"MX-([\d.]+\d)", bug.clause)), bug.page


def test_explain_tells_the_bugs_of_a_library_and_of_its_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("bugs FBGEMM", "bugs fbgemm_mx4_even", "fbgemm_mx4_even", "fbgemm"):
        assert main(["explain", *name.split()]) == 0
        assert "reproducers: docs/reports, fbgemm-nan-inf.md" in capsys.readouterr().out
    assert main(["explain", "bugs", "cuda"]) == 2
    assert "got 'bugs cuda': no bug of it is known" in capsys.readouterr().err
    project = (REPORTS.parents[1] / "pyproject.toml").read_text("utf-8")
    assert '"docs/reports/README.md" = "mxref/_notes/REPORTS.md"' in project
    monkeypatch.setattr(mxref, "__file__", str(tmp_path / "mxref" / "__init__.py"))
    (tmp_path / "mxref" / "_notes").mkdir(parents=True)
    row = "| [a-b](a-b.md) | Z 1 | c | MX-5.1 | d |\n"
    (tmp_path / "mxref" / "_notes" / "REPORTS.md").write_text(row, "utf-8")
    assert known_bugs.__wrapped__() == (("a-b", "Z 1", "c", "MX-5.1", "d"),)
