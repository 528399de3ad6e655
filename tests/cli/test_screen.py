"""Text on a terminal: colours, and tables that fit its width."""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from json_tables import cases

import mxref
from mxref.cli import screen as module
from mxref.cli.screen import asking, print_heading, print_table, print_text, progress

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


@pytest.mark.parametrize(("line", "colour", "word"), cases(__file__, "colours"))
def test_results_have_colours_on_a_terminal(
    line: str, colour: str, word: str, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = line.replace(word, f"\x1b[{colour}m{word}\x1b[0m", 1)
    assert screen(lambda: print_text(line)) == f"{want}\n"
    assert screen(lambda: print_text(line), None) == f"{line}\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert screen(lambda: print_text(line)) == f"{line}\n"


def test_headings_are_bold_on_a_terminal_without_no_color(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert screen(lambda: print_heading("rule")) == "\x1b[1mrule\x1b[0m\n"
    assert screen(lambda: print_heading("rule"), None) == "rule\n"
    monkeypatch.setenv("NO_COLOR", "")  # empty: as if it were not there
    assert screen(lambda: print_heading("rule")) == "\x1b[1mrule\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    for show in (lambda: print_heading("rule"), lambda: print_table(("rule",), [("ok",)])):
        assert "\x1b" not in screen(show)


#: Names that are folded, and numbers, which are not; a header may be wider than its numbers.
TABLE = (
    ("name", "policy", "sqnr_db", "largest_error", "share"),
    ("layers.10.self_attn.q_proj", "ocp+overflow=nonsaturating+nan=signed", "18.4155", "0.5", "1"),
    ("an unusually long name of 3 words", "ocp", "-", "1.23457e-05", "0.0390625"),
    ("", "ocp+rounding=to_odd", "-7.25", "inf", "1.5 %"),
)


@pytest.mark.parametrize("columns", range(30, 150, 3))
def test_a_table_fits_a_terminal_and_its_numbers_are_whole(columns: int, screen: Screen) -> None:
    text = plain(screen(lambda: print_table(TABLE[0], TABLE[1:]), columns))
    lines = text.splitlines()
    assert max(map(len, lines)) <= columns
    words = re.split(r"\s+", text.replace(" %", "_%"))
    for row in TABLE[1:]:
        for number in row[2:]:
            assert number.replace(" ", "_") in words
    assert sorted(text.replace("\n", " ").replace(" ", "")) == sorted(
        "".join(cell for row in TABLE for cell in row).replace(" ", "")
    )


def test_a_table_in_a_pipe_has_a_line_for_each_row(screen: Screen) -> None:
    text = screen(lambda: print_table(TABLE[0], TABLE[1:]), None)
    lines = text.splitlines()
    assert len(lines) == len(TABLE)
    for row, line in zip(TABLE, lines, strict=True):
        assert re.split(r"  +", line.strip()) == [cell for cell in row if cell]


def test_a_row_that_is_no_number_but_wide_is_not_cut(screen: Screen) -> None:
    header, row = ("name", "figure"), ("encode [e4m3] :x:", "1234567890" * 9)
    text = screen(lambda: print_table(header, [row]), 20)
    assert "\x1b[1m" in text
    assert row[1] in text.splitlines()[-1]


def test_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Begun at 1000 s with 3 parts done before: 2 parts in 10 s leave 5 parts 25 s."""
    now = [1000.0]
    monkeypatch.setattr("mxref.cli.screen.time", SimpleNamespace(monotonic=lambda: now[0]))
    with progress("sweep") as tell:
        for seconds, done in ((1004.9, 4), (1010.0, 5), (1014.9, 6), (1015.0, 7), (1030.0, 10)):
            now[0] = seconds
            tell(done, 10, done - 4)
    assert capsys.readouterr().err.splitlines() == [
        "50.0%, 1 wrong, about 25 s to go",
        "70.0%, 3 wrong, about 11 s to go",  # 3 of 4 in 15 s
    ]


def test_without_rich_the_text_is_the_same(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    def show() -> None:
        print_table(("", "op"), [("FAIL", "encode"), ("ok", "decode")])
        print_text("FAIL my_kernel.py: 2 cases")

    coloured = screen(show)
    assert coloured.count("\x1b[1;31m") == 2
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert screen(show) == screen(show, None) == plain(coloured)


@pytest.mark.sampled(12)
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


# --- what is asked, and how long it still takes ---------------------------------------------------


def told(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, seconds: float) -> str:
    """What is written to stderr of two parts, the second of them after some seconds."""
    err, clock = io.StringIO(), [100.0]
    monkeypatch.setattr(err, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with asking() as tell:
        tell("the vectors", 0.0)
        clock[0] += seconds
        tell("a search", 0.25)
    return err.getvalue()


def test_what_is_asked_and_how_long_it_takes_is_a_line_that_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = told(monkeypatch, terminal=True, seconds=50)
    _, line, blank, last = text.split("\r")
    assert line.rstrip() == "a search: 25%, about 150 s to go".replace("150 s", "2 min")
    assert (blank.strip(), len(blank) >= len(line.rstrip()), last) == ("", True, "")


def test_work_of_a_moment_and_a_pipe_show_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, terminal=True, seconds=0.5) == ""
    assert told(monkeypatch, terminal=False, seconds=50) == ""
