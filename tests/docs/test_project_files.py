"""CONTRIBUTING.md, CITATION.cff and the workflows say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from helpers import ROOT

import mxref

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_citation() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license"} <= cited.keys()
    assert cited["version"] == mxref.__version__


def test_contributing_is_one_page() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert len(text.splitlines()) <= 60
    for tool in ("ruff check", "ruff format", "mypy", "lint-imports"):
        assert tool in text
        assert tool in (ROOT / ".ci" / "run").read_text("ascii")


def test_there_are_workflows() -> None:
    assert [path.stem for path in WORKFLOWS] == ["release", "tests"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_no_token_is_needed(path: Path) -> None:
    text = path.read_text("ascii")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert not re.search("secrets|token:(?! write)|password", text)
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.search(r"@v\d+\.\d+\.\d+$", step.get("uses", "@v1.2.3")), step
    granted = [job["permissions"] for job in workflow["jobs"].values() if "permissions" in job]
    assert granted == ([{"id-token": "write"}] if path.stem == "release" else [])
