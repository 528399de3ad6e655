"""Transcripts: commands with what they print, in text files that lie beside the tests.

A command is a line `$ mxref ...`, its answer the lines up to the next one. `...` stands for any
words, alone in a line for any lines; a line `# ...` is a comment. An answer that begins with
`mxref: error: ` is one sentence for stderr, and the exit status is 2; each other one is all that is
printed.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mxref.cli import main


def transcript(path: Path) -> list[object]:
    """The commands of a file with their answers, named by the commands."""
    text = re.sub(r"^# .*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
    parts = (part.partition("\n") for part in re.split(r"^\$ mxref ", text, flags=re.M)[1:])
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
