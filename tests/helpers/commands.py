"""Commands in this process, and files of commands with what they print.

In such a file a command begins with `$ `; `? 1` below it is its exit status if that is not 0, a
line after `! ` must not be in its output, and the others must be its output, where `...` stands for
any lines, or any words of a line. Blank lines and the width of gaps do not count; `#` is a comment.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from verify_helpers import Run

from mxref.cli import main

Call = Callable[..., Run]


class Example(NamedTuple):
    """A command, its exit status, what it prints and what it does not."""

    command: str
    status: int
    shown: list[str]
    absent: list[str]

    def check(self, call: Call, **places: object) -> None:
        """Run it, with the names of places in braces filled in."""
        run = call(*shlex.split(self.command.format(**places))[1:])
        assert (run.status, run.err) == (self.status, ""), run.err
        assert fits(self.shown, run.out), f"{run.out}\n-- wanted --\n" + "\n".join(self.shown)
        text = "\n".join(map(_narrow, run.out.splitlines()))
        assert [one for one in self.absent if one in text] == []


def fits(wanted: list[str], text: str) -> bool:
    """Whether lines are the lines of a text, where `...` stands for any lines or words."""
    lines = [_narrow(line) for line in text.splitlines() if line.strip()]
    pattern = "".join(_pattern(_narrow(line)) for line in wanted if line.strip())
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def caller(capsys: pytest.CaptureFixture[str], *first: str) -> Call:
    """The command line in this process, behind some first words."""

    def call(*words: object) -> Run:
        status = main([*first, *map(str, words)])
        return Run(status, *capsys.readouterr())

    return call


def examples(path: Path) -> list[Any]:
    """The examples of a file, as parameters whose ids are the commands."""
    text = re.sub(r"^#.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
    found = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *lines = [line.strip() for line in part.splitlines() if line.strip()]
        marked = {
            mark: [line[2:] for line in lines if line.startswith(mark)] for mark in ("? ", "! ")
        }
        shown = [_narrow(line) for line in lines if line[:2] not in marked]
        one = Example(command, int([*marked["? "], 0][0]), shown, marked["! "])
        found.append(pytest.param(one, id=command))
    return found


def refusals(path: Path) -> list[Any]:
    """Commands of a file, each with what is said below it, indented."""
    text = path.read_text("utf-8")
    return [
        pytest.param(command, said, id=command)
        for command, said in re.findall(r"^(mxref .*)\n {4}(.*)$", text, re.MULTILINE)
    ]


def _narrow(line: str) -> str:
    return " ".join(line.split())


def _pattern(line: str) -> str:
    return r"(?:.*\n)*?" if line == "..." else wildcards(line) + r"\n"


def wildcards(text: str) -> str:
    """A regular expression for a text in which `...` stands for any words."""
    return re.escape(text).replace(r"\.\.\.", ".*")


def assert_sentence(run: Run, pattern: str = "") -> None:
    """Exit status 2, and one sentence on stderr alone, in which a pattern is found."""
    assert (run.status, run.out) == (2, "")
    assert re.fullmatch(r"mxref: error: [^\n]{8,1200}\n", run.err), run.err
    assert not re.search(r"[.?!] +[A-Z(]", run.err), run.err
    assert re.search(pattern, run.err), run.err
