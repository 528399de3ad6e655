"""Commands in this process, and transcripts: files of commands with what they print.

In a transcript a command is a line `$ mxref ...`, its answer the lines up to the next one. `...`
stands for any words, alone in a line for any lines. An answer that begins with `mxref: error: ` is
one sentence for stderr, and the exit status is 2. Each other one is all that is printed; a line
`? 1` in it is the exit status if that is not 0, and what is behind `! ` must not be printed. A line
`# ...` is a comment, and names in braces are places that the test fills in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tables import uncommented
from verify_helpers import Run

from mxref.cli import main

Call = Callable[..., Run]


class Example(NamedTuple):
    """A command, its exit status, what it prints and what it does not."""

    command: str
    status: int
    answer: str
    absent: list[str]

    def check(self, call: Call, **places: object) -> None:
        """Run it, with the places filled in."""
        answer = _filled(self.answer, places)
        run = call(*shlex.split(_filled(self.command, places)))
        refused = answer.startswith("mxref: error: ")
        said, silent = (run.err, run.out) if refused else (run.out, run.err)
        assert (run.status, silent) == (2 if refused else self.status, ""), run.out + run.err
        assert fits(answer, said), f"{said}\n-- wanted --\n{answer}"
        assert not refused or said.count("\n") == 1
        assert [text for text in self.absent if text in said] == []


def _filled(text: str, places: dict[str, object]) -> str:
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", str(place))
    return text


def fits(answer: str, output: str) -> bool:
    """Whether an output is the answer, letter by letter but for its `...`."""
    lines = [wildcards(line) for line in answer.splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line == ".*" else rf"{line}\n" for line in lines)
    return re.fullmatch(pattern, output) is not None


def caller(capsys: pytest.CaptureFixture[str], *first: str) -> Call:
    """The command line in this process, behind some first words."""

    def call(*words: object) -> Run:
        status = main([*first, *map(str, words)])
        return Run(status, *capsys.readouterr())

    return call


def examples(path: Path) -> list[Any]:
    """The commands of a transcript, as parameters whose ids are the commands."""
    found = []
    for part in re.split(r"^\$ mxref ", uncommented(path), flags=re.MULTILINE)[1:]:
        command, _, said = part.partition("\n")
        status, absent = (re.findall(rf"^\{mark} (.*)\n", said, re.MULTILINE) for mark in "?!")
        answer = re.sub(r"^[?!] .*\n", "", said, flags=re.MULTILINE).rstrip("\n") + "\n"
        example = Example(command, int([*status, 0][0]), answer, absent)
        found.append(pytest.param(example, id=command))
    return found


def refusals(path: Path) -> list[Any]:
    """Commands of a file, each with what is said below it, indented."""
    text = path.read_text("utf-8")
    return [
        pytest.param(command, said, id=command)
        for command, said in re.findall(r"^(mxref .*)\n {4}(.*)$", text, re.MULTILINE)
    ]


def wildcards(text: str) -> str:
    """A regular expression for a text in which `...` stands for any words."""
    return re.escape(text).replace(r"\.\.\.", ".*")


def assert_sentence(run: Run, pattern: str = "") -> None:
    """Exit status 2, and one sentence on stderr alone, in which a pattern is found."""
    assert (run.status, run.out) == (2, "")
    assert re.fullmatch(r"mxref: error: [^\n]{8,1200}\n", run.err), run.err
    assert not re.search(r"[.?!] +[A-Z(]", run.err), run.err
    assert re.search(pattern, run.err), run.err
