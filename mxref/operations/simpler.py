"""Ways to simplify a case, from the kinds of its words: fewer values, in first places, simpler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mxref.operands.kinds import Kind

__all__ = ["Attempt", "attempts_by_kinds", "dropped", "moved_up", "replaced"]

Words = NDArray[np.uint64]
#: From a case to simpler cases to try, the simplest first.
Attempt = Callable[[Words], Words]


def attempts_by_kinds(kinds: Sequence[Kind | None], *, moved: bool) -> Iterator[Attempt]:
    """Values left out, moved to the first places, and each made simpler.

    Args:
        kinds: of the words of a case.
        moved: whether values may change their places.
    """
    last = kinds[-1]
    same = [isinstance(one, type(last)) and one is not None and one.easy == 0 for one in kinds]
    first = len(kinds) - next((i for i, one in enumerate(reversed(same)) if not one), len(kinds))
    if len(kinds) - first > 1:
        yield partial(dropped, first=first)
        if moved:
            yield partial(moved_up, first=first)
    for place, kind in enumerate(kinds):
        if kind is not None:
            yield partial(_simpler, place=place, kind=kind)


def _simpler(row: Words, place: int, kind: Kind) -> Words:
    return replaced(row, place, kind.simpler(int(row[place])))


def replaced(row: Words, place: int, words: Iterable[int]) -> Words:
    """Copies of a case with each of these words in a place."""
    some = list(words)
    rows = np.tile(row, (len(some), 1))
    rows[:, place] = some
    return rows


def dropped(row: Words, first: int) -> Words:
    """Copies of a case with one nonzero value set to zero, the last one first."""
    places = np.flatnonzero(row[first:])[::-1] + first
    rows = np.tile(row, (len(places), 1))
    rows[np.arange(len(places)), places] = 0
    return rows


def moved_up(row: Words, first: int) -> Words:
    """Copies of a case with one nonzero value moved to a zero before it."""
    pairs = [
        (zero, place)
        for place in np.flatnonzero(row[first:]) + first
        for zero in range(first, place)
        if row[zero] == 0
    ]
    rows = np.tile(row, (len(pairs), 1))
    for moved, (zero, place) in zip(rows, pairs, strict=True):
        moved[zero], moved[place] = row[place], 0
    return rows
