"""Pages of docs/reports: where each can run, and what it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from environments import ENVIRONMENTS, pins
from needs import absent

PAGES = sorted(
    path
    for path in (Path(__file__).resolve().parents[2] / "docs" / "reports").glob("*.md")
    if path.name != "README.md"
)


def blocks(page: Path) -> tuple[str, str]:
    """The one reproducer of a page, and what it prints."""
    text = page.read_text("utf-8")
    (found,) = re.findall(
        r"```python\n(.*?)```\n\nWhat came:\n\n```text\n(.*?)```\n", text, re.DOTALL
    )
    assert text.count("```") == 4
    return found


def pinned(page: Path) -> list[tuple[str, dict[str, str]]]:
    """The pip commands in the first comment, each of which is enough to run it, and their pins."""
    commands = re.findall(r"^# (pip install .*)$", blocks(page)[0], re.MULTILINE)
    found = [(one, dict(re.findall(r"([\w-]+)==([\w.]+)", one))) for one in commands]
    assert all(versions for _, versions in found), f"{page.name} must pin what it was run with"
    return found


def pages_of(environment: str) -> list[Path]:
    """The pages that run in an environment, each command in the first that has its versions."""
    homes = {page: [home(versions) for _, versions in pinned(page)] for page in PAGES}
    return [page for page in PAGES if environment in homes[page]]


def home(versions: dict[str, str]) -> str | None:
    """The first environment that has these versions."""
    return next((name for name in ENVIRONMENTS if versions.items() <= pins(name).items()), None)


def version_of(name: str) -> str | None:
    try:
        return metadata.version(name).partition("+")[0]  # without +cpu
    except metadata.PackageNotFoundError:
        return None


def reproduce(page: Path, folder: Path) -> None:
    """Compare what a page's block prints with the page, byte for byte."""
    wanted = pinned(page)
    if not any(all(version_of(n) == v for n, v in one.items()) for _, one in wanted):
        absent(f"{page.name} needs {' or '.join(command for command, _ in wanted)}")
    code, came = blocks(page)
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == came
