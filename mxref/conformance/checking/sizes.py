"""What sizes of calls are wrong, and where in a call the wrong answers stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.rules import STEPS, Rule, rule_of

__all__ = ["Sized", "edge_text", "least_wrong", "places_text", "size_rule"]

#: The share of right calls that a rule may hold of: those without a case that shows the fault.
_TOLERATED = 0.2


@dataclass(frozen=True, slots=True)
class Sized:
    """A call: its size, and whether an answer in it is wrong."""

    size: int
    bad: bool


def size_rule(calls: Sequence[Sized], unit: str) -> tuple[Rule, str] | None:
    """The property of its size that makes a call wrong, with counts; None if there is none.

    It holds of every size with a wrong call, and of few sizes without.

    >>> calls = [Sized(n, n >= 9 and n % 4 != 0) for n in range(1, 40)]
    >>> rule, counts = size_rule(calls, "rows")
    >>> print(rule.text)
    9 rows and more, and a number of rows that is no multiple of 4
    >>> counts
    '24 of 24 such sizes; 15 others are right'
    >>> size_rule([Sized(n, n in (2, 3, 5, 8, 13, 21, 34)) for n in range(1, 40)], "rows") is None
    True
    """
    sizes = sorted({call.size for call in calls})
    bad = {call.size for call in calls if call.bad}
    rule = rule_of([{unit: size} for size in sizes], [size in bad for size in sizes])
    if rule is None:
        return None
    inside = int(rule.inside.sum())
    if len(bad) < (1 - _TOLERATED) * inside:
        return None
    counts = f"{len(bad)} of {inside} such sizes; {len(sizes) - inside} others are right"
    return rule, counts


def least_wrong(right: int, wrong: int, is_wrong: Callable[[int], bool]) -> int:
    """The least wrong number above a right one, by bisection.

    >>> least_wrong(257, 65573, lambda size: size > 65535)
    65536
    """
    while wrong - right > 1:
        middle = (wrong + right) // 2
        right, wrong = (right, middle) if is_wrong(middle) else (middle, wrong)
    return wrong


def places_text(places: Sequence[tuple[NDArray[np.int64], int]], unit: str) -> str:
    """Where in the calls the wrong answers stand, if one rule says it; else nothing.

    Args:
        places: for each wrong call the places of its wrong answers, and its size.
        unit: what calls consist of.

    >>> places_text([(np.array([32]), 33), (np.array([128, 129]), 130)], "rows")
    ', in the rows behind the last multiple of 4'
    """
    for step in STEPS:
        if 2 * sum(size > step for _, size in places) >= len(places) > 0 and all(
            (some >= size // step * step).all() for some, size in places
        ):
            return f", in the {unit} behind the last multiple of {step}"
    least = min((int(some.min()) for some, _ in places), default=0)
    for power in range(6, 20):
        if 0 <= least - (1 << power) < max(8, 1 << power - 3):
            return f", in {unit} from number {least:,} on"
    return ""


def edge_text(
    places: Sequence[tuple[NDArray[np.int64], int]], calls: Sequence[Sized], unit: str
) -> str:
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
    if len({size for _, size in places}) < max((1 - _TOLERATED) * len(sizes), 1):
        return ""
    last = max(size - int(some.min()) for some, size in places)
    first = max(int(some.max()) + 1 for some, _ in places)
    count, side = min((last, "last"), (first, "first"))
    # Most calls have to be so long that the edge is a small part of them.
    if 2 * sum(size >= 4 * count for _, size in places) < len(places):
        return ""
    what = f"{count} {unit}" if count > 1 else unit.removesuffix("s")
    return f"in calls of every size, in the {side} {what}"
