"""The examples of the documents: fenced blocks that are files, or commands with their output."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers import ROOT

from mxref.cli import main

#: Verbs that load a target, here into this process: that saves the start of another one.
_LOADING = ("verify", "identify", "fuzz", "sweep")
_FENCE = re.compile(r"^```(\w*)(?: title=\"(\S+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it is, and its text."""

    language: str
    title: str
    text: str

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Each command after a `$ `, with the output that is shown below it."""
        parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]

    @property
    def runs(self) -> bool:
        """Whether a test runs it; a file counts, since the commands after it use it."""
        return bool(self.title) or self.text.startswith(("$ ", ">>> "))


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for language, title, text in _FENCE.findall(page.read_text("utf-8")):
        yield Block(language, title, text)


def answered(shown: str, output: str) -> bool:
    """Whether lines of a page are the output; ``...`` stands for any lines, or any words.

    A slow machine is asked less, and told so: lines about that may differ.
    """
    lines = []
    for line in (line.strip() for line in shown.splitlines()):
        pattern = re.escape(line).replace(r"\.\.\.", ".*")
        if line.startswith("note: "):
            pattern = re.sub(r"\d[\d,]*", r"[\\d,]+", pattern)
        lines.append("asked: .*" if line.startswith("asked: ") else pattern)
    pattern = "\n".join("(?:.*\n)*?.*" if line == ".*" else line for line in lines)
    said = [line.strip() for line in output.splitlines() if not line.startswith("note: slow: ")]
    return re.fullmatch(pattern + "(?:\n)*", "\n".join(said)) is not None


def checkout(folder: Path) -> Path:
    """A folder that looks like the checkout, in which an example may write files."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    return folder


def output_of(command: str) -> tuple[int, str]:
    """The exit status of a command in the current folder, and what it prints."""
    words = shlex.split(command)
    if words[0] == "mxref" and not re.search(r"[|<>;&]", command):
        own = words[1] in _LOADING and not {"--cmd", "--results"} & {*words}
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            status = main(words[1:] + ["--in-process"] * own)
        return status, out.getvalue()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
