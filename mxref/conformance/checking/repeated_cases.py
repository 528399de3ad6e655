"""The cases of a vector file, asked again in calls of any size and order."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.conformance.checking.array_memory import copies
from mxref.conformance.compare.compare import Outcome, same_answers
from mxref.formats.catalog import OTHER_BLOCK_FORMATS
from mxref.operands.splitmix import drawn_order
from mxref.support.integers import rounded_up
from mxref.targets.calls import call_operation, error_text, has_row_scales, is_fault, quiet

__all__ = ["Call", "RepeatedCases", "Rows"]

Words = NDArray[np.uint64]
Rows = NDArray[np.int64]

#: Rows of a call whose arrays lie elsewhere in memory, at least; how many such calls have one case.
_MOVED, _REPEATED = 33, 3


@dataclass(frozen=True, slots=True)
class Call:
    """One call with cases of a file that were asked before.

    Args:
        file: the vector file.
        rows: the cases, by their numbers in the file.
        turn: 1 or 2.
        offset: how many items its arrays began behind an aligned address.
        way: `batch`, `memory`, `scales`, `threads`, or one of `kept_results`.
        changed: places in `rows` whose answer was another one than before.
        got: the answers there, one a row.
        error: what it raised instead, or what is wrong with it in words.
        later: of `held`, the how manyth call after it changed its result.
        memory: of `memory`, one of MEMORIES, by its number.
    """

    file: VectorFile
    rows: Rows
    turn: int
    offset: int
    way: str
    changed: Rows
    got: Words
    error: str = ""
    later: int = 1
    memory: int = 1

    @property
    def differs(self) -> bool:
        """Whether an answer changed, or there was none."""
        return bool(self.error) or self.changed.size > 0


class RepeatedCases:
    """The cases of one vector file, to be asked again in other calls.

    Args:
        function: the target's operation.
        outcome: its answers to the file; cases that raised an error are not asked again.
    """

    def __init__(self, function: Callable[..., Any], outcome: Outcome) -> None:
        self.function, self.outcome = function, outcome
        self.file, self.inputs, self.first = outcome.file, outcome.inputs, outcome.answers
        self._words, self._before = _narrow(self.inputs), _narrow(self.first)
        answered = np.ones(len(self.inputs), bool)
        answered[list(outcome.errors)] = False
        self._cases = np.flatnonzero(answered)

    @property
    def usable(self) -> bool:
        """Whether there are cases to ask in one call."""
        return self._cases.size > 0 and not self.file.row.varied

    def chosen(self, count: int, turn: int) -> Rows:
        """The cases of a call, in an order of their own; repeated where there are not enough."""
        cases = self._of_one_kind()
        order = drawn_order(count * 4 + turn, max(count, cases.size), count)
        found: Rows = cases[order % cases.size]
        return found

    def ask(self, rows: Rows, turn: int = 1, offset: int = 0, way: str = "batch") -> Call:
        """One call with these cases; a fault of the target is an error of the call."""
        with quiet():
            return self.ask_loudly(rows, turn, offset, way)

    def ask_loudly(self, rows: Rows, turn: int, offset: int, way: str) -> Call:
        """`ask` for threads, whose output can only be suppressed for all of them at once."""
        nothing = np.empty(0, np.int64)
        try:
            got = call_operation(self.function, self.file, self._words[rows], offset=offset)
        except BaseException as error:
            if not is_fault(error):
                raise
            text = error_text(error)
            return Call(self.file, rows, turn, offset, way, nothing, self.first[:0], text)
        return self.compared(rows, got, turn, offset, way)

    def compared(self, rows: Rows, got: Words, turn: int, offset: int, way: str) -> Call:
        """Answers to some cases beside the first ones."""
        before = self._before[:, : got.shape[1]][rows]
        suspects = np.flatnonzero((before != got).any(axis=1))
        if suspects.size:
            mine = before[suspects].astype(np.uint64)
            same = same_answers(self.file, mine, got[suspects]).all(axis=1)
            suspects = suspects[~same]
        return Call(self.file, rows, turn, offset, way, suspects, got[suspects])

    def lying(self, memory: int, rows: Rows | None = None) -> Call:
        """A call whose arrays lie as MEMORIES says, with these cases; with any by default.

        The same call in usual memory if that is wrong, too: then the cases are what matters.
        """
        rows = self.chosen(self._moved, 1) if rows is None else rows

        @functools.wraps(self.function)
        def function(*arguments: Any) -> Any:
            return self.function(*copies(arguments, memory))

        other = copy.copy(self)
        other.function = function
        moved = replace(other.ask(rows, 2, 0, "memory"), memory=memory)
        usual = self.ask(rows, 2) if moved.changed.size else moved
        return usual if usual.changed.size else moved

    def repeated(self) -> Iterator[Rows]:
        """Cases of calls with equal rows: one in each row, and some with one scale."""
        some = self.chosen(self._moved, 1)
        _, places = np.unique(self.first[some], axis=0, return_index=True)
        yield from (np.full(len(some), case) for case in some[places[:_REPEATED]])
        if self.file.row.blocks == "codes":
            cases = self._of_one_kind()
            scales = self.inputs[cases, int(self._has_tensor_scale)]
            yield np.resize(_most_alike(cases, scales), len(some))

    def near_scales(self) -> Iterator[Rows]:
        """Cases of calls whose rows have two tensor scales, which are near each other."""
        if has_row_scales(self.function, self.file.format):
            scales = self.inputs[self._cases, 0]
            values = np.unique(scales)
            place = int(np.argmin(np.diff(values))) if values.size > 1 else 0
            cases = self._cases[np.isin(scales, values[place : place + 2])]
            yield cases[drawn_order(0, max(_MOVED, cases.size), _MOVED) % cases.size]

    @property
    def _moved(self) -> int:
        """Rows of calls in other memory: what a call is filled up with lies as usual."""
        multiple: int = getattr(self.function, "multiple", 1)
        return rounded_up(_MOVED, multiple)

    @property
    def fixed(self) -> int | None:
        """The column of which a call has one word: random bits, or the scale of a tensor."""
        if self._has_tensor_scale:
            return None if has_row_scales(self.function, self.file.format) else 0
        return 2 if self.file.row.random_bits else None

    @property
    def _has_tensor_scale(self) -> bool:
        """Whether the first word of a case is the scale of a tensor."""
        block = OTHER_BLOCK_FORMATS.get(self.file.format)
        return block is not None and block.tensor_scale

    def _of_one_kind(self) -> Rows:
        """Cases that one call can have."""
        if self.fixed is None:
            return self._cases
        return _most_alike(self._cases, self.inputs[self._cases, self.fixed])


def _most_alike(cases: Rows, kinds: Words) -> Rows:
    """The cases of the kind that most of them have."""
    values, counts = np.unique(kinds, return_counts=True)
    found: Rows = cases[kinds == values[np.argmax(counts)]]
    return found


def _narrow(words: Words) -> NDArray[Any]:
    """The same words in the narrowest type that has them: large calls take few of the bytes."""
    return words.astype(np.min_scalar_type(words.max(initial=0)))
