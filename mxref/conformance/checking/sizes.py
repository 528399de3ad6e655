"""What the sizes of wrong calls have in common, and where in them the wrong answers stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["STEPS", "Sized", "places_text", "residues_text", "size_rule"]

#: Steps of sizes: pairs, vectors, warps, blocks of threads.
STEPS = (2, 4, 8, 16, 32, 64, 128, 256)
#: The share of right calls that a rule may hold of: those without a case that shows the fault.
_TOLERATED = 0.2


@dataclass(frozen=True, slots=True)
class Sized:
    """A call: its size, and whether an answer in it is wrong."""

    size: int
    bad: bool


Rule = tuple[str, Callable[[int], bool]]


def size_rule(calls: Sequence[Sized], unit: str) -> str | None:
    """The property of its size that makes a call wrong, in words; None if there is none.

    It holds of every size with a wrong call, and of few sizes without.

    >>> calls = [Sized(n, n >= 9 and n % 4 != 0) for n in range(1, 40)]
    >>> size_rule(calls, "rows")
    '9 rows and more, whose number is no multiple of 4 (24 of 24 such sizes; 15 others are right)'
    >>> size_rule([Sized(n, n % 3 == 0) for n in range(1, 40)], "rows") is None
    True
    """
    bad = sorted({call.size for call in calls if call.bad})
    good = sorted({call.size for call in calls} - set(bad))
    if not bad or not good:
        return None
    found = []
    for text, holds in _rules(bad, unit):
        outside = [size for size in good if not holds(size)]
        inside = len(bad) + len(good) - len(outside)
        share = 1 - len(bad) / inside
        if all(map(holds, bad)) and outside and share <= _TOLERATED:
            counts = f"{len(bad)} of {inside} such sizes; {len(outside)} others are right"
            found.append((share, f"{text} ({counts})"))
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _rules(bad: Sequence[int], unit: str) -> Iterator[Rule]:
    """Candidates, the plainest first."""
    if len(bad) == 1:
        yield f"{bad[0]:,} {unit}", lambda n: n == bad[0]
    least, most = bad[0], bad[-1]
    yield f"{least:,} {unit} and more", lambda n: n >= least
    yield f"{most:,} {unit} and fewer", lambda n: n <= most
    for step in STEPS:
        wrong = {size % step for size in bad}
        text = residues_text(wrong, step)
        if len(wrong) == step or not text:
            continue
        yield f"a number of {unit} that is {text}", _among(wrong, step, 0)
        above = f"{least:,} {unit} and more, whose number is {text}"
        yield above, _among(wrong, step, least)


def _among(residues: set[int], step: int, least: int) -> Callable[[int], bool]:
    return lambda n: n >= least and n % step in residues


def residues_text(wrong: set[int], step: int) -> str:
    """Remainders of wrong sizes in words; empty if they are not worth saying.

    >>> residues_text({1, 2, 3}, 4), residues_text({0}, 4), residues_text({1, 3}, 4)
    ('no multiple of 4', 'a multiple of 4', '1 or 3 above a multiple of 4')
    """
    if wrong == set(range(1, step)):
        return f"no multiple of {step}"
    if wrong == {0}:
        return f"a multiple of {step}"
    if len(wrong) > 3:
        return ""
    return f"{' or '.join(map(str, sorted(wrong)))} above a multiple of {step}"


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
