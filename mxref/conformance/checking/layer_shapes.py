"""Linear layers in many shapes: repeated, in other memory, and one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.drawn_layers import SHAPES, Shape, layer_words
from mxref.cases.records import VectorFile
from mxref.conformance.checking.axis_sizes import long_axes
from mxref.conformance.checking.product_outputs import same_numbers
from mxref.conformance.checking.rules import Features, alike
from mxref.conformance.checking.shape_replies import ask, judged, otherwise
from mxref.conformance.compare.product_intervals import held, tolerated
from mxref.conformance.verdict.uses import Use
from mxref.operations.layers import fast_layer, layer_bounds, layer_of, layer_place
from mxref.operations.registry import LAYER_OPERATIONS
from mxref.policy.policy import Policy
from mxref.products.intervals import Bounds
from mxref.targets.calls import quiet

__all__ = ["LayerQuestion", "ask_layer_shapes"]

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
#: Of further formats and float types every so many of the shapes are asked.
_FEWER = 6
#: The shape of calls whose arrays lie elsewhere in memory, and of those that follow each other.
_MOVED: Shape = (2, 17, 33, 19)


@dataclass(frozen=True, slots=True)
class LayerQuestion:
    """A linear layer, compared with the policy that gives the target's answers so far.

    Args:
        op: `linear` or `linear_gradients`.
        format: the block format.
        float: the float type.
        shape: sequences, rows of each, inputs and outputs.
        policy: the policy.
        draw: which of several.
    """

    op: str
    format: str
    float: str
    shape: Shape
    policy: Policy
    draw: int = 0

    @property
    def kind(self) -> str:
        """What such calls are."""
        return "layers"

    @property
    def features(self) -> Features:
        """What a rule may speak of."""
        sequences, rows, inputs, outputs = self.shape
        sizes = {"rows": sequences * rows, "inputs": inputs, "outputs": outputs}
        sizes |= {"sequences": sequences, "numbers of y": sequences * rows * outputs}
        found: dict[str, int | str] = {**sizes, "sides": alike(sizes, "inputs", "outputs")}
        if self.op == "linear":
            more = layer_of(self.op, self._words).more
            found["bias"] = "no bias" if more is None else "a bias"
        return found

    def drawn(self, more: int) -> LayerQuestion:
        """The layer with the numbers of a later draw."""
        return replace(self, draw=self.draw + more)

    @property
    def _words(self) -> tuple[int, ...]:
        seed = 2 * self.draw + sum(self.shape) % 2  # odd ones have a bias
        return layer_words(self.op, self.format, self.float, self.shape, seed)

    def prepared(self) -> tuple[list[NDArray[Any]], Words]:
        """The arrays, and the right words."""
        names, words = (self.op, self.format, self.float), self._words
        layer = layer_of(self.op, words).floats(LAYOUTS[self.float])
        some = [layer.x, layer.w] if layer.more is None else [layer.x, layer.w, layer.more]
        return some, self._shaped(fast_layer(*names, words, str(self.policy)))

    def _shaped(self, words: NDArray[Any]) -> NDArray[Any]:
        """The words of y as rows and columns; those of gradients as they are."""
        return words.reshape(-1, self.shape[3]) if self.op == "linear" else words

    def call(self, function: Callable[..., Any], arrays: Sequence[NDArray[Any]]) -> object:
        """The result of a target's function."""
        more = None if len(arrays) == 2 else arrays[2]
        return function(arrays[0], arrays[1], more, self.format)

    def words(self, result: object, want: Words) -> Words:
        """The words of a result."""
        return self._shaped(
            LAYER_OPERATIONS[self.op].result_words(self.shape, LAYOUTS[self.float], result)
        )

    def wrong(self, want: Words, got: Words) -> NDArray[np.bool_]:
        """Which numbers are wrong: outside their intervals, unless an accumulation is claimed."""
        same = same_numbers(want, got, self.float)
        if same.all() or not tolerated(self.policy):
            return ~same
        names = self.op, self.format, self.float
        ends = layer_bounds(*names, self._words, self.policy, "any")
        return ~(same | held(Bounds(*map(self._shaped, ends)), got, self.float))

    def place(self, index: Sequence[int]) -> str:
        """Where a number stands."""
        if self.op == "linear":
            return f"row {index[0]}, column {index[1]}"
        name, place, _ = layer_place(self.op, self.shape, index[0])
        return f"number {place} of {name}"

    def __str__(self) -> str:
        sequences, rows, inputs, outputs = self.shape
        return f"x ({sequences:,}, {rows:,}, {inputs:,}), w ({outputs:,}, {inputs:,})"


def ask_layer_shapes(
    operations: Mapping[str, Callable[..., Any]],
    files: Sequence[tuple[VectorFile, Policy, bool]],
    elements: int,
) -> tuple[list[Use], tuple[str, ...]]:
    """Put linear layers of many shapes to a target.

    Args:
        operations: the target's functions.
        files: its vector files, each with what it is compared with, and whether the target fails
            it: then only state is said to be wrong.
        elements: the largest number of elements in the arrays of a call.

    Returns:
        What is wrong, one for an operation and format at most; and what was asked, in words.
    """
    uses: dict[tuple[str, str], Use] = {}
    asked: set[str] = set()
    calls = 0
    with quiet():
        for file, policy, fails in files:
            key = file.op, file.format
            if key in uses:
                continue
            function, step = operations[file.op], _FEWER if fails or file.op in asked else 1
            asked.add(file.op)
            plan = [
                LayerQuestion(*key, file.float, shape, policy)
                for shape in _SHAPES[::step]
                if _numbers(shape) <= elements
            ]
            once = [ask(function, one) for one in plan]
            again = [ask(function, one.drawn(1)) for one in reversed(plan)]
            calls += 2 * len(plan)
            found = judged(function, once, again[::-1], fails=False)
            moved = LayerQuestion(*key, file.float, _MOVED, policy)
            if (found is None or found[0] == "numbers") and _numbers(_MOVED) <= elements:
                other = otherwise(function, moved)
                # Where numbers are wrong, their memory is not what decides; state may be.
                found = (
                    other if found is None or (other and other[0] in ("state", "effect")) else found
                )
            if found is not None and (found[0] in ("state", "effect") or not fails):
                uses[key] = Use(*key, *found)
    note = f"layers: {calls:,} calls of other shapes"
    return list(uses.values()), (note,) if calls else ()


def _numbers(shape: Shape) -> int:
    """The numbers in the arrays of a call."""
    rows, inputs, outputs = shape[0] * shape[1], shape[2], shape[3]
    return rows * (inputs + outputs) + inputs * outputs
