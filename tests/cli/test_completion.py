"""``mxref --print-completion``: what shells offer after its script is read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers import run, tool
from tables import rows

from mxref.cli import main
from mxref.cli.command_line import VERBS

Capture = pytest.CaptureFixture[str]

#: Calls the function that `complete` has for the command as bash does when Tab is pressed.
BASH = (Path(__file__).parent / "data" / "tab.txt").read_text("ascii")


def script(shell: str, folder: Path, capsys: Capture) -> None:
    assert main(["--print-completion", shell]) == 0
    (folder / "script").write_text(capsys.readouterr().out)


def test_bash(tmp_path: Path, capsys: Capture) -> None:
    script("bash", tmp_path, capsys)
    for name in ("my-weights.npy", "my-kernel.py"):
        (tmp_path / name).touch()
    (tmp_path / "my-vectors").mkdir()
    wanted = {"mxref ": {*VERBS}}
    wanted |= {typed: {*words.split()} for typed, words in rows("cli", "tables", "typed")}
    command = [tool("bash"), "--norc", "-c", BASH, "bash", *wanted]
    done = run(*command, cwd=tmp_path, check=True)
    for typed, line in zip(wanted, done.stdout.splitlines(), strict=True):
        offered = {*line.split()}
        assert offered >= wanted[typed] if typed == "mxref " else offered == wanted[typed], typed


def test_fish(tmp_path: Path, capsys: Capture) -> None:
    script("fish", tmp_path, capsys)
    command = [tool("fish"), "-c", "source ./script; complete -C 'mxref quantize x --format nv'"]
    done = run(*command, cwd=tmp_path, check=True)
    assert done.stdout.split()[0] == "nvfp4"


def test_zsh(tmp_path: Path, capsys: Capture) -> None:
    script("zsh", tmp_path, capsys)
    assert (tmp_path / "script").read_text().startswith("#compdef mxref\n")
    run(tool("zsh"), "-n", "script", cwd=tmp_path, check=True)


def test_without_shtab(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    assert capsys.readouterr().err == (
        "mxref: error: --print-completion needs shtab: pip install shtab\n"
    )
