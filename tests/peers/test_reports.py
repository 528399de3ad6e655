"""Every page of docs/reports reproduces: its block of Python prints what the page says that came.

A page whose library is absent, or there in another version, is skipped with the command that
installs it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

REPORTS = Path(__file__).resolve().parents[2] / "docs" / "reports"
PAGES = sorted(path for path in REPORTS.glob("*.md") if path.name != "README.md")


def blocks(page: Path) -> tuple[str, str]:
    """The one reproducer of a page, and what it prints."""
    text = page.read_text("utf-8")
    (found,) = re.findall(
        r"```python\n(.*?)```\n\nWhat came:\n\n```text\n(.*?)```\n", text, re.DOTALL
    )
    assert text.count("```") == 4
    return found


def installations(code: str) -> list[str]:
    """The pip commands in the first comment, each of which is enough to run it."""
    commands = re.findall(r"^# (pip install .*)$", code, re.MULTILINE)
    assert commands
    return commands


def is_installed(command: str) -> bool:
    """Whether what a command pins is here, in just these versions."""
    pins = re.findall(r"([\w-]+)==([\w.]+)", command)
    assert pins, f"a report must pin what it was run with: {command}"
    return all(version_of(name) == version for name, version in pins)


def version_of(name: str) -> str | None:
    try:
        return metadata.version(name).partition("+")[0]  # without +cpu
    except metadata.PackageNotFoundError:
        return None


def imported(code: str) -> set[str]:
    """The packages that a block imports, by their first names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_report_reproduces(page: Path, tmp_path: Path) -> None:
    code, came = blocks(page)
    commands = installations(code)
    absent = sorted(name for name in imported(code) if find_spec(name) is None)
    if absent or not any(map(is_installed, commands)):
        pytest.skip(f"{page.name} needs {', '.join(absent) or 'its pins'}: {' or '.join(commands)}")
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == came


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_report_is_short_and_stands_alone(page: Path) -> None:
    text = page.read_text("utf-8")
    lines = text.splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) < 60
    assert "mxref" not in text  # whoever it is for needs nothing of ours
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == [
        "## Reproducer",
        "## Why it is a bug",
        "## Inputs affected",
        "## Suggested fix",
        "## Consequence",
    ]


def test_the_index_has_every_page_once() -> None:
    index = (REPORTS / "README.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| \[[^]]+\]\(([\w-]+\.md)\)", index, re.MULTILINE)) == [
        page.name for page in PAGES
    ]
