"""Linear layers by a recipe: the output of one, and its gradients.

A format is the name of a recipe. Words of `recipe_linear`: sequences S, rows of each M, inputs K,
outputs N, then x (S, M, K) and the weight (N, K), row by row; the answer is y (S, M, N). Words of
`recipe_gradients`: the same sizes, x, the weight, the gradient of y (S, M, N), and the random bits
of each gradient that is rounded stochastically (S, M, N); the answer is dx (S, M, K) and then
dw (N, K). Numbers are bfloat16, answers float32.
"""

from __future__ import annotations

import dataclasses
import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32
from mxref.exact.recipe import RecipeOperand
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field, joined
from mxref.operands.kinds import Size
from mxref.operands.shown import show_float
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.operation import Words
from mxref.operations.recipe_draws import Ordinary, drawn_layer
from mxref.operations.recipe_twins import twin_operand
from mxref.operations.wrong_answer import WrongAnswer
from mxref.products.intervals import Bounds
from mxref.products.recipe import OPERANDS, OperandRecipe, Recipe
from mxref.profiles.recipes import RECIPES
from mxref.support.integers import rounded_up

__all__ = ["SOURCE", "RecipeLayer"]

Array = NDArray[Any]
MODEL = "M32"
SOURCE = "bf16"
_SIZES = 7  #: kinds of sizes
_NO_MULTIPLES: Mapping[str, int] = {}
_NO_OPERANDS: Mapping[str, OperandRecipe] = {}


