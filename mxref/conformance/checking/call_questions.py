"""A computed call with its right answer, and whether a reply to it is right, wrong or an error.

There is one module for each kind of question: `layout_questions.py`, `integer_questions.py`,
`product_shapes.py` and `layer_shapes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.array_memory import copies
from mxref.conformance.checking.call_manner import Manner
from mxref.conformance.checking.call_places import zero_words
from mxref.conformance.checking.call_rules import Features, Rule
from mxref.targets.calls import error_text, is_fault

__all__ = [
    "CallQuestion",
    "CallReply",
    "CallSubject",
    "PlainQuestion",
    "PlainSubject",
    "ask",
    "fresh",
    "nearest",
]

Words = NDArray[np.uint64]
Asked = TypeVar("Asked", bound="CallQuestion")

#: Elements of the calls that show what is kept.
_KEPT = (33, 300, 4000)
#: The largest share of calls that a rule covers, if the vectors fail as well.
_TELLS = 0.75


class CallQuestion(Protocol):
    """One call of an operation."""

    @property
    def subject(self) -> CallSubject:
        """What it is about."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the function is given, arrays in C order."""

    @property
    def wanted(self) -> NDArray[Any]:
        """The words of the right answer."""

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
    def work(self) -> int:
        """What the time of a call grows with."""

    @property
    def features(self) -> Features:
        """What rules about wrong calls speak of."""

    def words(self, result: object) -> Words:
        """A result as words; AnswerError if its shape or dtype is wrong."""

    def difference(self, got: Words) -> str:
        """The first word of an answer that is wrong, in words."""

    def again(self: Asked, draw: int, memory: int = 0) -> Asked:
        """The question with other random words, or in other memory."""

    @property
    def may_refuse(self) -> bool:
        """Whether an exception is right as well."""

    @property
    def part(self) -> str:
        """What is answered by itself, in the plural, such as blocks; empty if nothing is."""

    def is_wrong(self, got: Words) -> bool:
        """Whether an answer is wrong."""

    def wrong_lines(self, got: Words) -> dict[str, tuple[NDArray[np.int64], int]]:
        """The rows and columns of an answer with a wrong word, and how many there are of each.

        An answer that has no rows and columns has none.
        """

    def remarks(self, got: Words) -> Sequence[str]:
        """What is true of all wrong words, or of all if none is wrong; the most telling first."""

    def resized(self: Asked, unit: str, count: int, draw: int) -> Asked | None:
        """The question with another number of a unit of its features, if that can be asked."""

    def alone(self: Asked, got: Words) -> Sequence[Asked]:
        """The first wrong part in calls of its own, of several sizes."""

    def telling(self: Asked, most: int) -> Iterable[Asked]:
        """Further questions, of at most so many elements, that tell what wrong ones share."""

    def ordinary(self: Asked) -> Iterable[tuple[str, Asked, Asked]]:
        """Each kind of data: its name, the question with it, and so but for one number."""

    @property
    def data(self) -> Features:
        """What the data of the call have in common."""


class CallSubject(Protocol):
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

    def questions(
        self, elements: int, *, first_float: bool, first_format: bool
    ) -> Iterator[CallQuestion]:
        """The questions, small ones first, then those in other memory.

        Args:
            elements: the largest number of elements in a call.
            first_float: whether it is the first float type of its operation and format.
            first_format: whether it is the first format of its operation.
        """

    @property
    def manner(self) -> Manner:
        """How its calls are asked and spoken of."""

    @property
    def answerable(self) -> bool:
        """Whether there are right answers."""

    def empty(self) -> CallQuestion | None:
        """A call with nothing in it; None if that is not asked."""

    def tells(self, rule: Rule | None, *, has_parts: bool, alone: bool) -> bool:
        """Whether a rule says more than the vectors, some of which fail, do.

        Args:
            rule: the rule, or None.
            has_parts: whether calls have parts that are answered by themselves.
            alone: whether the first wrong part of wrong calls is wrong in small calls, too.
        """

    def explained(self, calls: Sequence[CallReply]) -> str:
        """What gives the answers to all calls, in words; empty if nothing known does."""

    def of_parts(self, calls: Sequence[CallReply]) -> str:
        """Which calls are wrong in which parts of their answers; empty if that is not told."""

    @property
    def beside(self) -> bool:
        """Whether calls are compared with what a known bug makes of them."""

    def kept(self, group: Sequence[CallQuestion]) -> Iterable[CallQuestion]:
        """The questions with which it is seen whether results and arguments stay as they were."""


