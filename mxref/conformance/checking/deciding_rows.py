"""Which other rows of a call decide an answer: one row after the other is changed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.repeated_cases import RepeatedCases, Rows

__all__ = ["deciding_rows", "which_rows"]

#: Rows of the calls; those of the second size are asked where the first one shows nothing.
_SIZES = (16, 64)
#: How many calls are begun with, and how many cases each row is changed to.
_BEGUN, _OTHERS = 8, 6
#: Seconds after which nothing more is asked: of a slow target less is found.
_SECONDS = 5.0
#: Rows that share something, at least two.
_GROUPS = (2, 4, 8, 16, 32)
#: The first row that others decide; of those that say the same the last one.
_FROM = (0, 16, 8, 4, 2, 1)
#: Changes in the first rows of which none shows, at least, where others do.
_SILENT = 8

Decides = NDArray[np.bool_]


def deciding_rows(one: RepeatedCases, unit: str) -> str:
    """Which rows decide the answer to another one, in words; empty if that is not found.

    Args:
        one: the cases, of which answers depend on what else is in the call.
        unit: what calls consist of, in the plural.
    """
    start = time.perf_counter()
    for size in _SIZES:
        decides = np.zeros((size, size), np.bool_)
        for turn in range(_BEGUN):
            decides |= _decides(one, size, turn)
            is_late = time.perf_counter() - start > _SECONDS
            if is_late or (turn and not decides.any()):
                break
        if text := which_rows(decides, unit):
            return text
    return ""


def which_rows(decides: Decides, unit: str) -> str:
    """Which rows decide the answer to another one, in words.

    Args:
        decides: for each row and each other one whether that was seen to decide its answer.
        unit: what they are, in the plural.

    >>> pairs = np.eye(8, dtype=bool).reshape(4, 2, 8)[:, ::-1].reshape(8, 8)
    >>> which_rows(pairs, "rows"), which_rows(np.eye(8, k=-1, dtype=bool), "rows")
    ('on the other one of rows 2i and 2i + 1', 'on the row before it')
    """
    seen = int(decides.sum())
    for text, pattern in _patterns(len(decides), unit) if seen else ():
        for begin in _FROM:
            some = pattern.copy()
            some[:begin] = some[:, :begin] = False
            if (decides & ~some).any():
                continue
            # A change does not always show; that none shows in the first rows says something.
            share = 2 * seen >= some.sum() and pattern.sum() >= some.sum() + _SILENT
            if seen == some.sum() or (begin and share):
                return text + f", from {unit.removesuffix('s')} {begin} on" * (begin > 0)
        if 2 * seen >= pattern.sum() and not (decides & ~pattern).any():
            return text
    return ""


def _patterns(size: int, unit: str) -> Iterator[tuple[str, Decides]]:
    """Known ways in which rows decide each other's answers, the narrowest first."""
    row, other = np.indices((size, size))
    one = unit.removesuffix("s")
    yield f"on the {one} before it", other == row - 1
    yield f"on the {one} after it", other == row + 1
    yield f"on the first {one}", (other == 0) & (row > 0)
    yield f"on the last {one}", (other == size - 1) & (row < size - 1)
    for group in (group for group in _GROUPS if group < size):
        which = "on the other one of" if group == 2 else "on the others of"
        link = "and" if group == 2 else "to"
        text = f"{which} {unit} {group}i {link} {group}i + {group - 1}"
        yield text, (row // group == other // group) & (row != other)
    yield f"on the {unit} beside it", abs(other - row) == 1
    half = size // 2
    yield f"on the {one} half a call away", abs(other - row) == half
    yield f"on all {unit} before it", other < row
    yield f"on all {unit} after it", other > row
    yield f"on all other {unit}", row != other


def _decides(one: RepeatedCases, size: int, turn: int) -> Decides:
    """For each row of a call and each other one whether a change of that changed its answer."""
    found = np.zeros((size, size), np.bool_)
    begun = one.chosen(size, turn)
    before = _answers(one, begun)
    if before is None:
        return found
    for place in range(size):
        for case in one.chosen(_OTHERS, turn + 1):
            rows = begun.copy()
            rows[place] = case
            now = _answers(one, rows)
            if now is not None:
                found[:, place] |= (now != before).any(axis=1)
    np.fill_diagonal(found, val=False)
    return found


def _answers(one: RepeatedCases, rows: Rows) -> NDArray[np.uint64] | None:
    """The answers in a call with some cases; None if it raises."""
    call = one.ask(rows, 2)
    if call.error:
        return None
    answers = one.first[rows].copy()
    answers[call.changed, : call.got.shape[1]] = call.got
    return answers
