"""The page of ``mxref diff --html`` about casts: each kind of difference in bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mxref.bits.floats import F32
from mxref.conformance.differing.cast_difference import CastDifference, CastExample
from mxref.reports.bit_fields import Word, of_code, of_float
from mxref.reports.diff_page import DifferenceKind, write_parts

__all__ = ["write_cast_page"]


def write_cast_page(
    path: Path,
    found: CastDifference,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    command: str = "",
) -> None:
    """Write the page of a difference in casts.

    Args:
        path: the file.
        found: the difference.
        header: the heading of the rows' labels, then the names of the data that have figures.
        rows: the figures in words.
        command: the command that makes the page, for its last line.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: jinja2 is not installed, or the path is no regular file.
    """
    parts = [_example(found, one) for one in found.examples]
    for one in found.readings:
        reads = (
            of_float(f"{found.a} reads", one.a, F32),
            of_float(f"{found.b} reads", one.b, F32, one.a),
        )
        groups = (("", (_code(found, one.code),)), ("", reads))
        parts.append(DifferenceKind(f"reading, {one.kind}: {_several(one.count, 'code')}", groups))
    every = "all " * (found.tried == 1 << found.layout.width)
    tried = f"{every}{found.tried} numbers of {found.layout.name}" if found.tried else ""
    what = f"casts to {found.format.name}"
    write_parts(
        path, found, parts, what=what, tried=tried, header=header, rows=rows, command=command
    )


def _example(found: CastDifference, one: CastExample) -> DifferenceKind:
    """A number, and for each side the code it gives and the number it reads, in bits."""
    groups = (
        ("", (of_float("input", one.word, found.layout),)),
        (found.a, _side(found, one, 0)),
        (found.b, _side(found, one, 1)),
    )
    return DifferenceKind(f"casting, {one.kind}: {_several(one.count, 'number')}", groups)


def _side(found: CastDifference, one: CastExample, side: int) -> tuple[Word, ...]:
    """The code of a side, what it reads in it, and what the other side reads if that differs."""
    code, first = one.codes[side], one.codes[0] if side else None
    if code is None:
        return (Word("answer", "an error", ()),)
    own, other = one.own[side], one.other[side]
    words = [_code(found, code, first)]
    words.append(of_float("reads", own, F32, one.own[0] if first is not None else None))
    if other != own:
        reader = (found.b, found.a)[side]
        words.append(of_float(f"{reader} reads in it", other, F32, own))
    return tuple(words)


def _code(found: CastDifference, code: int, wanted: int | None = None) -> Word:
    """A code without its value, since each side reads another."""
    return replace(of_code("code", code, found.format, wanted), text=f"{code:02x}")


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
