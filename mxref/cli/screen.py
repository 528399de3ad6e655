"""What the verbs share: adding a parser, finding the vectors, printing a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mxref.cases.folder import vectors_folder

__all__ = ["Verbs", "new_parser", "print_table", "vectors_default", "vectors_folder"]

#: What `add_parser` of every verb is given.
Verbs = Any


def new_parser(
    verbs: Verbs, name: str, run: Callable[[argparse.Namespace], int], about: str, example: str
) -> argparse.ArgumentParser:
    """A verb's parser, with its description and an example in `--help`."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def vectors_default(*, writing: bool = False) -> str:
    """`vectors_folder` in words, for `--help`."""
    folder = vectors_folder(writing=writing)
    if not folder.is_absolute():
        return "./vectors"
    return "vectors/ of the checkout" if folder.name == "vectors" else "the package's own"


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: drawn by rich on a terminal if it is installed, else in plain columns."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
        except ImportError:
            pass
        else:
            table = Table(*header, box=None, header_style="bold", pad_edge=False)
            for row in rows:
                table.add_row(*row)
            Console(highlight=False, markup=False).print(table)
            return
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
