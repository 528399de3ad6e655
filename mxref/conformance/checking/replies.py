"""A question with its right answer, and whether a reply is right, wrong or an error.

Questions are computed, with the answer beside them: those about layouts and tensors
(`layout_questions.py`), and those about integers (`integer_questions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.memory import laid
from mxref.conformance.checking.rules import Features
from mxref.targets.calls import error_text, is_fault

__all__ = ["Question", "Reply", "Subject", "ask", "fresh", "read"]

Asked = TypeVar("Asked", bound="Question")


class Question(Protocol):
    """One call of an operation."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the function is given, arrays in C order."""

    @property
    def wanted(self) -> NDArray[Any]:
        """The words of the right answer."""

    @property
    def may_refuse(self) -> bool:
        """Whether an exception is right as well."""

    @property
    def draw(self) -> int:
        """The number of the set of random words."""

    @property
    def memory(self) -> int:
        """How its arrays lie in memory: one of MEMORIES, by its number."""

    @property
    def name(self) -> str:
        """The question in words."""

    @property
    def elements(self) -> int:
        """The number of elements in the call."""

    @property
    def features(self) -> Features:
        """What rules about wrong calls speak of."""

    @property
    def part(self) -> str:
        """What is answered by itself, in the plural, such as blocks; empty if nothing is."""

    def words(self, result: object) -> NDArray[np.uint64]:
        """A result as words; AnswerError if its shape or dtype is wrong."""

    def difference(self, got: NDArray[np.uint64]) -> str:
        """The first word of an answer that is wrong, in words."""

    def again(self: Asked, draw: int, memory: int = 0) -> Asked:
        """The question with other random words, or in other memory."""

    def resized(self: Asked, unit: str, count: int, draw: int) -> Asked | None:
        """The question with another number of a unit of its features, if that can be asked."""

    def alone(self: Asked, got: NDArray[np.uint64]) -> Sequence[Asked]:
        """The first wrong part in calls of its own, of several sizes."""

    def telling(self: Asked, most: int) -> Iterator[Asked]:
        """Further questions, of at most so many elements, that tell what wrong ones share."""


class Subject(Protocol):
    """An operation and format, with what gives the target's answers to its vectors."""

    @property
    def op(self) -> str:
        """The operation."""

    @property
    def format(self) -> str:
        """The format."""

    @property
    def fails(self) -> bool:
        """Whether some answers to the vectors are others, which nothing known gives."""

    @property
    def answerable(self) -> bool:
        """Whether there are right answers."""

    def questions(
        self, elements: int, *, first_float: bool, first_format: bool
    ) -> Iterator[Question]:
        """The questions, small ones first, then those in other memory.

        Args:
            elements: the largest number of elements in a call.
            first_float: whether it is the first float type of its operation and format.
            first_format: whether it is the first format of its operation.
        """

    def empty(self) -> Question | None:
        """A call with nothing in it; None if that is not asked."""


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """The reply to a question.

    Args:
        question: the question.
        got: the words of a wrong answer; None if it is right, or an error.
        error: what was raised, or what is wrong with the shape or type of the result.
    """

    question: Question
    got: NDArray[np.uint64] | None = None
    error: str = ""

    @property
    def wrong(self) -> bool:
        """Whether it is wrong or an error."""
        return self.got is not None or bool(self.error)

    @property
    def text(self) -> str:
        """What is wrong with it, in words."""
        if self.got is None:
            return f"{self.question.name}: {self.error}"
        return self.question.difference(self.got)

    def same(self, other: Reply) -> bool:
        """Whether another reply to the question is the same."""
        if self.got is None or other.got is None:
            return self.got is other.got and self.error == other.error
        return np.array_equal(self.got, other.got)


def fresh(question: Question) -> tuple[Any, ...]:
    """The arguments of a call, in arrays of their own."""
    return tuple(
        laid(one, question.memory) if isinstance(one, np.ndarray) else one
        for one in question.arguments
    )


def ask(function: Callable[..., Any], question: Question) -> Reply:
    """One call."""
    return read(question, lambda: function(*fresh(question)))


def read(question: Question, result: Callable[[], object]) -> Reply:
    """A result compared with the right one."""
    try:
        got = question.words(result())
    except BaseException as error:
        if not is_fault(error):
            raise
        if question.may_refuse:
            return Reply(question)
        return Reply(question, error=error_text(error))
    return Reply(question) if np.array_equal(got, question.wanted) else Reply(question, got)
