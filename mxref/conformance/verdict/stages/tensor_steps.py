"""What the stages of a tensor may do: the axis along which it is cut, its tails, its scales.

A tensor becomes lines along an axis, which are filled up to whole blocks; the blocks are quantized;
their scales become a matrix, and their codes a tensor. A step is what one of these stages does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.cause.hypotheses import told
from mxref.conformance.verdict.stages.steps import RIGHT, BlockSteps, Step
from mxref.operands.word_rows import padded
from mxref.policy.choices import Tail as TailChoice
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

Array = NDArray[Any]
Shape = tuple[int, int]
_BLOCK = 32


def _turned(side: Array, axis: int) -> Array:
    """Lines as columns where the axis is 0, and the other way around."""
    found: Array = side.T if axis == 0 else side
    return found


def _along_0(axis: int, shape: Shape) -> bool:
    return axis == 0


@dataclass(frozen=True, slots=True)
class Axis(Step):
    """Whether a tensor is turned before it is cut, and whether the result is turned back.

    Both are asked with the axis and the shape.
    """

    stage: ClassVar[str] = "axis"
    turned: Callable[[int, Shape], bool] = _along_0
    turned_back: Callable[[int, Shape], bool] = _along_0


@dataclass(frozen=True, slots=True)
class Tail(Step):
    """What a short last block is filled up with: `whole` makes whole blocks of lines."""

    stage: ClassVar[str] = "tail"
    whole: Callable[[Array, int, FloatLayout], Array] | None = None

    def of(self, lines: Array, layout: FloatLayout) -> Array:
        """Lines, filled up."""
        missing = -lines.shape[1] % _BLOCK
        if not missing or self.whole is None:
            return _padded(lines, missing)
        return self.whole(lines, missing, layout)


@dataclass(frozen=True, slots=True)
class Matrix(Step):
    """Where scales are stored: from those of blocks, a line a row, and from the axis."""

    stage: ClassVar[str] = "scale matrix"
    moved: Callable[[Array, int], Array] | None = None

    def of(self, scales: Array, axis: int) -> Array:
        """The scales in C order."""
        if self.moved is not None:
            scales = self.moved(scales, axis)
        return _turned(scales, axis).reshape(-1)


@dataclass(frozen=True, slots=True)
class TensorSteps:
    """The steps of all stages of a tensor, which together answer questions."""

    axis: Axis = Axis()
    tail: Tail = Tail()
    blocks: BlockSteps = RIGHT
    matrix: Matrix = Matrix()

    @property
    def wrong(self) -> tuple[Step, ...]:
        """The steps that are not right, in order."""
        own = tuple(one for one in (self.axis, self.tail) if one.name != "right")
        last = () if self.matrix.name == "right" else (self.matrix,)
        return (*own, *self.blocks.wrong, *last)

    @property
    def mixes(self) -> bool:
        """Whether a tensor's answer depends on others of the call."""
        return any(step.mixes for step in self.wrong)

    def cut(self, questions: Questions) -> Questions:
        """The blocks of all tensors."""
        file = without_cases("quantize", questions.file.format, questions.file.float)
        layout = questions.layout

        def blocks() -> Questions:
            rows = [self._lines(row, layout).reshape(-1, _BLOCK) for row in questions.inputs]
            return Questions(file, np.concatenate(rows))

        return questions.once(f"cut {self.axis.name} {self.tail.name}", Policy(), blocks)

    def _lines(self, row: Words, layout: FloatLayout) -> Array:
        rows, columns, axis = row[:3].tolist()
        matrix = row[3 : 3 + rows * columns].reshape(rows, columns)
        lines = matrix.T if self.axis.turned(axis, (rows, columns)) else matrix
        return self.tail.of(lines, layout)

    def arranged(self, inputs: Words, blocks: Words, policy: Policy) -> list[tuple[Array, Array]]:
        """Scales and codes of each tensor, in C order, from a scale and 32 codes for each block."""
        found, first = [], 0
        for rows, columns, axis in inputs[:, :3].tolist():
            lines, length = (columns, rows) if axis == 0 else (rows, columns)
            count = lines * -(-length // _BLOCK)
            some = blocks[first : first + count]
            first += count
            codes = some[:, 1:].reshape(lines, -1)
            if policy.layout.tail is TailChoice.SHORT:
                codes = codes[:, :length]
            back = 0 if self.axis.turned_back(axis, (rows, columns)) else 1
            scales = self.matrix.of(some[:, 0].reshape(lines, -1), back)
            found.append((scales, _turned(codes, back).reshape(-1)))
        return found

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """The answers to questions, where all else follows a policy."""
        cut = self.cut(questions)
        blocks = self.blocks.answer(cut, policy) if self.blocks.wrong else cut.answers(policy)
        pairs = self.arranged(questions.inputs, blocks, policy)
        return padded([np.concatenate(pair) for pair in pairs])


def _unless_square(axis: int, shape: Shape) -> bool:
    return axis == 0 and shape[0] != shape[1]


def _or_square(axis: int, shape: Shape) -> bool:
    return axis == 0 or shape[0] == shape[1]


_AXES = {
    "square_not_turned": (_unless_square, _along_0),
    "square_along_1": (_unless_square, _unless_square),
    "square_not_turned_back": (_along_0, _unless_square),
    "square_along_0": (_or_square, _or_square),
}
#: What may become of the axis.
AXES = (Axis(), *(Axis(name, text, *when) for name, text, when in told("axis", _AXES)))


def _padded(lines: Array, missing: int, **how: Any) -> Array:
    return np.pad(lines, ((0, 0), (0, missing)), **how)


def _again(lines: Array, missing: int, layout: FloatLayout) -> Array:
    tail = lines[:, lines.shape[1] - (_BLOCK - missing) :]
    times = -(-_BLOCK // tail.shape[1])
    whole = np.tile(tail, (1, times))[:, :_BLOCK]
    return np.concatenate([lines[:, : lines.shape[1] - tail.shape[1]], whole], axis=1)


def _behind(lines: Array, missing: int, layout: FloatLayout) -> Array:
    flat = np.concatenate([lines.reshape(-1), np.zeros(_BLOCK, lines.dtype)])
    starts = np.arange(len(lines))[:, np.newaxis] * lines.shape[1]
    places = starts + np.arange(lines.shape[1] + missing)
    return np.asarray(flat[np.minimum(places, len(flat) - 1)])


def _short(count: int, least: int) -> Callable[[Array, int, FloatLayout], Array]:
    """Without the last few numbers of a tail that has at least so many."""

    def whole(lines: Array, missing: int, layout: FloatLayout) -> Array:
        filled = _padded(lines, missing)
        if _BLOCK - missing >= least:
            filled[:, max(lines.shape[1] - count, lines.shape[1] - (_BLOCK - missing)) :] = 0
        return filled

    return whole


_TAILS: dict[str, Callable[[Array, int, FloatLayout], Array]] = {
    "last": lambda lines, missing, _: _padded(lines, missing, mode="edge"),
    "first": lambda lines, missing, _: np.hstack([lines, np.repeat(lines[:, :1], missing, axis=1)]),
    "begin": lambda lines, missing, _: np.hstack(
        [lines, np.resize(lines.T, (missing, len(lines))).T]
    ),
    "again": _again,
    "mirrored": lambda lines, missing, _: _padded(lines, missing, mode="symmetric"),
    "ones": lambda lines, missing, to: _padded(
        lines, missing, constant_values=to.bias << to.mantissa_bits
    ),
    "behind": _behind,
    "one_short": _short(1, 2),
    "one_short_always": _short(1, 1),
    "two_short": _short(2, 1),
    "zeros": _short(_BLOCK, 1),
}
#: What may become of tails.
TAILS = (Tail(), *(Tail(*one) for one in told("tail", _TAILS)))


def _by_columns(axes: tuple[int, ...]) -> Callable[[Array, int], Array]:
    """The matrix of scales stored column by column, with some axes."""

    def moved(scales: Array, axis: int) -> Array:
        if axis not in axes:
            return scales
        side = _turned(scales, axis)
        return _turned(side.T.reshape(side.shape), axis)

    return moved


def _rolled(step: int, along: int) -> Callable[[Array, int], Array]:
    return lambda scales, axis: np.roll(scales, step, along)


def _rolled_memory(step: int) -> Callable[[Array, int], Array]:
    """The scales a place further in memory."""
    return lambda scales, axis: _turned(np.roll(_turned(scales, axis), step), axis)


def _tail_scale(scales: Array, axis: int) -> Array:
    found = scales.copy()
    found[:, 1:][:, -1:] = scales[:, :-1][:, -1:]
    return found


_MATRICES: dict[str, Callable[[Array, int], Array]] = {
    "columns_0": _by_columns((0,)),
    "columns_1": _by_columns((1,)),
    "columns": _by_columns((0, 1)),
    "before": _rolled_memory(1),
    "behind": _rolled_memory(-1),
    "line_before": _rolled(1, 0),
    "line_behind": _rolled(-1, 0),
    "block_before": _rolled(1, 1),
    "block_behind": _rolled(-1, 1),
    "backward": lambda scales, axis: scales[:, ::-1],
    "lines_backward": lambda scales, axis: scales[::-1],
    "first_of_line": lambda scales, axis: np.repeat(scales[:, :1], scales.shape[1], axis=1),
    "first_line": lambda scales, axis: np.repeat(scales[:1], len(scales), axis=0),
    "tail_before": _tail_scale,
}
#: What may become of the matrix of scales.
MATRICES = (Matrix(), *(Matrix(*one) for one in told("matrix", _MATRICES)))