class RecipeLayer(CallOperation):
    """What a layer does under a recipe: sums are exact and rounded once, or inside their bounds.

    Args:
        recipe: one that is made by hand, of an operation of a user; None: those of `RECIPES`.
        name: of the operation, if it has a recipe of its own.
        multiples: of which rows, inputs and outputs (m, k, n) are asked alone.

    Raises:
        ValueError: an operand that the slow twin cannot quantize.
    """

    one_nan = True
    formats = admitting = tuple(RECIPES)
    slot = "f32"
    page = "docs/recipes.md"
    clauses = {"N53": "recipes of training"}  # noqa: RUF012
    models = {  # noqa: RUF012
        MODEL: "layers by a recipe: rows and columns of different magnitudes, each sum and each "
        "tile longer than a block, several sequences"
    }
    worked_on = 2
    #: The operands of its products.
    operands: ClassVar[tuple[str, ...]]
    #: The function of a target that says its recipe, and the operation by it, as code.
    function: ClassVar[str]
    as_code: ClassVar[str]

    def __init__(
        self,
        recipe: Recipe | None = None,
        name: str | None = None,
        multiples: Mapping[str, int] = _NO_MULTIPLES,
    ) -> None:
        self._recipe, self._multiples = recipe, multiples
        if recipe is None:
            return
        for one in self.operands:
            twin_operand(getattr(recipe, one))
            if one in recipe.stochastic and one not in ("dx_grad", "dw_grad"):
                raise ValueError(
                    f"{one} must be rounded deterministically where a target is checked, got "
                    f"{getattr(recipe, one)}: only gradients are given random bits"
                )
        own: dict[str, Any] = {"name": name or self.name, "formats": (_plain(recipe.name),)}
        vars(self).update(own, admitting=own["formats"])  # what other operations have as a class

    def recipe_of(self, format: str) -> Recipe:
        """The recipe of a format."""
        return RECIPES[format] if self._recipe is None else self._recipe

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words of 32 bits, and float32 patterns."""
        return 8, 8

    def random(self, format: str) -> tuple[str, ...]:
        """The operands that are rounded with random bits."""
        return tuple(one for one in self.recipe_of(format).stochastic if one in self.operands)

    def check(self, format: str, values: Mapping[str, Any]) -> None:
        """Rows, inputs and outputs of whole groups of a Hadamard transform."""
        for size in "mkn":
            if values[size] % (unit := self._unit(format, size)):
                raise ValueError(f"{size} must be a multiple of {unit}, got {values[size]}")

    def _unit(self, format: str, size: str) -> int:
        """What a size is a multiple of: the numbers of a Hadamard transform, and what is asked."""
        turns = (getattr(self.recipe_of(format), one).transform for one in OPERANDS)
        unit = max((one.size for one in turns if one is not None), default=1)
        return math.lcm(unit, self._multiples.get(size, 1))

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arrays, the name of the recipe, and random bits."""
        given = {**values, "recipe": format}
        return tuple(given[name] for name in self.argument_names(format))

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The arrays, the recipe, and the random bits of each operand that has some."""
        bits = (f"bits_{one}" for one in self.random(format))
        return (*self.parameters.split(", "), *bits)

    def called_as(self, format: str) -> str:
        """The call in a format.

        >>> from mxref.operations.recipe_products import RecipeGradients, RecipeLinear
        >>> RecipeGradients().called_as("nvfp4_transformer_engine")
        'linear_gradients(x, w, grad, recipe, bits_dx_grad, bits_dw_grad)'
        >>> RecipeLinear().called_as("deepseek_v3")
        'linear(x, w, None, recipe)'
        """
        given = ", ".join(self.argument_names(format))
        if self.function == "linear":  # the bias is None
            given = given.replace("w, recipe", "w, None, recipe")
        return f"{self.function}({given})"

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> Array:
        """The answer, by the fast path."""
        return np.concatenate([one.reshape(-1) for one in self._fast(call)]).reshape(call.shape)

    @abstractmethod
    def _fast(self, call: AskedCall) -> Sequence[Array]:
        """The results."""

    @abstractmethod
    def _bounds(
        self, arrays: Sequence[Array], recipe: Recipe, bits: Mapping[str, Array]
    ) -> Sequence[Bounds]:
        """What float32 sums in any order may be, of each result."""

    def inside(
        self, call: AskedCall, result: Array, operands: Mapping[str, OperandRecipe] = _NO_OPERANDS
    ) -> NDArray[np.bool_]:
        """Which numbers of a result are inside of the bounds of float32 sums in any order.

        Args:
            call: what was asked.
            result: the numbers.
            operands: what is quantized otherwise than by the recipe.

        Raises:
            ValueError: scales whose products float32 does not hold.
        """
        arrays, own, bits = self.given(call)
        changed: dict[str, Any] = dict(operands)
        recipe = dataclasses.replace(own, **changed)
        bits = {name: one for name, one in bits.items() if name in recipe.stochastic}
        flat, place, found = result.reshape(-1), 0, []
        for one in self._bounds(arrays, recipe, bits):
            size = one.lo.size
            found.append(one.hold(flat[place : place + size].reshape(one.lo.shape)).reshape(-1))
            place += size
        return np.concatenate(found)

    def given(self, call: AskedCall) -> tuple[list[Array], Recipe, dict[str, Array]]:
        """The arrays of a call, the recipe, and random bits by operand."""
        count = len(self.parameters.split(", ")) - 1
        arrays, format, bits = call.arguments[:count], call.arguments[count], call.arguments
        return (
            list(arrays),
            self.recipe_of(format),
            dict(zip(self.random(format), bits[count + 1 :], strict=True)),
        )

    def admits(
        self, call: AskedCall, result: Array, operands: Mapping[str, OperandRecipe] = _NO_OPERANDS
    ) -> bool:
        """Whether all numbers are inside of the bounds of float32 sums, see `inside`."""
        try:
            return bool(self.inside(call, result, operands).all())
        except ValueError:  # scales whose products float32 does not hold
            return False

    def difference(self, wrong: WrongAnswer) -> str:
        """The first number that is outside of its bounds."""
        try:
            call = self.call(wrong.format, wrong.words)
            got = np.array(wrong.got, np.uint32).view(np.float32)
            outside = wrong.differs & ~self.inside(call, got)
        except ValueError:  # numbers of another size
            outside = wrong.differs
        if outside.any():
            wrong = dataclasses.replace(wrong, differs=outside)
        text, name = super().difference(wrong), self.number(wrong.words, wrong.first)
        return text.replace(f"element {wrong.first}:", f"element {name}:", 1)

    def number(self, words: Sequence[int], index: int) -> str:
        """What a number of an answer is called."""
        return f"{index}"

    def answer_shown(self, format: str, word: int) -> str:
        """A float32 number."""
        return show_float(word, F32)

    def beside(self, format: str, words: Words, index: int) -> str:
        """Nothing: a number is a sum of many."""
        return ""

    def units(self, format: str) -> dict[str, str]:
        """The sizes."""
        return {"s": "sequences", "m": "rows", "k": "inputs", "n": "outputs"}

    def size_kind(self, format: str) -> str:
        """One for all recipes."""
        return "recipe"

    def elements(self, sizes: Sequence[int]) -> int:
        """The numbers of x, of the weight and of y."""
        s, m, k, n = sizes
        return s * m * k + n * k + s * m * n

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small layer; each size in turn is longer than a block, and then two are."""
        return np.array(self._drawn(format, draws, self._sizes(format, draws, number % _SIZES)))

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """The same in other sizes, or the next that are whole groups of a transform."""
        named = dict(zip("smkn", sizes, strict=True))
        return self.call(format, self._drawn(format, draws, self._whole(format, named)))

    def designed(self, format: str) -> Iterable[CaseInput]:
        """See the model."""
        for number in range(_SIZES):
            draws = Draws(f"recipe {format} {number}")
            words = self._drawn(format, draws, self._sizes(format, draws, number))
            yield CaseInput(f"layer_{number}", words, MODEL)
        draws = Draws(f"recipe {format} faint")
        words = self._drawn(format, draws, self._sizes(format, draws, 0), faint=True)
        yield CaseInput("faint", words, MODEL)

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "N53", ()

    def _sizes(self, format: str, draws: Draws, number: int) -> dict[str, int]:
        """Small sizes, of which one is longer than one block, or two, of the recipe's longest."""
        length = self._longest(format) * (number // 3 + 1)
        found = {"s": 2, "m": 1, "k": 3, "n": 2}
        if number == _SIZES - 1:  # two tiles of the weight along both of its axes
            found |= {"s": 1, "k": length // 3 + 3, "n": length // 3 + 2}
            return self._whole(format, found)
        found["mkn"[number % 3]] = length + int(draws.between(1, 5))
        if number % 3 == 0:
            found["m"] = length // 2 + 2
        elif self._unit(format, "m") > 1:
            found["s"] = 1
        return self._whole(format, found)

    def _longest(self, format: str) -> int:
        """The side of the longest block."""
        every = [getattr(self.recipe_of(format), one).format for one in self.operands]
        return max((max(one.block_shape) for one in every if one is not None), default=32)

    def _whole(self, format: str, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes that are multiples."""
        return {
            name: count if name == "s" else rounded_up(count, self._unit(format, name))
            for name, count in sizes.items()
        }

    def _drawn(
        self, format: str, draws: Draws, sizes: Mapping[str, int], *, faint: bool = False
    ) -> tuple[int, ...]:
        """A layer of these sizes; x and grad may be small, with zeros in their first rows."""
        every = [getattr(self.recipe_of(format), one).format for one in self.operands]
        few_bits = any(one is not None and one.element.exponent_bits < 3 for one in every)
        parts = drawn_layer(
            self.fields(format),
            draws,
            sizes,
            reach=1 if few_bits else 8,
            tile=self._longest(format),
            faint=faint,
        )
        return joined(self.fields(format), parts)

    def first_fields(self) -> tuple[Field, ...]:
        """Sizes, x and the weight."""
        sizes = (Field(name, Size(most)) for name, most in zip("smkn", (2, 9, 9, 9), strict=True))
        x = Field("x", Ordinary(), ("s", "m", "k"))
        return (*sizes, x, Field("w", Ordinary(), ("n", "k")))

    def twin_operands(self, format: str) -> list[RecipeOperand]:
        """Its operands, as the slow twin knows them."""
        return [twin_operand(getattr(self.recipe_of(format), one)) for one in self.operands]


def _plain(name: str) -> str:
    """A recipe's name as that of a format."""
    return re.sub(r"\W+", "_", name).strip("_") or "own"
