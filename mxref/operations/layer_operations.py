"""The operations on linear layers: `linear` and `linear_gradients`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.formats.catalog import MX_BLOCKS
from mxref.operands.kinds import Floats
from mxref.operands.returned import AnswerError, float_words
from mxref.operands.shown import show_float
from mxref.operands.word_rows import padded, stripped
from mxref.operations.asked import Asked, one_row
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.intervals import allowed, held
from mxref.operations.layers import (
    exact_layer,
    fast_layer,
    layer_bounds,
    layer_of,
    layer_place,
    layer_sizes,
)
from mxref.operations.operation import AnyPolicy, Kinds, Operation, Words
from mxref.operations.product_words import BOUNDS
from mxref.operations.products import accumulations
from mxref.operations.simpler import Attempt
from mxref.operations.simpler_layers import blanked_layers, rounder_layers, smaller_layers
from mxref.operations.wrong_answer import WrongAnswer
from mxref.policy.choices import Tail
from mxref.policy.policy import Policy

__all__ = ["LayerOperation", "Linear", "LinearGradients"]


class LayerOperation(Operation):
    """An operation on a linear layer, all of whose words are floats."""

    one_nan = of_layers = True
    varied = single = True
    decided_by = "N44"
    formats = MX_BLOCKS
    refused: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "rounding": ("stochastic_a", "stochastic_b", "stochastic_c")
    }
    #: How many of its results are sums of products, the first ones.
    products: ClassVar[int] = 1
    #: How many words stand before the arrays.
    sizes: ClassVar[int] = 4
    #: The name of the third argument.
    last: ClassVar[str]

    def slots_under(self, format: str, policy: Policy) -> tuple[str, ...]:
        """Those that files have."""
        return "f32", "bf16", "f16"

    def bounds(self, format: str) -> tuple[str, ...]:
        """What every order of additions may give."""
        return BOUNDS

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the format has the accumulation, tails are taken and no random bits needed."""
        adds = policy.products.accumulation.value in accumulations(f"{format}-{format}")
        tails = policy.layout.tail is not Tail.REFUSED
        return adds and tails and not policy.element.rounding.stochastic

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Floats in and out."""
        number, _ = super().digits(format, slot)
        return number, number

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """By the sizes, which are the first words."""
        return layer_sizes(self.name, words)

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One row, one input and one output, all zeros."""
        return 1, 1, 1, 1, 0, 0, 0

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Sizes, and floats."""
        return [*[None] * self.sizes, *[Floats(slot)] * (len(words) - self.sizes)]

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Floats."""
        return [Floats(slot)] * count

    def attempts(self, format: str, slot: str, words: Words) -> Iterator[Attempt]:
        """Fewer rows, inputs and outputs, more zeros, numbers that are rounder."""
        yield lambda row: smaller_layers(self.name, stripped(row))
        yield lambda row: blanked_layers(self.sizes, stripped(row))
        yield lambda row: rounder_layers(self.sizes, stripped(row), LAYOUTS[slot])

    def exact(
        self, format: str, slot: str, questions: Iterable[Words], policy: AnyPolicy
    ) -> list[tuple[int, ...]]:
        """The answers, by the slow twin."""
        return [exact_layer(self.name, format, slot, w, str(policy)) for w in questions]

    def fast(
        self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy
    ) -> NDArray[np.uint64]:
        """The answers, by the fast path."""
        one = str(policy)
        return padded([fast_layer(self.name, format, slot, stripped(row), one) for row in words])

    def difference(self, wrong: WrongAnswer) -> str:
        """The first number that is outside of its interval, and the interval."""
        want, got, layout = wrong.want, wrong.got, LAYOUTS[wrong.slot]
        if len(got) != len(want):
            return f"want {len(want)} numbers, got {len(got)}"
        index, reach = int(np.argmax(np.array(got) != np.array(want))), ""
        if wrong.policy is not None:
            policy = Policy.parse(wrong.policy)
            ends = layer_bounds(self.name, wrong.format, wrong.slot, wrong.words, policy, "any")
            index = int(np.argmin(held(ends, np.array(got, np.uint64), wrong.slot)))
            reach = f": {allowed(ends, index)}"
        name, left, size = layer_place(self.name, wrong.words, index)
        shown = [show_float(side[index], layout) for side in (want, got)]
        return f"number {left} of {size} of {name}: want {shown[0]}, got {shown[1]}{reach}"

    def asked(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """The sizes, and which number of the answer it is."""
        name, place, _ = layer_place(self.name, words, index)
        return f"layer {'x'.join(map(str, words[:4]))}, number {place} of {name}"

    @abstractmethod
    def shapes(self, sizes: Words) -> tuple[tuple[int, ...], ...]:
        """The shapes of the results, by sequences, rows, inputs and outputs."""

    def result_words(self, sizes: Words, layout: FloatLayout, result: object) -> NDArray[np.uint64]:
        """The words of what a function has returned for a layer of these sizes.

        Raises:
            AnswerError: results of other shapes or another dtype.
        """
        shapes = self.shapes(sizes)
        parts = (result,) if len(shapes) == 1 else result
        if not isinstance(parts, tuple | list) or len(parts) != len(shapes):
            got = type(parts).__name__
            raise AnswerError(f"{self.name} must return three arrays, got {got}")
        words = [float_words(one, size, layout) for one, size in zip(parts, shapes, strict=True)]
        return np.concatenate([part.reshape(-1) for part in words])

    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call a case."""
        layout = LAYOUTS[slot]
        for i, row in enumerate(words):
            case = stripped(row)
            layer = layer_of(self.name, case).floats(layout)
            arguments = {"x": layer.x, "w": layer.w, self.last: layer.more, "format": format}
            read = partial(self.result_words, case[:4], layout)
            yield Asked(slice(i, i + 1), arguments, partial(one_row, read))


class Linear(LayerOperation):
    """A layer's output."""

    name = "linear"
    multiples = "r", "n", "k"
    axes_filled = FilledAxes(("srk", "nk", "n"), ("srn",))
    last = "bias"
    sizes = 5
    parameters = "x, w, bias, format"
    questions = 48

    def shapes(self, sizes: Words) -> tuple[tuple[int, ...], ...]:
        """That of y."""
        sequences, rows, _, outputs = sizes
        return ((sequences, rows, outputs),)


class LinearGradients(LayerOperation):
    """The gradients of a layer."""

    name = "linear_gradients"
    multiples = "n", "k"
    axes_filled = FilledAxes(("srk", "nk", "srn"), ("srk", "nk", "n"))
    last = "grad"
    products = 2
    parameters = "x, w, grad, format"
    arrays = 3
    questions = 36

    def shapes(self, sizes: Words) -> tuple[tuple[int, ...], ...]:
        """Those of x, of the weight and of the bias."""
        sequences, rows, inputs, outputs = sizes
        return (sequences, rows, inputs), (outputs, inputs), (outputs,)
