"""The operations on linear layers: `linear` and `linear_gradients`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operands.word_rows import padded, stripped
from mxref.operations.layers import exact_layer, fast_layer, layer_sizes
from mxref.operations.operation import AnyPolicy, Operation, Words
from mxref.operations.product_words import BOUNDS
from mxref.operations.products import accumulations
from mxref.policy.choices import Tail
from mxref.policy.policy import Policy

__all__ = ["LayerOperation", "Linear", "LinearGradients"]


class LayerOperation(Operation):
    """An operation on a linear layer, all of whose words are floats."""

    varied = single = True

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


class Linear(LayerOperation):
    """A layer's output."""

    name = "linear"
    parameters = "x, w, bias, format"
    questions = 48


class LinearGradients(LayerOperation):
    """The gradients of a layer."""

    name = "linear_gradients"
    parameters = "x, w, grad, format"
    questions = 36
