"""Questions about linear layers in many shapes, with their right answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.drawn_layers import SHAPES, Shape, layer_words
from mxref.conformance.checking.array_memory import ONE_ARRAY, PLACED, STRIDE_0, one_array
from mxref.conformance.checking.axis_sizes import long_axes
from mxref.conformance.checking.call_data import Data, data_words, ordinary, repeated
from mxref.conformance.checking.call_manner import Manner, in_shapes
from mxref.conformance.checking.call_places import zero_words
from mxref.conformance.checking.call_questions import CallQuestion, PlainQuestion, PlainSubject
from mxref.conformance.checking.call_rules import Features, Rule, alike
from mxref.conformance.checking.product_outputs import first_wrong, same_numbers, wrong_rows
from mxref.conformance.compare.product_intervals import tolerated
from mxref.operations.intervals import held
from mxref.operations.layers import fast_layer, layer_bounds, layer_of, layer_place
from mxref.operations.registry import LAYER_OPERATIONS
from mxref.policy.policy import Policy
from mxref.products.intervals import Bounds

__all__ = ["LayerQuestion", "LayerSubject"]

Words = NDArray[np.uint64]
_SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 21, 31, 32, 33, 44, 54, 63, 64, 65, 86, 100, 128, 129, 149)
_COUNT = len(_SIZES)
_LONG = (300, 513, 768, 1025, 2048, 4097)
#: Each size of each axis beside different small others, squares, one of each, and a large one.
_SHAPES: tuple[Shape, ...] = tuple(
    dict.fromkeys(
        (
            *((1, m, _SIZES[5 * i % 9], _SIZES[7 * i % 8]) for i, m in enumerate(_SIZES)),
            *((1, _SIZES[4 * i % 7], n, _SIZES[5 * i % 9]) for i, n in enumerate(_SIZES)),
            *((1, _SIZES[5 * i % 9], _SIZES[2 * i % 7], n) for i, n in enumerate(_SIZES)),
            *((1, n, n, n) for n in (1, 8, 16, 32, 48, 64)),
            *((n, 5, 33, 3) for n in (2, 3, 4, 7, 8, 16)),
            *SHAPES,
            (1, 33, 257, 65),
            *((3, 65, 5, 7), (1, 300, 33, 310), (1, 513, 64, 16), (1, 5, 600, 520)),
            *((1, m, k, n) for m, k, n in long_axes(3, (1, 3, 5, 33), _LONG)),
        )
    )
)
#: Shapes of real layers: aligned and large ones, one row of a deep one, and just off them. Of
#: further formats and float types there is one.
_REAL: tuple[Shape, ...] = (
    (1, 128, 128, 128), (1, 256, 512, 256), (1, 1, 1024, 512), (2, 64, 128, 256),
    (1, 127, 129, 128), (1, 256, 384, 128),
)  # fmt: skip
#: Of further formats and float types every so many of the shapes are asked.
_FEWER = 6
#: The shape of calls whose arrays lie elsewhere in memory, and of those that follow each other.
_MOVED: Shape = (2, 17, 33, 19)
#: As many inputs as outputs.
_SQUARE: Shape = (2, 17, 33, 33)


@dataclass(frozen=True, slots=True)
class LayerSubject(PlainSubject):
    """A linear layer of a format, compared with the policy that gives the target's answers so far.

    Args:
        op: `linear` or `linear_gradients`.
        format: the block format.
        float: the float type.
        policy: the policy.
        fails: whether the target fails at the vectors.
    """

    op: str
    format: str
    float: str
    policy: Policy
    fails: bool = False

    @property
    def manner(self) -> Manner:
        """Each shape is asked with two sets of numbers."""
        return in_shapes("layers")

    def questions(
        self, elements: int, *, first_float: bool, first_format: bool
    ) -> Iterator[LayerQuestion]:
        """Those of some shapes, then those in other memory."""
        step = 1 if first_float and first_format and not self.fails else _FEWER
        for shape in (*_SHAPES[::step], *_REAL[::step]):
            if _numbers(shape) <= elements:
                yield LayerQuestion(self, shape)
        if _numbers(_MOVED) > elements:
            return
        moved = LayerQuestion(self, _MOVED)
        yield from (replace(moved, memory=memory) for memory in PLACED)
        for kind in repeated(moved.arguments):
            yield replace(moved, memory=STRIDE_0, kind=kind)
        if self.op == "linear_gradients":  # x and the gradient of y
            yield LayerQuestion(self, _SQUARE, memory=ONE_ARRAY)

    def tells(self, rule: Rule | None, *, has_parts: bool, alone: bool) -> bool:
        """Every rule says more than the vectors, which have few shapes."""
        return rule is not None

    def kept(self, group: Sequence[CallQuestion]) -> list[LayerQuestion]:
        """The layer that is asked in other memory."""
        return [LayerQuestion(self, _MOVED)] if any(one.memory for one in group) else []


@dataclass(frozen=True, slots=True)
class LayerQuestion(PlainQuestion):
    """One call of a linear layer.

    Args:
        subject: the operation, the format, the float type and the policy.
        shape: sequences, rows of each, inputs and outputs.
        draw: which of several.
        memory: one of MEMORIES, by its number.
        kind: what is done to random x and w to make them ordinary.
    """

    subject: LayerSubject
    shape: Shape
    draw: int = 0
    memory: int = 0
    kind: Data | None = None

    @property
    def name(self) -> str:
        """The shapes of the input and of the weight."""
        sequences, rows, inputs, outputs = self.shape
        return f"x ({sequences:,}, {rows:,}, {inputs:,}), w ({outputs:,}, {inputs:,})"

    @property
    def elements(self) -> int:
        """The numbers in the arrays of the call."""
        return _numbers(self.shape)

    @property
    def work(self) -> int:
        """The multiplications."""
        sequences, rows, inputs, outputs = self.shape
        return sequences * rows * inputs * outputs

    def resized(self, unit: str, count: int, draw: int) -> LayerQuestion | None:
        """The layer with another number of rows of one sequence, of inputs or of outputs.

        None is longer than those that are asked: the intervals of long sums hold wrong ones, too.
        """
        sequences, rows, inputs, outputs = self.shape
        shapes = {
            "rows": (1, count, inputs, outputs),
            "inputs": (sequences, rows, count, outputs),
            "outputs": (sequences, rows, inputs, count),
            "sequences": (count, rows, inputs, outputs),
        }
        shape = shapes.get(unit)
        if shape is None or max(shape[0] * shape[1], *shape[2:]) > _LONG[-1]:
            return None
        return replace(self, shape=shape, draw=draw, memory=0)

    @property
    def features(self) -> Features:
        """What a rule may speak of."""
        sequences, rows, inputs, outputs = self.shape
        sizes = {"rows": sequences * rows, "inputs": inputs, "outputs": outputs}
        sizes |= {"sequences": sequences, "numbers of y": sequences * rows * outputs}
        found: dict[str, int | str] = {**sizes, "sides": alike(sizes, "inputs", "outputs")}
        if self._is_forward:
            more = layer_of(self.subject.op, _words(self)).more
            found["bias"] = "no bias" if more is None else "a bias"
        return found

    @property
    def _is_forward(self) -> bool:
        return LAYER_OPERATIONS[self.subject.op].arrays == 1

    def again(self, draw: int, memory: int = 0) -> LayerQuestion:
        """The layer with other numbers, or in other memory."""
        return replace(self, draw=draw, memory=memory)

    def ordinary(self) -> Iterator[tuple[str, LayerQuestion, LayerQuestion]]:
        """The layer with ordinary data of each kind, and so but for one number."""
        for kind, broken, _ in ordinary(self.arguments[:2], numbers=2):
            yield kind.name, replace(self, kind=kind), replace(self, kind=broken)

    @property
    def data(self) -> Features:
        """What x and w have in common."""
        x, w = self.arguments[:2]
        return {**data_words("x", x), **data_words("w", w)}

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arrays, None for no bias, and the format."""
        given = layer_of(self.subject.op, _words(self)).floats(LAYOUTS[self.subject.float])
        return given.x, given.w, given.more, self.subject.format

    @property
    def wanted(self) -> Words:
        """The words of the answer; those of y as rows and columns."""
        return _answer(self)

    def shaped(self, words: NDArray[Any]) -> NDArray[Any]:
        """The words of y as rows and columns; those of gradients as they are."""
        return words.reshape(-1, self.shape[3]) if self._is_forward else words

    def words(self, result: object) -> Words:
        """The words of a result."""
        one, layout = self.subject, LAYOUTS[self.subject.float]
        return self.shaped(LAYER_OPERATIONS[one.op].result_words(self.shape, layout, result))

    def is_wrong(self, got: Words) -> bool:
        """Whether a number is wrong."""
        return bool(self._wrong(got).any())

    def _wrong(self, got: Words) -> NDArray[np.bool_]:
        """Which numbers are outside their intervals, unless an accumulation is claimed."""
        one = self.subject
        same = same_numbers(self.wanted, got, one.float)
        if same.all() or not tolerated(one.policy):
            return ~same
        ends = layer_bounds(one.op, one.format, one.float, _words(self), one.policy, "any")
        return ~(same | held(Bounds(*map(self.shaped, ends)), got, one.float))

    def wrong_lines(self, got: Words) -> dict[str, tuple[NDArray[np.int64], int]]:
        """The rows and columns of y with a wrong number."""
        wrong = self._wrong(got)
        return wrong_rows(wrong) if wrong.ndim == 2 else {}

    def remarks(self, got: Words) -> list[str]:
        """The gradient that all wrong numbers are in, after the known bugs that may give them."""
        one, places = self.subject, self._wrong(got)
        zeros = zero_words(got[places], "number")
        if self._is_forward:
            return zeros
        wrong = np.flatnonzero(places).tolist()
        parts = {layer_place(one.op, self.shape, index)[0] for index in wrong}
        where = [f"in {part}" for part in parts if len(parts) == 1]
        by = [f"{part} (as by mutant {bug})" for part in where for bug in self._bugs(got)]
        return [*by, *(f"{part}, {zero}" for part in where for zero in zeros), *where, *zeros]

    def _bugs(self, got: Words) -> list[str]:
        """The bugs in the gradient of the bias that may give an answer."""
        from mxref.conformance.verdict.cause.product_causes import BIAS_GRADIENTS
        from mxref.mutants import mutants_of  # imported where something is wrong

        one, found = self.subject, []
        for axis, id in BIAS_GRADIENTS.items():
            names = one.op, one.format, one.float
            ends = layer_bounds(*names, _words(self), one.policy, "any", db_along=axis)
            if held(ends, got, one.float).all():
                found.append(id)
        return [f"{m.id}: {m.text}" for m in mutants_of(one.op) if m.id in found]

    def difference(self, got: Words) -> str:
        """The first wrong number, and how many there are."""
        wrong = self._wrong(got)
        return first_wrong(self.name, self.wanted, got, wrong, self.subject.float, self._place)

    def _place(self, index: Sequence[int]) -> str:
        """Where a number stands."""
        if self._is_forward:
            return f"row {index[0]}, column {index[1]}"
        name, place, _ = layer_place(self.subject.op, self.shape, index[0])
        return f"number {place} of {name}"


