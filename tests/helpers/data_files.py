"""Text files beside the tests: rows of words, and transcripts; a line `# ...` is a comment.

A transcript has commands with what they print. A command is a line `$ mxref ...`, its answer the
lines up to the next one. `...` stands for any words, alone in a line for any lines. An answer that
begins with `mxref: error: ` is one sentence for stderr, and the exit status is 2; each other one is
all that is printed.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mxref.cli import main


def uncommented(path: Path) -> str:
    """The text of a file without its comments."""
    return re.sub(r"^# .*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)


def rows(path: Path) -> list[list[str]]:
    """The words of each line, but for empty ones."""
    return [line.split() for line in uncommented(path).splitlines() if line]


def transcript(path: Path) -> list[object]:
    """The commands of a file with their answers, named by the commands."""
    commands = re.split(r"^\$ mxref ", uncommented(path), flags=re.MULTILINE)[1:]
    parts = (part.partition("\n") for part in commands)
    return [pytest.param(line, answer.rstrip("\n") + "\n", id=line) for line, _, answer in parts]


def matches(answer: str, output: str) -> bool:
    """Whether an output is the answer, letter by letter but for its `...`."""
    lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in answer.splitlines()]
    pattern = "".join("(?:.*\n)*?" if line == ".*" else f"{line}\n" for line in lines)
    return re.fullmatch(pattern, output) is not None


def assert_answered(command: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command in this process, and compare what it prints."""
    refused = answer.startswith("mxref: error: ")
    status = main(shlex.split(command))
    out, err = capsys.readouterr()
    assert matches(answer, err if refused else out), out + err
    assert (status, out if refused else err) == (2 if refused else 0, "")
    assert not refused or err.count("\n") == 1
