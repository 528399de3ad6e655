"""The reply of a target to a question about layouts: right, wrong or an error, and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import Case, VectorFile
from mxref.conformance.checking.layout_questions import Question
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.failure_text import difference
from mxref.policy.policy import Policy
from mxref.targets.calls import error_text, is_fault

__all__ = ["UNITS", "Reply", "ask", "difference_of", "name_of", "read"]

#: What calls of an operation are counted in, if they have one row.
UNITS = {"pack": "codes", "unpack": "codes", "pack_blocks": "blocks", "unpack_blocks": "blocks"}


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

    def same(self, other: Reply) -> bool:
        """Whether another reply to the question is the same."""
        if self.got is None or other.got is None:
            return self.got is other.got and self.error == other.error
        return np.array_equal(self.got, other.got)


def ask(function: Callable[..., Any], question: Question) -> Reply:
    """One call."""
    return read(question, lambda: function(*question.fresh()))


def read(question: Question, result: Callable[[], object]) -> Reply:
    """A result compared with the right one."""
    try:
        got = question.words(result())
    except BaseException as error:
        if not is_fault(error):
            raise
        if question.may_refuse:
            return Reply(question)
        text = error_text(error)
        return Reply(question, error=text)
    return Reply(question) if np.array_equal(got, question.wanted) else Reply(question, got)


def name_of(question: Question) -> str:
    """A question in words."""
    rows, columns = question.shape
    op = question.subject.op
    if op in UNITS:
        return f"{columns:,} {UNITS[op]}" if columns > 1 else f"1 {UNITS[op][:-1]}"
    if op == "quantize_tensor":
        return f"{rows} x {columns} tensor along axis {question.axis}"
    return f"{rows} x {columns} matrix of scales"


def difference_of(reply: Reply) -> str:
    """The first wrong word, as reports show failures."""
    question = reply.question
    subject, name = question.subject, name_of(question)
    if reply.got is None:
        return f"{name}: {reply.error}"
    words, want, got = _words(question), question.wanted.astype(np.uint64), reply.got
    if want.size != got.size:
        unit = "bytes" if subject.op.startswith("pack") else "scale codes and codes"
        return f"{name}: want {want.size:,} {unit}, got {got.size:,}"
    place = "" if subject.op == "quantize_tensor" else f"{name}: "
    if subject.op.endswith("_blocks"):
        words, want, got, number = _one_block(question, reply.got)
        place = f"{place}block {number}: "
    case = Case("", words, (tuple(want.tolist()),), (), required=False, rule="", model="")
    file = subject.file
    file = VectorFile(
        file.op, file.format, file.float, (str(subject.policy or Policy()),), 1,
        file.in_digits, file.out_digits, (case,),
    )  # fmt: skip
    failure = Failure(0, case, case.answers[0], tuple(got.tolist()))
    return f"{place}{difference(file, failure)}"


def _words(question: Question) -> tuple[int, ...]:
    """The words of a case."""
    op, (rows, columns) = question.subject.op, question.shape
    array = question.arguments[0]
    words: list[int] = array.view(f"u{array.itemsize}").reshape(-1).tolist()
    first: dict[str, tuple[int, ...]] = {
        "unpack": (columns,),
        "pack_scales": (rows, columns),
        "unpack_scales": (rows, columns),
        "quantize_tensor": (rows, columns, question.axis),
    }
    return (*first.get(op, ()), *words)


def _one_block(
    question: Question, got: NDArray[np.uint64]
) -> tuple[tuple[int, ...], NDArray[np.uint64], NDArray[np.uint64], int]:
    """The words of the first block with a wrong reply, the right and the given one; its number."""
    count, want = question.shape[1], question.wanted.astype(np.uint64)
    if question.subject.op == "pack_blocks":
        arguments = np.column_stack(question.arguments[:2])
        rows = [one.reshape(count, -1) for one in (want, got)]
    else:
        arguments = question.arguments[0]
        rows = [
            np.column_stack([one[:count], one[count:].reshape(count, -1)]) for one in (want, got)
        ]
    wanted, given = rows
    number = int(np.argmax((wanted != given).any(axis=1)))
    return tuple(arguments[number].tolist()), wanted[number], given[number], number
