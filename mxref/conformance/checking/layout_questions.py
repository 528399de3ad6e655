"""Computed questions about layouts and tensors of many sizes, with their right answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.blocks.shapes import result_shapes
from mxref.cases.answers import answerable
from mxref.cases.records import VectorFile
from mxref.conformance.checking.array_memory import COLUMNS_FIRST, PLACED, READ_ONLY, STRIDE_0
from mxref.conformance.checking.call_data import Data, data_words, ordinary, repeated
from mxref.conformance.checking.call_questions import CallReply, PlainQuestion, PlainSubject
from mxref.conformance.checking.call_rules import SHORTER, Features
from mxref.conformance.checking.layout_answers import BY_POLICY
from mxref.conformance.checking.layout_numbers import drawn_codes, drawn_numbers
from mxref.conformance.checking.layout_shapes import LINES, MOVED, shapes
from mxref.conformance.checking.layout_texts import layout_difference, layout_name
from mxref.conformance.checking.tensor_findings import answer_by, parts_text, stages_text
from mxref.conformance.compare.compare import with_one_nan
from mxref.conformance.verdict.cause.cause import Cause
from mxref.formats.catalog import block_format, element_format
from mxref.operations.layouts import LayoutOperation
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import without_cases
from mxref.targets.profile_target import profile_target, speaks_of

__all__ = ["LayoutQuestion", "LayoutSubject"]

Array = NDArray[Any]
Function = Callable[..., Any]

_BLOCK = 32
#: What the arrays hold of what an operation works on.
_NAMES = {
    "codes": ("codes",),
    "scales": ("scales",),
    "blocks": ("scales", "codes"),
    "tensor": ("numbers",),
}
#: Elements of a call that is made to tell what a wrong one's size has to do with it.
_MOST = 1 << 18
#: Elements of a call that is compared with what a known bug makes of it.
_BY_CAUSE = 20_000


@dataclass(frozen=True, slots=True)
class LayoutSubject(PlainSubject):
    """An operation on layouts, and what gives the target's answers to its vectors.

    Args:
        op: the operation.
        format: the format.
        float: the float type, or the layout of the bytes.
        policy: the policy that gives the answers.
        profile: the profile that gives them where it speaks of them.
        fails: whether some answers to the vectors are others, which no policy known gives.
        cause: the known bug that gives these, with which further answers are compared, if any does.
    """

    op: str
    format: str
    float: str
    policy: Policy
    profile: Profile | None = None
    fails: bool = False
    cause: Cause | None = None

    @property
    def row(self) -> LayoutOperation:
        """The operation."""
        return LAYOUT_OPERATIONS[self.op]

    @property
    def is_tensor(self) -> bool:
        """Whether it works on a tensor, which has two axes and consists of blocks."""
        return self.row.works_on == "tensor"

    @property
    def answerable(self) -> bool:
        """Whether the policy has answers."""
        return answerable(self.op, self.format, self.float, self.policy)

    @property
    def file(self) -> VectorFile:
        """The vector file without its cases."""
        return without_cases(self.op, self.format, self.float)

    def answer(self, arguments: tuple[Any, ...]) -> tuple[object, bool]:
        """The right result of a call, and whether the target may refuse it, as the profile does.

        What the profile refuses is answered by the policy.
        """
        profile = self.spoken_of
        if profile is not None:
            try:
                return profile_target(profile).operations[self.op](*arguments), False
            except ValueError:
                pass
        return BY_POLICY[self.op](self.policy)(*arguments), profile is not None

    @property
    def inverse(self) -> Function:
        """What makes the bytes that an operation unpacks: as a policy does, also for a profile."""
        profile = self.spoken_of
        policy = self.policy if profile is None else profile.policy
        return BY_POLICY[self.row.inverse().name](policy)

    def questions(
        self, elements: int, *, first_float: bool, first_format: bool
    ) -> Iterator[LayoutQuestion]:
        """Those of all shapes, of a tensor along both axes, then those in other memory."""
        axes = (0, 1) if self.is_tensor else (1,)
        elements = min(elements, _BY_CAUSE) if self.cause is not None else elements
        works_on = self.row.works_on
        for shape in shapes(works_on, first_float=first_float, first_format=first_format):
            if self.elements_in(shape) <= elements:
                yield from (LayoutQuestion(self, shape, axis) for axis in axes)
        for shape in MOVED[works_on] if first_float else ():
            if self.elements_in(shape) <= elements:
                usual = LayoutQuestion(self, shape)
                is_square = shape[0] == shape[1]
                is_matrix = np.ndim(usual.arguments[0]) > 1 or works_on == "blocks"
                for memory in PLACED:
                    axis = axes[memory % len(axes)]
                    # Of square tensors, columns first for either axis.
                    lies = COLUMNS_FIRST if is_square and memory == READ_ONLY else memory
                    if lies != COLUMNS_FIRST or is_matrix:
                        yield LayoutQuestion(self, shape, axis, lies)
                for kind in repeated(_arrays(usual)):
                    yield from (
                        LayoutQuestion(self, shape, one, STRIDE_0, kind=kind) for one in axes
                    )

    def explained(self, calls: Sequence[CallReply]) -> str:
        """The stages of tensors that give the answers to calls, in words, if some do."""
        return stages_text(calls) if self.is_tensor else ""

    def of_parts(self, calls: Sequence[CallReply]) -> str:
        """For each axis of tensors and each kind of wrong words which calls are wrong."""
        return parts_text(calls) if self.is_tensor else ""

    def elements_in(self, shape: tuple[int, int]) -> int:
        """The number of elements in a call of rows and columns."""
        return shape[0] * shape[1] * (_BLOCK if self.row.works_on == "blocks" else 1)

    @property
    def beside(self) -> bool:
        """Whether calls are compared with what a known bug makes of them."""
        return self.cause is not None

    @property
    def spoken_of(self) -> Profile | None:
        """The profile, if it speaks of this."""
        found = self.profile
        return found if found and speaks_of(found, self.op, self.format, self.float) else None


@dataclass(frozen=True, eq=False)
class LayoutQuestion(PlainQuestion):
    """One call of an operation on layouts.

    Args:
        subject: the operation, the format and what gives the right answer.
        shape: rows and columns; one row of codes or of blocks.
        axis: the axis of blocks, of a tensor.
        memory: one of MEMORIES, by its number.
        draw: the number of the set of random words.
        values: the numbers of a tensor instead of random ones.
        kind: what is done to random arrays to make them ordinary.
    """

    subject: LayoutSubject
    shape: tuple[int, int]
    axis: int = 1
    memory: int = 0
    draw: int = 0
    values: Array | None = field(default=None, repr=False)
    kind: Data | None = None

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """What the function is given, made when it is first needed."""
        return _arguments(self)

    @cached_property
    def _right(self) -> tuple[NDArray[np.uint8], bool]:
        if self.subject.cause is not None:
            return answer_by(self.subject.cause, self).astype(np.uint8), False
        right, may_refuse = self.subject.answer(self.arguments)
        return self.words(right).astype(np.uint8), may_refuse

    @property
    def wanted(self) -> NDArray[np.uint8]:
        """The right answer, as bytes."""
        return self._right[0]

    @property
    def may_refuse(self) -> bool:
        """Whether an exception is right as well."""
        return self._right[1]

    def words(self, result: object) -> NDArray[np.uint64]:
        """A result as words, checked as far as its shape is known, and one NaN for all."""
        words = self.subject.row.result_words(self.subject.format, self.shape, result)
        if self.subject.spoken_of is None:  # by a policy, which leaves bits of NaN open
            asked = np.array([[*self.shape, self.axis]], np.uint64)
            words = with_one_nan(self.subject.file, words[np.newaxis], asked).reshape(-1)
        return words

    @property
    def name(self) -> str:
        """The question in words."""
        return layout_name(self)

    @property
    def elements(self) -> int:
        """The number of elements in the call."""
        return self.subject.elements_in(self.shape)

    @property
    def part(self) -> str:
        """A tensor consists of blocks; a layout has no parts."""
        return "blocks" if self.subject.is_tensor else ""

    def difference(self, got: NDArray[np.uint64]) -> str:
        """The first wrong word, as reports show failures."""
        return layout_difference(self, got)

    def again(self, draw: int, memory: int = 0) -> LayoutQuestion:
        """The question with other random words, or in other memory."""
        return LayoutQuestion(self.subject, self.shape, self.axis, memory, draw)

    def resized(self, unit: str, count: int, draw: int) -> LayoutQuestion | None:
        """The question with another number of codes or blocks, of rows or columns, or of both."""
        rows, columns = self.shape
        if unit == self.subject.row.unit != "rows":
            return LayoutQuestion(self.subject, (1, count), draw=draw)
        shapes = {"rows": (count, columns), "columns": (rows, count), SHORTER: (count, count)}
        if unit not in shapes or unit not in self.features:
            return None
        if self.subject.elements_in(shapes[unit]) > _MOST:
            return None
        return LayoutQuestion(self.subject, shapes[unit], self.axis, draw=draw)

    def alone(self, got: NDArray[np.uint64]) -> list[LayoutQuestion]:
        """The first wrong block as a tensor of its own, and in every line of one of 32 x 32."""
        if not self.part or got.size != self.wanted.size:
            return []
        block = self._wrong_block(got)
        square = np.zeros((_BLOCK, _BLOCK), block.dtype)
        square[:, : block.size] = block
        both = (one.T.copy() if self.axis == 0 else one for one in (block[np.newaxis], square))
        return [LayoutQuestion(self.subject, one.shape, self.axis, values=one) for one in both]

    def telling(self, most: int) -> Iterator[LayoutQuestion]:
        """Tensors of more shapes, along both axes."""
        for lines, length in itertools.product(*LINES) if self.part else ():
            if lines * length <= most:
                yield LayoutQuestion(self.subject, (length, lines), 0)
                yield LayoutQuestion(self.subject, (lines, length), 1)

    def ordinary(self) -> Iterator[tuple[str, LayoutQuestion, LayoutQuestion]]:
        """The call with ordinary data of each kind, and so but for one number."""
        for kind, broken, _ in ordinary(_arrays(self)):
            yield kind.name, replace(self, kind=kind), replace(self, kind=broken)

    @property
    def data(self) -> Features:
        """What its arrays have in common."""
        arrays = zip(_NAMES[self.subject.row.works_on], _arrays(self), strict=True)
        return {key: word for one in arrays for key, word in data_words(*one).items()}

    def _wrong_block(self, got: NDArray[np.uint64]) -> Array:
        """The numbers of the first block of a tensor with a wrong scale or code."""
        values, name, axis = self.arguments
        shapes = result_shapes(values.shape, name, self.subject.policy, axis=axis)
        index = int(np.argmax(got != self.wanted))
        scales = math.prod(shapes.scale_codes)
        is_scale = index < scales
        shape = shapes.scale_codes if is_scale else shapes.codes
        place = list(divmod(index if is_scale else index - scales, shape[1]))
        block = place[axis] if is_scale else place[axis] // _BLOCK
        line: Array = np.take(values, place[1 - axis], 1 - axis)
        return line[_BLOCK * block : _BLOCK * block + _BLOCK]

    @property
    def features(self) -> Features:
        """What rules about wrong calls speak of."""
        rows, columns = self.shape
        row = self.subject.row
        if row.works_on == row.unit:
            return {row.unit: columns}
        matrix = {"rows": rows, "columns": columns, SHORTER: min(rows, columns)}
        if row.works_on == "scales":
            return {**matrix, "scales": rows * columns}
        length, lines = (rows, columns) if self.axis == 0 else (columns, rows)
        return {
            "elements along the axis": length,
            "lines along the axis": lines,
            "blocks": lines * -(-length // 32),
            **matrix,
            "elements": rows * columns,
            "axis": f"axis {self.axis}",
            "sides": "equal sides" if rows == columns else "unequal sides",
            "longer": "more rows than columns" if rows > columns else "no more rows than columns",
            "float": f"{self.subject.float} numbers",
        }


def _arguments(question: LayoutQuestion) -> tuple[Any, ...]:
    """The arguments of a call."""
    subject, arrays = question.subject, _arrays(question)
    row, about = subject.row, (subject.format, question.shape, question.axis)
    if row.unpacks:
        arrays = (subject.inverse(*arrays, *row.inverse().further(*about)),)
    return *arrays, *row.further(*about)


def _arrays(question: LayoutQuestion) -> tuple[Array, ...]:
    """Random codes, never 0, and random numbers, of a kind if the question has one."""
    subject, (rows, columns) = question.subject, question.shape
    works_on, name = subject.row.works_on, subject.format
    seed = (question.draw << 40) + (rows << 20) + columns
    if question.values is not None:
        found: tuple[Array, ...] = (question.values,)
    elif works_on == "tensor":
        found = (drawn_numbers(seed, rows, columns, LAYOUTS[subject.float]),)
    elif works_on == "scales":
        found = (drawn_codes(seed, rows * columns, 255).reshape(rows, columns),)
    elif works_on == "codes":
        found = (drawn_codes(seed, columns, element_format(name).code_count),)
    else:
        count = block_format(name).element.code_count
        codes = drawn_codes(seed, 32 * columns, count).reshape(columns, 32)
        found = drawn_codes(seed + (1 << 39), columns, 255), codes
    return found if question.kind is None else question.kind.of(found)
