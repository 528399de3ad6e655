"""One explanation of `mxref explain`: its data, which `--json` prints, and how it is shown."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mxref.cli.screen import print_heading, print_text
from mxref.cli.text_tables import table_lines

__all__ = [
    "LINES",
    "WIDTH",
    "Explanation",
    "few",
    "print_explanations",
    "print_part",
    "print_rows",
    "print_wrapped",
]

#: Columns and lines of a screen.
WIDTH, LINES = 100, 45
#: Meanings of a word up to this number are shown in full if they fit a screen.
_IN_FULL = 3
#: Columns of the label of a part.
_LABEL = 12


class Explanation(NamedTuple):
    """The explanation of one thing.

    Args:
        data: JSON values: its `kind`, `name`, a sentence on what it is (`about`), and more.
        show: prints the data as text.
        more: computes data that takes time; left out where a word has several meanings.
    """

    data: dict[str, Any]
    show: Callable[[dict[str, Any]], None]
    more: Callable[[], dict[str, Any]] | None = None


def print_explanations(answers: Sequence[Explanation], asked: str, *, as_json: bool) -> None:
    """Print what a word means: in full if that fits a screen, else a line for each meaning."""
    for one in answers:
        if len(answers) <= _IN_FULL and one.more is not None:
            one.data.update(one.more())
    if as_json:
        found = [one.data for one in answers]
        print(json.dumps({"asked": asked, "answers": found}, indent=1))
        return
    in_full = len(answers) == 1
    if 1 < len(answers) <= _IN_FULL:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            _show_all(answers)
        in_full = text.getvalue().count("\n") <= LINES
    if in_full:
        _show_all(answers)
        return
    print_heading(f"{asked} has {len(answers)} meanings")
    listed = [one for one in answers if one.data["kind"] == "profiles"]
    for one in listed:  # which says in lines of its own what it is
        one.show(one.data)
        print()
    rows = []
    for one in (one for one in answers if one not in listed):
        by = f" ({few(one.data['profiles'], 3)})" if one.data.get("profiles") else ""
        standing = f"{one.data['standing']}: " if "standing" in one.data else ""
        rows.append((one.data["kind"], one.data["name"], f"{standing}{one.data['about']}{by}"))
    print_rows(("kind", "name", "what it is (and profiles that do it)"), rows)
    last = answers[-1].data
    print(f"more of one: mxref explain {last['kind']} {last['name']}")


def _show_all(answers: Sequence[Explanation]) -> None:
    for i, one in enumerate(answers):
        if i:
            print()
        one.show(one.data)


def print_part(label: str, text: str) -> None:
    """Print a part beside its label, in as many lines as it takes; nothing if the text is empty."""
    if text:
        print_wrapped(f"  {label:{_LABEL - 3}} {' '.join(text.split())}", " " * _LABEL)


def print_wrapped(text: str, indent: str = "    ") -> None:
    """Print `wrapped` text."""
    print_text(*wrapped(text, indent))


def wrapped(text: str, indent: str = "    ") -> list[str]:
    """The lines of a text; words are kept whole, and lines after the first are indented."""
    text = encodable(text)
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def encodable(text: str) -> str:
    """A text with `?` for characters that stdout cannot encode."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the width of the text."""
    head, *body = table_lines((header, *rows), WIDTH)
    for line in head:
        print_heading(line)
    for lines in body:
        print_text(*lines)


def few(names: Sequence[str], count: int) -> str:
    """The first names, and the number of the others.

    >>> few(["a", "b", "c"], 2), few(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more
