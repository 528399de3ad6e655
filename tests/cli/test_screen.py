"""Text on a terminal: colours, and tables that fit its width."""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import mxref
from mxref.cli.screen import print_table, print_text

Screen = Callable[..., str]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """What a function prints on a terminal of some columns, or into a pipe if they are None."""

    def shown(print_: Callable[[], None], columns: int | None = 80) -> str:
        out = io.StringIO()
        if columns is not None:
            monkeypatch.setattr(out, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns or 80))
        monkeypatch.setattr(sys, "stdout", out)
        print_()
        return out.getvalue()

    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return shown


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("ok  encode", "\x1b[32mok\x1b[0m  encode\n"),
        ("PASS a.py: ok", "\x1b[1;32mPASS\x1b[0m a.py: ok\n"),
        ("FAIL  encode", "\x1b[1;31mFAIL\x1b[0m  encode\n"),
        ("BUG: amax", "\x1b[1;31mBUG\x1b[0m: amax\n"),
        ("encode  e2m1  WRONG", "encode  e2m1  \x1b[1;31mWRONG\x1b[0m\n"),
        ("encode  e2m1  ok", "encode  e2m1  \x1b[32mok\x1b[0m\n"),
        ("okay, a token of FAILURE [bold]x[/bold] 1\t2", None),
    ],
)
def test_results_have_colours_on_a_terminal(
    line: str, want: str | None, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert screen(lambda: print_text(line)) == (want or f"{line}\n")
    assert screen(lambda: print_text(line), None) == f"{line}\n"
    monkeypatch.setenv("NO_COLOR", "1")
    without = screen(lambda: print_text(line))
    assert not re.search(r"\x1b\[[\d;]*3\d", without)
    assert plain(without) == f"{line}\n"


def test_without_rich_the_text_is_the_same(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    def show() -> None:
        print_table(("", "op"), [("FAIL", "encode"), ("ok", "decode")])
        print_text("FAIL my_kernel.py: 2 cases")

    coloured = screen(show)
    assert coloured.count("\x1b[1;31m") == 2
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert screen(show) == screen(show, None) == plain(coloured)


def test_one_module_uses_rich() -> None:
    package = Path(mxref.__file__).parent
    users = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if any((name or "").split(".")[0] == "rich" for name in names):
                users.add(path.relative_to(package).as_posix())
    assert users == {"cli/screen.py"}
