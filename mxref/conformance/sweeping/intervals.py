"""Wrong inputs as intervals: the longest ranges of consecutive inputs that are all wrong.

The first intervals are kept exactly, all others are only counted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.support.distinct import distinct

__all__ = ["KEPT", "Found", "Interval", "Tally", "find"]

#: Intervals that are kept.
KEPT = 64
#: Different answers that are kept of an interval, the smallest ones.
_ANSWERS = 17


@dataclass(frozen=True, slots=True)
class Interval:
    """Consecutive inputs that are all wrong.

    Args:
        first: the first input.
        last: the last input.
        want: the different right answers, ascending, at most 17.
        got: the target's different answers, likewise; none where it raised.
        error: the error that it raised.
    """

    first: int
    last: int
    want: tuple[int, ...]
    got: tuple[int, ...]
    error: str = ""

    def joined(self, other: Interval) -> Interval:
        """This interval and the one behind it."""
        want, got = (_first(a + b) for a, b in ((self.want, other.want), (self.got, other.got)))
        return dataclasses.replace(self, last=other.last, want=want, got=got)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Interval:
        """The interval that `dataclasses.asdict` wrote."""
        return cls(**{**record, "want": tuple(record["want"]), "got": tuple(record["got"])})


@dataclass(frozen=True, slots=True)
class Found:
    """The wrong inputs of a range.

    Args:
        wrong: number of wrong inputs.
        intervals: number of intervals.
        kept: the first intervals, at most `KEPT`.
        last: the last interval.
    """

    wrong: int
    intervals: int
    kept: tuple[Interval, ...]
    last: Interval


def find(
    first: int,
    wrong: NDArray[np.bool_],
    want: NDArray[Any],
    got: NDArray[Any],
    errors: Sequence[tuple[int, int, str]] = (),
) -> Found | None:
    """The intervals of a range; None if nothing is wrong.

    Args:
        first: the range's first input.
        wrong: for each input whether its answer is wrong.
        want: the right answers.
        got: the target's answers.
        errors: disjoint ranges of inputs that raised, as begin, end and text, in any order.

    >>> wrong = np.array([False, True, True, False])
    >>> find(16, wrong, np.array([0, 1, 1, 2]), np.array([0, 2, 3, 2])).kept
    (Interval(first=17, last=18, want=(1,), got=(2, 3), error=''),)
    """
    wrong = wrong.copy()
    for begin, end, _ in errors:
        wrong[begin - first : end - first] = False
    edges = np.flatnonzero(np.diff(wrong.view(np.int8), prepend=0, append=0))
    raised = sorted(_merged(errors))
    begins = np.concatenate([edges[::2], [begin - first for begin, _, _ in raised]]).astype(int)
    ends = np.concatenate([edges[1::2], [end - first for _, end, _ in raised]]).astype(int)
    if not begins.size:
        return None
    texts = {begin - first: text for begin, _, text in raised}
    order = np.argsort(begins)

    def interval(index: int) -> Interval:
        a, b = int(begins[index]), int(ends[index])
        text = texts.get(a, "")
        answers = () if text else _distinct(got[a:b])
        return Interval(first + a, first + b - 1, _distinct(want[a:b]), answers, text)

    kept = tuple(interval(index) for index in order[:KEPT])
    return Found(int((ends - begins).sum()), begins.size, kept, interval(order[-1]))


def _merged(errors: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Ranges with neighbours of the same text joined."""
    found: list[tuple[int, int, str]] = []
    for begin, end, text in sorted(errors):
        if found and found[-1][1:] == (begin, text):
            begin = found.pop()[0]
        found.append((begin, end, text))
    return found


def _distinct(answers: NDArray[Any]) -> tuple[int, ...]:
    """The smallest different answers; bytes are counted, which is faster than sorting."""
    some = np.bincount(answers).nonzero()[0] if answers.dtype == np.uint8 else distinct(answers)
    return tuple(some[:_ANSWERS].tolist())


def _first(answers: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(answers))[:_ANSWERS])


@dataclass(slots=True)
class Tally:
    """The wrong inputs of all ranges, added in order; intervals may span ranges.

    The result does not depend on how the inputs were cut into ranges.
    """

    wrong: int = 0
    closed: int = 0  #: intervals before the open one
    kept: list[Interval] = field(default_factory=list)
    open: Interval | None = None  #: the last interval, which may continue

    def add(self, found: Found) -> None:
        """Add the next range with wrong inputs."""
        self.wrong += found.wrong
        for interval in found.kept:
            self._put(interval)
        skipped = found.intervals - len(found.kept)
        if skipped:
            self._close()
            self.closed += skipped - 1
            self.open = found.last

    def _put(self, interval: Interval) -> None:
        before = self.open
        goes_on = before is not None and before.last + 1 == interval.first
        if before is not None and goes_on and before.error == interval.error:
            self.open = before.joined(interval)
        else:
            self._close()
            self.open = interval

    def _close(self) -> None:
        if self.open is not None:
            self.closed += 1
            if len(self.kept) < KEPT:
                self.kept.append(self.open)
            self.open = None

    @property
    def count(self) -> int:
        """The number of intervals."""
        return self.closed + (self.open is not None)

    def intervals(self) -> tuple[Interval, ...]:
        """The first intervals, at most `KEPT`."""
        return tuple([*self.kept, self.open] if self.open is not None else self.kept)[:KEPT]

    @property
    def left(self) -> int:
        """The number of intervals that are not kept."""
        return self.count - len(self.intervals())

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Tally:
        """The tally that `as_json` wrote."""
        kept = [Interval.from_json(one) for one in record["kept"]]
        last = None if record["open"] is None else Interval.from_json(record["open"])
        return cls(record["wrong"], record["closed"], kept, last)
