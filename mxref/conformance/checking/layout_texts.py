"""Questions about layouts and tensors, and wrong replies to them, in words."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import Case, VectorFile
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.failure_text import difference
from mxref.operations.layouts import LayoutOperation
from mxref.policy.policy import Policy

__all__ = ["layout_difference", "layout_name"]


class _Subject(Protocol):
    """What is asked."""

    @property
    def row(self) -> LayoutOperation: ...
    @property
    def file(self) -> VectorFile: ...
    @property
    def policy(self) -> Policy: ...


class _Question(Protocol):
    """A call: rows and columns, its arrays, and the right answer."""

    @property
    def subject(self) -> _Subject: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def axis(self) -> int: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...
    @property
    def wanted(self) -> NDArray[Any]: ...


def layout_name(question: _Question) -> str:
    """A question in words."""
    rows, columns = question.shape
    row = question.subject.row
    if row.works_on == "tensor":
        return f"{rows} x {columns} tensor along axis {question.axis}"
    if row.works_on == "scales":
        return f"{rows} x {columns} matrix of scales"
    return f"{columns:,} {row.unit}" if columns > 1 else f"1 {row.unit[:-1]}"


def layout_difference(question: _Question, got: NDArray[np.uint64]) -> str:
    """The first wrong word, as reports show failures."""
    subject, name = question.subject, layout_name(question)
    row, array = subject.row, question.arguments[0]
    words = (
        *row.first_words(question.shape, question.axis),
        *array.view(f"u{array.itemsize}").reshape(-1).tolist(),
    )
    want = question.wanted.astype(np.uint64)
    is_tensor = row.works_on == "tensor"
    if want.size != got.size:
        unit = "scale codes and codes" if row.unpacks or is_tensor else "bytes"
        return f"{name}: want {want.size:,} {unit}, got {got.size:,}"
    place = "" if is_tensor else f"{name}: "
    if row.works_on == "blocks":
        words, want, got, number = _one_block(question, got)
        place = f"{place}block {number}: "
    case = Case("", words, (tuple(want.tolist()),), (), required=False, rule="", model="")
    file = subject.file
    file = VectorFile(
        file.op, file.format, file.float, (str(subject.policy),), 1,
        file.in_digits, file.out_digits, (case,),
    )  # fmt: skip
    failure = Failure(0, case, case.answers[0], tuple(got.tolist()))
    return f"{place}{difference(file, failure)}"


def _one_block(
    question: _Question, got: NDArray[np.uint64]
) -> tuple[tuple[int, ...], NDArray[np.uint64], NDArray[np.uint64], int]:
    """The words of the first block with a wrong reply, the right and the given one; its number."""
    count, want = question.shape[1], question.wanted.astype(np.uint64)
    if not question.subject.row.unpacks:
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
