"""Where in calls the wrong answers stand, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.call_rules import TOLERATED, Sized
from mxref.support.distinct import distinct

__all__ = ["edge_text", "places_text", "zero_words"]

#: For each wrong call the places of its wrong answers, and its size.
Places = Sequence[tuple[NDArray[np.int64], int]]

#: Steps of which a tail is left, and those of which some lines are wrong again and again.
_TAILS = tuple(1 << power for power in range(1, 9))
_PERIODS = tuple(1 << power for power in range(12, 0, -1))
#: Calls longer than a step that show that it is its tail which is wrong.
_ENOUGH = 4
#: Periods with wrong lines that show that it is a period.
_AGAIN = 3


def places_text(places: Places, unit: str) -> str:
    """Where in the calls the wrong answers stand, if one rule says it; else nothing.

    Args:
        places: for each wrong call the places of its wrong answers, and its size.
        unit: what calls consist of.

    >>> places_text([(np.array([32]), 33), (np.array([128, 129]), 130)], "rows")
    ', in the rows behind the last multiple of 4'
    >>> every = [(np.arange(31, size, 32), size) for size in range(300, 310)]
    >>> places_text(every, "rows")
    ', in rows whose number is 31 above a multiple of 32'
    >>> places_text([(np.arange(64, 96), size) for size in range(300, 310)], "rows")
    ', in rows from number 64 to number 95'
    >>> places_text([(np.arange(65, size, 2), size) for size in range(200, 210)], "rows")
    ', in rows from number 65 on whose number is 1 above a multiple of 2'
    """
    enough = min(_ENOUGH, (len(places) + 1) // 2)
    for step in (1, *_TAILS) if places else ():
        tails = ((size - 1 if step == 1 else size // step * step) for _, size in places)
        if sum(size > step for _, size in places) >= enough and all(
            (some >= tail).all() for (some, _), tail in zip(places, tails, strict=True)
        ):
            if step == 1:
                return f", in the last {unit.removesuffix('s')}"
            return f", in the {unit} behind the last multiple of {step}"
    step, again = _again(places)
    least, span = _range(places)
    rules = span if least > step else "", again  # a period says where its first line is
    return f", in {unit}{''.join(rules)}" if any(rules) else ""


def _again(places: Places) -> tuple[int, str]:
    """The period of which the same lines are wrong, at most half of it, and which; else nothing."""
    every = distinct(np.concatenate([np.empty(0, np.int64), *(some for some, _ in places)]))
    found: list[tuple[float, int, str]] = []
    for step in _PERIODS:
        rests = distinct(every % step)
        low, high = (int(rests[0]), int(rests[-1])) if rests.size else (0, step)
        is_band = rests.size == high - low + 1 <= step // 2
        if is_band and distinct(every // step).size >= _AGAIN:
            above = f"{low} to {high}" if high > low else str(low)
            rest = f"{above} above a multiple of {step:,}" if high else f"a multiple of {step:,}"
            found.append((rests.size / step, step, f" whose number is {rest}"))
    return min(found, default=(1, 0, ""))[1:]


def _range(places: Places) -> tuple[int, str]:
    """The least wrong place, and that they begin, or begin and end, there; else nothing."""
    least = min((int(some.min()) for some, _ in places), default=0)
    most = max((int(some.max()) for some, _ in places), default=0)
    longer = [size for _, size in places if size > 2 * most]
    if least and len(longer) >= _ENOUGH:
        return least, f" from number {least:,} to number {most:,}"
    for power in range(6, 20):
        if 0 <= least - (1 << power) < max(8, 1 << power - 3):
            return least, f" from number {least:,} on"
    return least, ""


def edge_text(places: Places, calls: Sequence[Sized], unit: str) -> str:
    """That calls of every size are wrong, all at their end or beginning; else nothing.

    Args:
        places: for each wrong call the places of its wrong answers, and its size.
        calls: all calls.
        unit: what calls consist of.

    >>> places = [(np.array([n - 1]), n) for n in range(1, 9)]
    >>> calls = [Sized(n, True) for n in range(1, 9)]
    >>> edge_text(places, calls, "rows")
    'in calls of every size, in the last row'
    """
    sizes = {call.size for call in calls}
    if len({size for _, size in places}) < max((1 - TOLERATED) * len(sizes), 1):
        return ""
    last = max(size - int(some.min()) for some, size in places)
    first = max(int(some.max()) + 1 for some, _ in places)
    count, side = min((last, "last"), (first, "first"))
    # Most calls have to be so long that the edge is a small part of them.
    if 2 * sum(size >= 4 * count for _, size in places) < len(places):
        return ""
    what = f"{count} {unit}" if count > 1 else unit.removesuffix("s")
    return f"in calls of every size, in the {side} {what}"


def zero_words(wrong: NDArray[np.uint64], unit: str) -> list[str]:
    """That all of some wrong words are 0, as where nothing was written, in words.

    >>> zero_words(np.array([0, 0], np.uint64), "word")
    ['where every wrong word is 0']
    """
    return [f"where every wrong {unit} is 0"] if wrong.size and not wrong.any() else []
