"""The operations on layers by a recipe: the output of one, and its gradients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.exact import recipe as twin
from mxref.operands.fields import Field, parts_of
from mxref.operations.asked_call import AskedCall
from mxref.operations.operation import Words
from mxref.operations.recipe_draws import Ordinary, RandomBits
from mxref.operations.recipe_layers import SOURCE, RecipeLayer
from mxref.products.intervals import Bounds
from mxref.products.layer_bounds import Rounding, linear_bounds, linear_gradients_bounds
from mxref.products.linear import linear, linear_gradients
from mxref.products.recipe import OPERANDS, Recipe

__all__ = ["RecipeGradients", "RecipeLinear"]

Array = NDArray[Any]
_FEW = 2


class RecipeLinear(RecipeLayer):
    """The output of a layer by a recipe."""

    name = "recipe_linear"
    parameters = "x, w, recipe"
    operands = OPERANDS[:2]
    function = "linear"
    as_code = "lambda x, w, recipe: linear(x, w, None, recipe)"

    def fields(self, format: str) -> tuple[Field, ...]:
        """Sizes, x and the weight."""
        return self.first_fields(format)

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """The output."""
        return np.float32, (values["s"], values["m"], values["n"])

    def _fast(self, call: AskedCall) -> Sequence[Array]:
        (x, w), recipe, _ = self.given(call)
        return [linear(x, w, recipe)]

    def any_order(
        self,
        arrays: Sequence[Array],
        recipe: Recipe,
        bits: Mapping[str, Array],
        rounding: Rounding = "any",
    ) -> Sequence[Bounds]:
        """The bounds of the output."""
        x, w = arrays
        return [linear_bounds(x, w, recipe, rounding=rounding)]

    def _slow(self, format: str, words: Words, end: int = 0) -> Iterator[int]:
        parts = parts_of(self.fields(format), words)
        rows, w = _rows(parts["x"]), parts["w"].tolist()
        for row in twin.output(rows, w, SOURCE, self.twin_operands(format), end=end):
            yield from row


class RecipeGradients(RecipeLayer):
    """The gradients of a layer's input and weight by a recipe."""

    name = "recipe_gradients"
    parameters = "x, w, grad, recipe"
    operands = OPERANDS[2:]
    function = "linear_gradients"
    as_code = "lambda *given: np.concatenate([np.ravel(a) for a in linear_gradients(*given)[:2]])"
    worked_on = 3

    def fields(self, format: str) -> tuple[Field, ...]:
        """Sizes, x, the weight, the gradient of the output, and random bits."""
        shape = ("s", "m", "n")
        bits = (
            Field(f"bits_{one}", RandomBits(getattr(self.recipe_of(format), one)), shape)
            for one in self.random(format)
        )
        return (*self.first_fields(format), Field("grad", Ordinary(), shape), *bits)

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """The numbers of both gradients."""
        s, m, k, n = (values[one] for one in "smkn")
        return np.float32, (s * m * k + n * k,)

    def _fast(self, call: AskedCall) -> Sequence[Array]:
        (x, w, grad), recipe, bits = self.given(call)
        return linear_gradients(x, w, grad, recipe, random_bits=bits or None)[:2]

    def any_order(
        self,
        arrays: Sequence[Array],
        recipe: Recipe,
        bits: Mapping[str, Array],
        rounding: Rounding = "any",
    ) -> Sequence[Bounds]:
        """The bounds of both gradients."""
        (x, w, grad), drawn = arrays, dict(bits) or None
        return linear_gradients_bounds(x, w, grad, recipe, random_bits=drawn, rounding=rounding)[:2]

    def _slow(self, format: str, words: Words, end: int = 0) -> Iterator[int]:
        parts = parts_of(self.fields(format), words)
        rows, w, grad = _rows(parts["x"]), parts["w"].tolist(), _rows(parts["grad"])
        draws = [
            _rows(parts[name]) if (name := f"bits_{one}") in parts else None
            for one in ("dx_grad", "dw_grad")
        ]
        own = self.twin_operands(format)
        for part in twin.gradients(rows, w, grad, SOURCE, own, draws=draws, end=end):
            for row in part:
                yield from row

    def designs(self, format: str) -> tuple[int, ...]:
        """Without tiles along both axes where others show them: dw has too many numbers."""
        every = super().designs(format)
        return every[:-1] if len(every) > _FEW else every

    def number(self, words: Sequence[int], index: int) -> str:
        """Its place in dx, or in dw behind it."""
        s, m, k, _ = words[:4]
        return f"dx {index}" if index < s * m * k else f"dw {index - s * m * k}"


def _rows(part: Array) -> list[list[int]]:
    found: list[list[int]] = part.reshape(-1, part.shape[-1]).tolist()
    return found
