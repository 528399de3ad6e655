"""CONTRIBUTING.md, CITATION.cff and the workflows say what is so."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from helpers import ROOT, vector_file

import mxref
from mxref.conformance.score import score
from mxref.mutants import MUTANTS, rounding_mutants
from mxref.mutants.mutant import named

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_citation() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license"} <= cited.keys()
    assert cited["version"] == mxref.__version__


def test_contributing_is_one_page() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert len(text.splitlines()) <= 90
    for tool in ("ruff check", "ruff format", "mypy", "lint-imports"):
        assert tool in text
        assert tool in (ROOT / ".ci" / "run").read_text("ascii")


def test_what_only_the_owner_can_do_is_a_list_of_ten() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    part = text[text.index("what only the owner can do") :]
    assert re.findall(r"^(\d+)\. ", part, re.M) == [str(i) for i in range(1, 11)]
    for workflow in re.findall(r"`\.github/workflows/(\S+)`", text):
        assert ROOT / ".github" / "workflows" / workflow in WORKFLOWS


def test_the_mutant_of_contributing_is_caught() -> None:
    """It is no mutant of the museum, so that whoever tries it adds one that is not there."""
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text("utf-8").split())
    heading, made = re.findall(r'`"([^"]+)": (encodes\(.*\)),`', text)[0]
    assert heading.partition(" ")[0] not in {mutant.id for mutant in MUTANTS}
    (mutant,) = named({heading: eval(made, vars(rounding_mutants))})
    cells = [*score([vector_file(f"encode/{one}") for one in ("e2m1.f32", "e5m2.bf16")], [mutant])]
    assert [cell.verdict for cell in cells] == ["killed"] * 2


def test_the_first_version_of_the_changelog_is_on_one_screen() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 105
    assert f"vectors {mxref._version.VECTORS_VERSION}" in "".join(lines)


@pytest.fixture(scope="module")
def ci() -> str:
    return (ROOT / ".ci" / "run").read_text("ascii")


def test_contributing_says_what_ci_has_beyond_the_test_command(ci: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`\w+`.*?) \|", text, re.M)))
    parts = re.findall(r"^part_(\w+)\(\)", ci, re.M)
    assert sorted(parts) == sorted([*table, "tools", "tests"])
    run = " ".join(re.findall(r'^(?:first=|lanes=\()(".*")', ci, re.M)).replace('"', "")
    assert sorted(run.split()) == sorted(parts)


def run_of_ci(ci: str, folder: Path, red: str) -> subprocess.CompletedProcess[str]:
    """A run in which every part says its name, and `red` then has a command that fails."""
    parts = re.findall(r"^part_(\w+)\(\)", ci, re.M)
    stubs = [
        f"part_{p}() {{ echo {p} begins; {'false; ' * (p == red)}echo {p} ends; }}" for p in parts
    ]
    script = folder / ".ci" / "run"
    script.parent.mkdir(parents=True)
    script.write_text(ci.replace("\nif [ $# -gt 0 ]", "\n".join(["", *stubs, "if [ $# -gt 0 ]"])))
    script.chmod(0o755)
    env = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run([script], capture_output=True, text=True, env=env)


@pytest.mark.parametrize("red", ["nothing", "tests", "complete", "level2", "peers", "docs"])
def test_one_part_that_fails_fails_the_run(ci: str, tmp_path: Path, red: str) -> None:
    ended = run_of_ci(ci, tmp_path, red)
    parts = re.findall(r"^part_(\w+)\(\)", ci, re.M)
    assert ended.returncode == (red != "nothing")
    for part in parts:  # the others ran to their ends
        assert f"\n{part} begins\n" in ended.stdout
        assert (f"\n{part} ends\n" in ended.stdout) == (part != red)
        (line,) = {one for one in ended.stdout.splitlines() if re.match(rf"{part} +\d+:\d\d ", one)}
        assert line.endswith("FAILED, exit status 1" if part == red else "passed")


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
    release = [{"id-token": "write"}, {"contents": "write"}]  # to publish, and to attach archives
    assert granted == (release if path.stem == "release" else [])
