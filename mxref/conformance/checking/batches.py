"""Cases asked again in calls of many sizes, in another order, at other addresses and by threads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.cases.splitmix import splitmix64
from mxref.cases.words import INTEGER_OPERATIONS, VARIED_OPERATIONS
from mxref.conformance.checking.axis_sizes import FAR, LARGE, SMALL
from mxref.conformance.checking.memory import laid
from mxref.conformance.compare.compare import Outcome, same_answers
from mxref.conformance.verdict.uses import Use
from mxref.targets.calls import call_operation, error_text, is_fault, quiet
from mxref.targets.returned import AnswerError
from mxref.targets.target import PythonTarget

__all__ = [
    "FIRST",
    "Call",
    "Ways",
    "ask_nothing",
    "ask_ways",
    "elements_of",
    "first_calls",
    "refusals",
    "rows_of",
]

Words = NDArray[np.uint64]
Rows = NDArray[np.int64]

#: Rows of the calls whose arrays lie elsewhere in memory, and the offsets of those in items.
_MOVED = ((33, 1), (64, 3), (257, 1))
_STRIDED = 33
#: Rows of the first call of all, to which kernels that compile at their first call are fitted.
FIRST = 64
#: Rows of the calls made by two threads at once, and their number.
_THREADED = (257, 6)


@dataclass(frozen=True, slots=True)
class Call:
    """One call with cases of a file that were asked before.

    Args:
        file: the vector file.
        rows: the cases, by their numbers in the file.
        turn: 1 or 2.
        offset: how many items its arrays began behind an aligned address.
        way: `batch`, `memory`, `strided`, `threads`, `held` or `in_place`.
        changed: places in `rows` whose answer was another one than before.
        got: the answers there, one a row.
        error: what it raised instead.
    """

    file: VectorFile
    rows: Rows
    turn: int
    offset: int
    way: str
    changed: Rows
    got: Words
    error: str = ""

    @property
    def differs(self) -> bool:
        """Whether an answer changed, or there was none."""
        return bool(self.error) or self.changed.size > 0


class Ways:
    """The cases of one vector file, to be asked again in other ways.

    Args:
        function: the target's operation.
        outcome: its answers to the file; cases that raised an error are not asked again.
    """

    def __init__(self, function: Callable[..., Any], outcome: Outcome) -> None:
        self.function, self.outcome = function, outcome
        self.file, self.inputs, self.first = outcome.file, outcome.inputs, outcome.answers
        answered = np.ones(len(self.inputs), bool)
        answered[list(outcome.errors)] = False
        self._cases = np.flatnonzero(answered)

    @property
    def usable(self) -> bool:
        """Whether there are cases to ask in one call."""
        return self._cases.size > 0 and self.file.op not in VARIED_OPERATIONS

    def chosen(self, count: int, turn: int) -> Rows:
        """The cases of a call, in an order of their own; repeated where there are not enough."""
        cases = self._of_one_kind()
        draws = splitmix64(count * 4 + turn, max(count, cases.size))
        order = np.argsort(draws, kind="stable")[:count]
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
            got = call_operation(self.function, self.file, self.inputs[rows], offset=offset)
        except BaseException as error:
            if not is_fault(error):
                raise
            text = error_text(error)
            return Call(self.file, rows, turn, offset, way, nothing, self.first[:0], text)
        return self.compared(rows, got, turn, offset, way)

    def compared(self, rows: Rows, got: Words, turn: int, offset: int, way: str) -> Call:
        """Answers to some cases beside the first ones."""
        before = self.first[rows][:, : got.shape[1]]
        suspects = np.flatnonzero((before != got).any(axis=1))
        if suspects.size:
            same = same_answers(self.file, before[suspects], got[suspects]).all(axis=1)
            suspects = suspects[~same]
        return Call(self.file, rows, turn, offset, way, suspects, got[suspects])

    def kept(self, way: str) -> Call:
        """Two calls of one size that share memory, and what the first or the second one gave.

        Args:
            way: `held`: what the second call changed in the result of the first one; if nothing,
                the first call as a `batch`; `in_place`: the result of the second call, whose arrays
                are those of the first, overwritten.
        """
        first, second = self.chosen(33, 1), self.chosen(33, 2)
        shared: dict[int, NDArray[Any]] = {}
        results: list[Any] = []

        def placed(place: int, argument: Any) -> Any:
            if way == "held" or not isinstance(argument, np.ndarray):
                return argument
            array = shared.setdefault(place, np.empty_like(argument))
            array[...] = argument
            return array

        @functools.wraps(self.function)
        def function(*arguments: Any) -> Any:
            results.append(self.function(*(placed(*pair) for pair in enumerate(arguments))))
            return results[-1]

        nothing = np.empty(0, np.int64)
        try:
            with quiet():
                at_once, got = (
                    call_operation(function, self.file, self.inputs[rows])
                    for rows in (first, second)
                )
                if way == "held":
                    got = call_operation(lambda *_: results[0], self.file, self.inputs[first])
        except BaseException as error:
            if not is_fault(error):
                raise
            return Call(self.file, first, 2, 0, way, nothing, self.first[:0], error_text(error))
        if way == "held":
            same = (got == at_once).all(axis=1, keepdims=True)
            later = np.where(same, self.first[first][:, : got.shape[1]], got)
            held = self.compared(first, later, 2, 0, way)
            return held if held.differs else self.compared(first, at_once, 2, 0, "batch")
        return self.compared(second, got, 2, 0, way)

    def strided(self, kind: int) -> Call:
        """A call whose arrays are not contiguous: columns first, or with gaps between rows."""
        rows = self.chosen(_STRIDED, 1)

        def spread(argument: Any) -> Any:
            is_array = isinstance(argument, np.ndarray) and argument.ndim > 0
            return laid(argument, 3 - kind) if is_array else argument

        @functools.wraps(self.function)
        def function(*arguments: Any) -> Any:
            return self.function(*map(spread, arguments))

        other = Ways(function, self.outcome)
        return other.ask(rows, 2, 0, "strided")

    def _of_one_kind(self) -> Rows:
        """Cases that one call can have: those of one width of random bits, or one tensor scale."""
        column = {"encode_stochastic": 2}.get(self.file.op)
        if self.file.format == "nvfp4":
            column = 0
        if column is None:
            return self._cases
        kinds = self.inputs[self._cases, column]
        values, counts = np.unique(kinds, return_counts=True)
        found: Rows = self._cases[kinds == values[np.argmax(counts)]]
        return found


def elements_of(file: VectorFile, rows: int) -> int:
    """The number of elements in a call with some rows of a file; of integers by rule of thumb."""
    if file.op in INTEGER_OPERATIONS:
        return rows * 64
    width = len(file.cases[0].inputs) if file.op in ("quantize", "dequantize") else 1
    return rows * width


def rows_of(file: VectorFile, *, large: bool, far: bool, elements: int) -> tuple[int, ...]:
    """The sizes of the calls for a file, in order.

    Args:
        file: the file.
        large: whether the sizes of LARGE are asked.
        far: whether those of FAR are, too.
        elements: the largest number of elements in a call.
    """
    every = (*SMALL, *(LARGE if large else ()), *(FAR if far else ()))
    return tuple(sorted(count for count in every if elements_of(file, count) <= elements))


def first_calls(files: Sequence[tuple[Callable[..., Any], VectorFile]]) -> None:
    """Call each operation with a round number of rows, the narrowest float type first.

    A kernel that is compiled at its first call is fitted to it; what comes later shows that. The
    answers are not looked at, since the same cases are asked again.
    """
    widths = {"f16": 16, "bf16": 16, "f64": 64}
    for function, file in sorted(files, key=lambda pair: widths.get(pair[1].float, 32)):
        if file.op not in VARIED_OPERATIONS and len(file.cases) >= FIRST:
            try:
                with quiet():
                    call_operation(function, file, file.input_words()[:FIRST])
            except BaseException as error:
                if not is_fault(error):
                    raise


def ask_ways(ways: Sequence[Ways], elements: int, *, threads: bool = False) -> Iterator[Call]:
    """Every file in calls of all sizes, twice, in another order the second time.

    Args:
        ways: the files of all operations and formats, in their order.
        elements: the largest number of elements in a call.
        threads: whether two threads may call the target at once.
    """
    some = [one for one in ways if one.usable]
    large = {(one.file.op, one.file.format): one for one in reversed(some)}.values()
    far = {one.file.op: one for one in reversed(some)}.values()
    sizes = {
        one: rows_of(one.file, large=one in large, far=one in far, elements=elements)
        for one in some
    }
    # One float type or format after the other at each size, in turns forwards and backwards.
    plan = [
        (one, count)
        for i, count in enumerate(sorted({count for few in sizes.values() for count in few}))
        for one in (some if i % 2 else some[::-1])
        if count in sizes[one]
    ]
    for one, count in plan:
        yield one.ask(one.chosen(count, 1))
    for one, count in reversed(plan):
        yield one.ask(one.chosen(count, 2), turn=2)
    for one in some:
        yield from (one.kept("held"), one.kept("in_place"))
    for one in some:
        for count, offset in _MOVED:
            if elements_of(one.file, count) <= elements:
                yield one.ask(one.chosen(count, 1), 2, offset, "memory")
        yield from (one.strided(0), one.strided(1))
    for one in some if threads else ():
        most, times = _THREADED
        count = max(min(most, elements // elements_of(one.file, 1)), times)
        orders = [one.chosen(count - turn, turn) for turn in range(times)]
        with quiet(), ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(one.ask_loudly, rows, 2, 0, "threads") for rows in orders]
            found = [call.result() for call in asked]
        yield from found


def refusals(calls: Sequence[Call]) -> Iterator[str]:
    """Which arrays a target refuses by an exception, in words."""
    for way, what in (
        ("memory", "arrays that do not begin at a multiple of 16 bytes"),
        ("strided", "arrays that are not contiguous"),
    ):
        refused = {call.file.op: call.error for call in calls if call.way == way and call.error}
        if refused:
            yield f"{', '.join(refused)} refuses {what}: {next(iter(refused.values()))}"


def ask_nothing(
    target: PythonTarget, files: Sequence[VectorFile]
) -> tuple[list[Use], tuple[str, ...]]:
    """A call with no case for each operation and format: what is wrong, and what is refused.

    An exception is a refusal; a result of another shape or dtype is wrong.
    """
    uses: list[Use] = []
    refused: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for file in files:
        key = file.op, file.format
        if file.op in VARIED_OPERATIONS or key in seen or not file.cases:
            continue
        seen.add(key)
        try:
            with quiet():
                call_operation(target.operations[file.op], file, file.input_words()[:0])
        except AnswerError as error:
            uses.append(Use(*key, "empty", f"wrong in a call with no case: {error}"))
        except BaseException as error:
            if not is_fault(error):
                raise
            refused.setdefault(file.op, error_text(error))
    note = f"{', '.join(refused)} refuses empty input: {next(iter(refused.values()), '')}"
    return uses, (note,) if refused else ()