class PlainQuestion:
    """What most questions have in common."""

    __slots__ = ()

    @property
    def may_refuse(self) -> bool:
        """Whether an exception is right as well."""
        return False

    @property
    def part(self) -> str:
        """What is answered by itself, in the plural, such as blocks; empty if nothing is."""
        return ""

    @property
    def work(self: CallQuestion) -> int:
        """What the time of a call grows with: the number of its elements."""
        return self.elements

    def is_wrong(self: CallQuestion, got: Words) -> bool:
        """Whether an answer is wrong."""
        return not np.array_equal(got, self.wanted)

    def wrong_lines(self, got: Words) -> dict[str, tuple[NDArray[np.int64], int]]:
        """The rows and columns of an answer with a wrong word, and how many there are of each.

        An answer that has no rows and columns has none.
        """
        return {}

    def remarks(self: CallQuestion, got: Words) -> Sequence[str]:
        """What is true of all wrong words, or of all if none is wrong; the most telling first."""
        return zero_words(got[got != self.wanted], "word")

    def resized(self: Asked, unit: str, count: int, draw: int) -> Asked | None:
        """The question with another number of a unit of its features, if that can be asked."""
        return None

    def alone(self: Asked, got: Words) -> Sequence[Asked]:
        """The first wrong part in calls of its own, of several sizes."""
        return ()

    def telling(self: Asked, most: int) -> Iterable[Asked]:
        """Further questions, of at most so many elements, that tell what wrong ones share."""
        return ()

    def ordinary(self: Asked) -> Iterable[tuple[str, Asked, Asked]]:
        """Each kind of data: its name, the question with it, and so but for one number."""
        return ()

    @property
    def data(self) -> Features:
        """What the data of the call have in common."""
        return {}


class PlainSubject:
    """What most subjects have in common."""

    __slots__ = ()

    @property
    def manner(self) -> Manner:
        """How its calls are asked and spoken of."""
        return Manner()

    @property
    def answerable(self) -> bool:
        """Whether there are right answers."""
        return True

    def empty(self) -> CallQuestion | None:
        """A call with nothing in it; None if that is not asked."""
        return None

    def tells(self, rule: Rule | None, *, has_parts: bool, alone: bool) -> bool:
        """Whether a rule says more than the vectors, some of which fail, do.

        Of numbers one about the axis does; of calls without parts one that excludes so many calls
        that it is no unknown layout, which is right in the smallest ones.
        """
        if rule is None or alone:
            return rule is not None and "axis" in rule.text
        return has_parts or float(np.mean(rule.inside)) <= _TELLS

    def explained(self, calls: Sequence[CallReply]) -> str:
        """What gives the answers to all calls, in words; empty if nothing known does."""
        return ""

    def of_parts(self, calls: Sequence[CallReply]) -> str:
        """Which calls are wrong in which parts of their answers; empty if that is not told."""
        return ""

    @property
    def beside(self) -> bool:
        """Whether calls are compared with what a known bug makes of them."""
        return False

    def kept(self, group: Sequence[CallQuestion]) -> Iterable[CallQuestion]:
        """The questions with which it is seen whether results and arguments stay as they were."""
        kinds = dict.fromkeys(one.features.get("float") for one in group)
        groups = [[one for one in group if one.features.get("float") == kind] for kind in kinds]
        return dict.fromkeys(nearest(some, count) for some in groups for count in _KEPT)


def nearest(group: Sequence[CallQuestion], elements: int) -> CallQuestion:
    """The question in fresh arrays whose number of elements is nearest to one."""
    return min(group, key=lambda one: (one.memory != 0, abs(one.elements - elements)))


@dataclass(frozen=True, slots=True, eq=False)
class CallReply:
    """The reply to a question.

    Args:
        question: the question.
        got: the words of a wrong answer; None if it is right, or an error.
        error: what was raised, or what is wrong with the shape or type of the result.
    """

    question: CallQuestion
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

    def same(self, other: CallReply) -> bool:
        """Whether another reply to the question is the same."""
        if self.got is None or other.got is None:
            return self.got is other.got and self.error == other.error
        return np.array_equal(self.got, other.got)


def fresh(question: CallQuestion, memory: int | None = None) -> tuple[Any, ...]:
    """The arguments of a call, in arrays of their own; in other memory if it is given."""
    return tuple(copies(question.arguments, question.memory if memory is None else memory))


def ask(
    function: Callable[..., Any], question: CallQuestion, memory: int | None = None
) -> CallReply:
    """One call, whose result is compared with the right one; in other memory if it is given."""
    given = fresh(question, memory)
    try:
        got = question.words(function(*given))
    except BaseException as error:
        if not is_fault(error):
            raise
        if question.may_refuse:
            return CallReply(question)
        return CallReply(question, error=error_text(error))
    return CallReply(question, got) if question.is_wrong(got) else CallReply(question)