@lru_cache(16)  # those of a question are asked for several times
def _words(question: LayerQuestion) -> tuple[int, ...]:
    """The words of the case."""
    one, shape = question.subject, question.shape
    seed = 2 * question.draw + sum(shape) % 2  # odd ones have a bias
    words = layer_words(one.op, one.format, one.float, shape, seed)
    if question.kind is None and question.memory != ONE_ARRAY:
        return words
    layout = LAYOUTS[one.float]
    given = layer_of(one.op, words).floats(layout)
    parts = [part for part in (given.x, given.w, given.more) if part is not None]
    first = len(words) - sum(part.size for part in parts)
    arrays = one_array(parts) if question.kind is None else question.kind.of(parts)
    changed = [word for part in arrays for word in part.view(layout.uint).reshape(-1).tolist()]
    return *words[:first], *changed


@lru_cache(16)
def _answer(question: LayerQuestion) -> Words:
    """The words of the right answer."""
    one = question.subject
    names = one.op, one.format, one.float
    found = question.shaped(fast_layer(*names, _words(question), str(one.policy)))
    found.flags.writeable = False
    return found


def _numbers(shape: Shape) -> int:
    """The numbers in the arrays of a call."""
    rows, inputs, outputs = shape[0] * shape[1], shape[2], shape[3]
    return rows * (inputs + outputs) + inputs * outputs
