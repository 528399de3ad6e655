"""Calls with numbers that were never asked, whatever the operation is, and what judges results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.array_memory import copies
from mxref.conformance.checking.call_questions import CallQuestion, CallSubject
from mxref.conformance.checking.repeated_cases import RepeatedCases
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.failure_text import difference
from mxref.operands.returned import AnswerError
from mxref.operands.word_rows import stripped
from mxref.operations.registry import REGISTRY
from mxref.targets.calls import calls_of

__all__ = ["FreshCall", "FreshCalls", "OfCases", "OfQuestions", "named"]

#: Rows of calls with cases: a number that no other calls have. The turn of the first of them.
_ROWS, _TURN = 11, 40
#: The draw of the first computed call, and from one to the next: an axis is one of six.
_DRAW, _APART = 600, 6


@dataclass(frozen=True, slots=True)
class FreshCall:
    """One call: its arguments, and what says how a result is wrong (empty if it is right)."""

    arguments: tuple[Any, ...]
    judge: Callable[[object], str]

    def given(self) -> list[Any]:
        """The arguments, in arrays of their own."""
        return copies(self.arguments)


class FreshCalls(Protocol):
    """Calls of an operation in one format and float type, all of one size."""

    @property
    def key(self) -> tuple[str, str]:
        """The operation and the format."""

    @property
    def function(self) -> Callable[..., Any]:
        """The target's own."""

    def call(self, number: int) -> FreshCall | None:
        """One of them, by its number from 0 on; None if there is none in one call."""

    def empty(self) -> tuple[Any, ...] | None:
        """The arguments of a call with no case; None if there is none."""


def named(op: str, format: str, count: int) -> list[str]:
    """The names of the arguments of a function.

    >>> named("quantize", "nvfp4", 3), named("dequantize", "nvfp4", 5)[-1]
    (['values', 'format', 'tensor_scale'], 'tensor_scale')
    """
    call = REGISTRY[op].called_as(format)
    names = call.partition("(")[2].rstrip(")").split(", ")
    return [*names, *(f"argument {number}" for number in range(len(names) + 1, count + 1))][:count]


@dataclass(frozen=True, slots=True)
class OfCases:
    """Calls with the cases of a vector file.

    Args:
        cases: the file, with the target's first answers.
        right: the right answers to all its cases.
        rows: how many cases a call has at most.
    """

    cases: RepeatedCases
    right: Callable[[RepeatedCases], NDArray[np.uint64]]
    rows: int = _ROWS

    @property
    def key(self) -> tuple[str, str]:
        """The operation and the format."""
        return self.cases.file.op, self.cases.file.format

    @property
    def function(self) -> Callable[..., Any]:
        """The target's own."""
        return self.cases.function

    def call(self, number: int) -> FreshCall | None:
        """Some cases in an order of their own."""
        one, file = self.cases, self.cases.file
        rows = one.chosen(min(_ROWS, self.rows), _TURN + number)
        asked = [*calls_of(one.function, file, one.inputs[rows])]
        if len(asked) != 1:
            return None

        def judge(result: object) -> str:
            try:
                call = one.compared(rows, asked[0].read(result), 2, 0, "batch")
            except AnswerError as error:
                return str(error)
            if not call.changed.size:
                return ""
            right = self.right(one)[rows[call.changed]]
            wrong = np.flatnonzero(~same_answers(file, right, call.got).all(axis=1))
            if not wrong.size:
                return ""
            which = int(wrong[0])
            index = int(rows[call.changed[which]])
            case, want, got = file.cases[index], right[which], call.got[which]
            return difference(file, Failure(index, case, stripped(want), stripped(got)))

        return FreshCall(tuple(asked[0].arguments.values()), judge)

    def empty(self) -> tuple[Any, ...] | None:
        """A call without a case."""
        file = self.cases.file
        calls = calls_of(self.function, file, self.cases.inputs[:0])
        return next((tuple(one.arguments.values()) for one in calls), None)


@dataclass(frozen=True, slots=True)
class OfQuestions:
    """Computed calls of one shape.

    Args:
        subject: the operation and format.
        question: one of them.
        function: the target's own.
    """

    subject: CallSubject
    question: CallQuestion
    function: Callable[..., Any]

    @property
    def key(self) -> tuple[str, str]:
        """The operation and the format."""
        return self.subject.op, self.subject.format

    def call(self, number: int) -> FreshCall:
        """One with other numbers."""
        one = self.question.again(_DRAW + _APART * number)
        rights: list[NDArray[np.uint64]] = []

        def judge(result: object) -> str:
            try:
                got = one.words(result)
            except AnswerError as error:
                return str(error)
            if any(np.array_equal(got, right) for right in rights):
                return ""
            if one.is_wrong(got):
                return one.difference(got)
            rights.append(got)
            return ""

        return FreshCall(one.arguments, judge)

    def empty(self) -> tuple[Any, ...] | None:
        """A call with nothing in it."""
        one = self.subject.empty()
        return None if one is None else one.arguments
