"""Output to the terminal: parsers of verbs, tables and progress; the only user of rich."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mxref.cases.folder import vectors_folder
from mxref.cli.parsing import Parser
from mxref.cli.text_tables import table_lines

__all__ = [
    "Verbs",
    "add_json_argument",
    "add_vectors_argument",
    "asking",
    "counted",
    "new_parser",
    "print_heading",
    "print_table",
    "print_text",
    "progress",
    "vectors_default",
    "vectors_folder",
]

#: The object with `add_parser` that argparse returns for the verbs of a parser.
Verbs = Any
#: The exit statuses that mean the same for every verb.
_OTHER_EXITS = ((2, "misuse, in a sentence on stderr"), (130, "interrupted; 143: ended by SIGTERM"))
#: Seconds between two lines of progress.
_TELL = 5.0
#: Seconds before progress is shown in a line; seconds between two updates; characters of the line.
_QUIET, _REDRAW, _LINE = 1.0, 0.1, 70
#: Results at the beginning or the end of a line; they are coloured.
_MARKS = re.compile(r"^(?:ok|PASS|FAIL|BUG|WRONG)\b|\b(?:ok|WRONG)$")
_COLOURS = {"ok": "green", "PASS": "bold green", "FAIL": "bold red"}


def new_parser(
    verbs: Verbs,
    name: str,
    run: Callable[[argparse.Namespace], int],
    about: str,
    example: str,
    *,
    exits: Sequence[str],
    formats: str,
    notes: str = "",
) -> Parser:
    """The parser of a verb; its `--help` has an example, formats and exit statuses.

    Args:
        verbs: the subparsers that it is added to.
        name: the verb.
        run: runs the verb, and returns the exit status.
        about: what it does.
        example: commands, a line each.
        exits: the meanings of the exit statuses 0 and 1; one sentence if 1 cannot occur.
        formats: the formats that the verb takes: a kind of `format_names.formats_of`.
        notes: explanations of its figures, in lines.
    """
    parser: Parser = verbs.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n  {example}{notes and f'{chr(10)}{chr(10)}{notes}'}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.last_part = partial(_last_part, formats, exits)
    return parser


def _last_part(formats: str, exits: Sequence[str]) -> str:
    """The end of `--help`: where formats are listed, and exit statuses."""
    where = f"`mxref formats --of {formats}` lists the names, `mxref formats` what they are"
    statuses = [*enumerate(exits), *_OTHER_EXITS]
    lines = [
        ("formats:", [("", where)]),
        ("exit status:", [(f"{status:<5}", text) for status, text in statuses]),
    ]
    text = ""
    for title, entries in lines:
        text += f"\n{title}\n"
        for head, body in entries:
            indent = " " * (2 + len(head))
            text += textwrap.fill(body, 80, initial_indent=f"  {head}", subsequent_indent=indent)
            text += "\n"
    return text


def vectors_default(*, writing: bool = False) -> str:
    """The default of `vectors_folder`, in words for `--help`."""
    folder = vectors_folder(writing=writing)
    if not folder.is_absolute():
        return "./vectors"
    return "vectors/ of the checkout" if folder.name == "vectors" else "the package's own"


def add_vectors_argument(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the option that names the folder of the vectors."""
    about = f"folder of the vectors (default: {vectors_default()})"
    parser.add_argument("--vectors", type=Path, default=default, metavar="DIR", help=about)


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints a report as JSON."""
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _width() -> int | None:
    """Columns of the terminal that stdout writes to; None if it is no terminal."""
    if not sys.stdout.isatty():
        return None
    size = os.terminal_size((80, 24))
    with contextlib.suppress(OSError, ValueError):
        size = os.get_terminal_size(sys.stdout.fileno())  # its file descriptor need not be 1
    return shutil.get_terminal_size(size).columns


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], headings: Mapping[int, str] | None = None
) -> None:
    """Print a table in columns; on a terminal it fits the width, and rich makes the header bold.

    Numbers are never cut or folded; see `table_lines`. `headings` has lines by the number of the
    row above which they stand.
    """
    head, *body = table_lines((header, *rows), _width())
    for line in head:
        _print_styled(line, "bold")
    for number, lines in enumerate(body):
        if headings and number in headings:
            print_heading(headings[number])
        print_text(*lines)


def print_heading(text: str) -> None:
    """Print a line; on a terminal it is bold, if rich is installed and NO_COLOR is not set."""
    _print_styled(text, "bold")


def print_text(*lines: str) -> None:
    """Print lines; on a terminal rich, if installed, colours ok, PASS, FAIL, BUG and WRONG.

    The text is the same without colours, as in a file or a pipe and if NO_COLOR is set.
    """
    for line in lines:
        mark = _MARKS.search(line)
        if mark is None:
            print(line)
            continue
        print(line[: mark.start()], end="")
        _print_styled(mark[0], _COLOURS.get(mark[0], "bold red"), end="")
        print(line[mark.end() :])


def _print_styled(text: str, style: str, end: str = "\n") -> None:
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):  # then no escape codes at all
        with contextlib.suppress(ImportError):
            from rich.console import Console

            console = Console(highlight=False, markup=False, emoji=False)
            console.print(text, style=style, soft_wrap=True, end=end)
            return
    print(text, end=end)


@contextlib.contextmanager
def progress(name: str) -> Iterator[Callable[[int, int, int], None]]:
    """Progress on stderr: a bar of rich on a terminal, if installed; else a line from time to time.

    Args:
        name: the name of the bar while nothing is wrong.

    Yields:
        A function to call with the work done, all work, and the number of wrong results so far.
    """
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.progress import Progress
        except ImportError:
            pass
        else:
            with Progress(console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task(name, total=None)

                def draw(done: int, total: int, wrong: int) -> None:
                    text = f"{wrong} wrong" if wrong else name
                    bar.update(task, completed=done, total=total, description=text)

                yield draw
            return
    began = told = time.monotonic()
    start: int | None = None  # work that an interrupted run did before

    def tell(done: int, total: int, wrong: int) -> None:
        nonlocal told, start
        now = time.monotonic()
        start = done - 1 if start is None else start
        if now - told >= _TELL and done < total:
            told = now
            left = (now - began) / (done - start) * (total - done)
            text = f"{done / total:.1%}, {wrong} wrong, about {_duration(left)} to go"
            print(text, file=sys.stderr, flush=True)

    yield tell


@contextlib.contextmanager
def counted(name: str, total: int) -> Iterator[Callable[[int], None]]:
    """Progress in a line of stderr, if that is a terminal, of work that takes over a second.

    Args:
        name: name of the work.
        total: amount of all work.

    Yields:
        A function to call with the amount of further work done.
    """
    done = 0
    with asking() as tell:

        def more_done(more: int) -> None:
            nonlocal done
            done += more
            tell(name, done / total)

        yield more_done


@contextlib.contextmanager
def asking() -> Iterator[Callable[[str, float], None]]:
    """Progress in a line of stderr, if that is a terminal, of work that takes over a second.

    Yields:
        A function to call with what is done now, and the share of all work that is done.
    """
    stream = sys.stderr  # the one of now: while a target is called there may be another
    terminal = stream is not None and stream.isatty()
    began, told = time.monotonic(), 0.0

    def tell(what: str, share: float) -> None:
        nonlocal told
        now = time.monotonic()
        if terminal and share and now - began >= _QUIET and now - told >= _REDRAW:
            left = (now - began) / share * (1 - share)
            text = f"{what}: {share:.0%}, about {_duration(left)} to go"
            print(f"\r{text:<{_LINE}}", end="", file=stream, flush=True)
            told = now

    try:
        yield tell
    finally:
        if told:
            print(f"\r{'':{_LINE}}\r", end="", file=stream, flush=True)


def _duration(seconds: float) -> str:
    """A time in seconds, minutes or hours.

    >>> _duration(95), _duration(700), _duration(66357)
    ('95 s', '12 min', '18 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
