"""Tables as lines of text; in tables that are too wide names are folded, numbers never."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["table_lines"]

_GAP = 2
#: Names are not folded into fewer characters than these.
_LEAST = 16
_NUMBER = re.compile(r"[-+]?(?:\d\S*|inf|nan)(?: dB| %)?")
#: Places to break: after a space and after signs that join words, but not inside a number or before
#: its unit.
_BREAK = re.compile(r"(?<= )(?! |dB|%)|(?<=[+_=,./])(?![\d ])|(?<=[^\d ][./])(?! )")


def table_lines(table: Sequence[Sequence[str]], width: int | None = None) -> list[list[str]]:
    r"""The lines of each row; the first row is the header.

    Args:
        table: rows of cells.
        width: characters that a line may have; any number if None. In a wider table the names are
            folded. If that is not enough, a row goes on in further, indented lines. A longer line
            is made only for a single word.

    >>> table = [("choice", "shown by"), ("rounding", "encode.e2m1.f32.3e800000")]
    >>> table_lines(table)
    [['choice    shown by'], ['rounding  encode.e2m1.f32.3e800000']]
    >>> for lines in table_lines(table, 30):
    ...     print(*lines, sep="\n")
    choice    shown by
    rounding  encode.e2m1.
              f32.3e800000
    """
    columns = list(zip(*table, strict=True))
    widths = [max(map(len, column)) for column in columns]
    groups = [list(range(len(columns)))]
    if width is not None and _total(widths) > width:
        widths, fits = _narrowed(columns, widths, width)
        if not fits:
            groups = _groups(widths, width)
    result = []
    for row in table:
        lines: list[str] = []
        for group in groups:
            indent = " " * _GAP * (group is not groups[0])
            lines += (indent + line for line in _side_by_side([(row[i], widths[i]) for i in group]))
        result.append(lines)
    return result


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _narrowed(
    columns: Sequence[Sequence[str]], widths: Sequence[int], width: int
) -> tuple[list[int], bool]:
    """Widths of the columns after the widest ones are folded, and whether the columns fit."""
    new = list(widths)
    least = []
    for column, natural in zip(columns, widths, strict=True):
        longest = max(len(part.rstrip()) for cell in column for part in _parts(cell))
        numbers = all(_NUMBER.fullmatch(cell) for cell in column[1:])  # then it is the header's
        least.append(longest if numbers else max(longest, min(natural, _LEAST)))
    while _total(new) > width:
        wide = [i for i, one in enumerate(new) if one > least[i]]
        if not wide:
            # Each row takes several lines, in which names need not be folded.
            return [
                max(low, min(w, width - _GAP)) for low, w in zip(least, widths, strict=True)
            ], False
        new[max(wide, key=new.__getitem__)] -= 1
    return new, True


def _groups(widths: Sequence[int], width: int) -> list[list[int]]:
    """The columns that stand in each line of a row."""
    groups: list[list[int]] = [[]]
    for i, one in enumerate(widths):
        if groups[-1] and _total([widths[j] for j in groups[-1]] + [one]) > width - _GAP:
            groups.append([])
        groups[-1].append(i)
    return groups


def _side_by_side(cells: Sequence[tuple[str, int]]) -> list[str]:
    """Cells beside each other, each folded into its width."""
    folded = [_folded(text, width) for text, width in cells]
    height = max(map(len, folded))
    rows = zip(*([*lines, *[""] * (height - len(lines))] for lines in folded), strict=True)
    widths = [width for _, width in cells]
    return [
        (" " * _GAP).join(one.ljust(w) for one, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _folded(text: str, width: int) -> list[str]:
    """A text in lines; a part that is too wide has a line of its own."""
    lines = [""]
    for part in _parts(text):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines]


def _parts(text: str) -> list[str]:
    """The parts of a text between places to break.

    >>> _parts("ocp+nan=signed, 1e+05 at layers.0.weight is 18.05 dB")
    ['ocp+', 'nan=', 'signed, ', '1e+05 ', 'at ', 'layers.', '0.', 'weight ', 'is ', '18.05 dB']
    >>> _parts("-0x1.fp+3")  # a number
    ['-0x1.fp+3']
    """
    return [text] if _NUMBER.fullmatch(text) else _BREAK.split(text)
