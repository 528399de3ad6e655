"""Linear layers by a recipe: the output of one, and its gradients.

A format is the name of a recipe. Words of `recipe_linear`: sequences S, rows of each M, inputs K,
outputs N, then x (S, M, K) and the weight (N, K), row by row; the answer is y (S, M, N). Words of
`recipe_gradients`: the same sizes, x, the weight, the gradient of y (S, M, N), and the random bits
of each gradient that is rounded stochastically (S, M, N); the answer is dx (S, M, K) and then
dw (N, K). Numbers are bfloat16, answers float32.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, patterns
from mxref.exact.recipe import RecipeOperand
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field, joined
from mxref.operands.kinds import Size
from mxref.operands.shown import show_float
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.call_sizes import CallSizes
from mxref.operations.operation import Words
from mxref.operations.product_words import BOUNDS
from mxref.operations.recipe_bounds import Asked, held
from mxref.operations.recipe_draws import KINDS, SHORT, TILES, Ordinary, drawn_layer, drawn_sizes
from mxref.operations.recipe_ties import tied_layers
from mxref.operations.recipe_twins import plain_name, twin_operand
from mxref.operations.wrong_answer import WrongAnswer
from mxref.products.intervals import Bounds
from mxref.products.layer_bounds import Rounding
from mxref.products.recipe import OPERANDS, Recipe
from mxref.profiles.recipes import RECIPES
from mxref.support.integers import rounded_up

__all__ = ["SOURCE", "RecipeLayer"]

Array = NDArray[Any]
MODEL = "M32"
SOURCE = "bf16"
_NO_MULTIPLES: Mapping[str, int] = {}
#: Calls whose bounds are kept: many wrong layers are compared with the same ones.
_KEPT = 64


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
        own: dict[str, Any] = {
            "name": name or f"own_{self.name}",
            "formats": (plain_name(recipe.name),),
        }
        vars(self).update(own, admitting=own["formats"])  # what other operations have as a class

    @property
    def inputs(self) -> int:
        """How many arrays a call has, before the name of the recipe and random bits."""
        return len(self.parameters.split(", ")) - 1

    def recipe_of(self, format: str) -> Recipe:
        """The recipe of a format."""
        return RECIPES[format] if self._recipe is None else self._recipe

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Patterns of bfloat16, and float32 patterns; words of 32 bits in a recipe by hand."""
        return (4 if self._recipe is None else 8), 8

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
    def any_order(
        self,
        arrays: Sequence[Array],
        recipe: Recipe,
        bits: Mapping[str, Array],
        rounding: Rounding = "any",
    ) -> Sequence[Bounds]:
        """What float32 sums in any order may be, of each result."""

    @abstractmethod
    def _slow(self, format: str, words: Words, end: int = 0) -> Iterator[int]:
        """The words of the results, or of an end of their bounds, by the slow twin."""

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterator[int]:
        """The results, by the slow twin."""
        return self._slow(format, words)

    def bounds(self, format: str) -> tuple[str, ...]:
        """The ends of the intervals of float32 sums, of recipes that have files."""
        return BOUNDS[:2] if self._recipe is None else ()

    def run_column(self, format: str, words: Words, column: str) -> tuple[int, ...]:
        """An end of the intervals, by the fast path.

        Raises:
            ValueError: scales whose products float32 does not hold.
        """
        found = self.any_order(*self.given(self.call(format, words)), "nearest")
        ends = [patterns(one[BOUNDS.index(column)], F32).reshape(-1) for one in found]
        return tuple(np.concatenate(ends).tolist())

    def twin_column(self, format: str, words: Words, column: str) -> Iterator[int]:
        """An end of the intervals, by the slow twin."""
        return self._slow(format, words, 1 if column == "hi" else -1)

    def inside(self, call: AskedCall, result: Array) -> NDArray[np.bool_]:
        """Which numbers of a result are inside of the bounds of float32 sums in any order.

        Raises:
            ValueError: scales whose products float32 does not hold.
        """
        return held(_bounds_of(self, Asked(call)), result)

    def given(self, call: AskedCall) -> tuple[list[Array], Recipe, dict[str, Array]]:
        """The arrays of a call, the recipe, and random bits by operand."""
        arrays, (format, *bits) = call.arguments[: self.inputs], call.arguments[self.inputs :]
        drawn = dict(zip(self.random(format), bits, strict=True))
        return list(arrays), self.recipe_of(format), drawn

    def admits(self, call: AskedCall, result: Array) -> bool:
        """Whether all numbers are inside of the bounds of float32 sums, see `inside`."""
        try:
            return bool(self.inside(call, result).all())
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

    def asked_sizes(self, format: str) -> CallSizes:
        """Long ones are few."""
        return CallSizes(longest=(300, 513, 1025))

    def elements(self, sizes: Sequence[int]) -> int:
        """The numbers of x, of the weight and of y."""
        s, m, k, n = sizes
        return s * m * k + n * k + s * m * n

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """Zeros, as few as there may be."""
        sizes = self._whole(format, {"s": 1, "m": 1, "k": 1, "n": 1})
        shapes = (field.lengths(sizes) for field in self.fields(format)[len(sizes) :])
        return *sizes.values(), *[0] * sum(map(math.prod, shapes))

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small layer; each size in turn is longer than a block, and then two are."""
        return np.array(self._drawn(format, draws, self._sizes(format, draws, number % KINDS)))

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """The same in other sizes, or the next that are whole groups of a transform."""
        named = dict(zip("smkn", sizes, strict=True))
        return self.call(format, self._drawn(format, draws, self._whole(format, named)))

    def designed(self, format: str) -> Iterable[CaseInput]:
        """See the model."""
        for number in self.designs(format):
            draws = Draws(f"recipe {format} {number}")
            sizes = self._sizes(format, draws, number)
            words = self._drawn(format, draws, sizes, half=self._longest(format) // 2)
            yield CaseInput(f"layer_{number}", words, MODEL)
        if self._unit(format, "m") == 1:
            draws = Draws(f"recipe {format} faint")
            words = self._drawn(format, draws, {"s": 1, "m": 3, "k": 3, "n": 3}, faint=True)
            yield CaseInput("faint", words, MODEL)
        every = [getattr(self.recipe_of(format), one).format for one in self.operands]
        draws, fields = Draws(f"recipe {format} ties"), self.fields(format)
        for name, parts in tied_layers(fields, draws, every):
            if all(parts[size] % self._unit(format, size) == 0 for size in "mkn"):
                yield CaseInput(name, joined(fields, parts), MODEL, ("near_tie",))

    def designs(self, format: str) -> tuple[int, ...]:
        """The kinds of sizes that its designed cases have."""
        if self._unit(format, "m") > 1:
            return 0, TILES
        return (0, 1, 2, *[3, 4, 5] * (self._longest(format) <= SHORT), TILES)

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "N53", ()

    def _sizes(self, format: str, draws: Draws, number: int) -> dict[str, int]:
        """Small sizes of a kind, whole groups of a transform."""
        return self._whole(format, drawn_sizes(self._longest(format), number, draws))

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
        self,
        format: str,
        draws: Draws,
        sizes: Mapping[str, int],
        **more: Any,
    ) -> tuple[int, ...]:
        """A layer of these sizes; x and grad may be small, with zeros in their first rows."""
        every = [getattr(self.recipe_of(format), one).format for one in self.operands]
        few_bits = any(one is not None and one.element.exponent_bits < 3 for one in every)
        fields, of_all = self.fields(format), {"reach": 1 if few_bits else 8, **more}
        parts = drawn_layer(fields, draws, sizes, tile=self._longest(format), **of_all)
        return joined(fields, parts)

    def first_fields(self, format: str) -> tuple[Field, ...]:
        """Sizes, x and the weight."""
        units = (Size(9, unit=self._unit(format, name)) for name in "mkn")
        sizes = (Field(name, kind) for name, kind in zip("smkn", (Size(2), *units), strict=True))
        x = Field("x", Ordinary(), ("s", "m", "k"))
        return (*sizes, x, Field("w", Ordinary(), ("n", "k")))

    def twin_operands(self, format: str) -> list[RecipeOperand]:
        """Its operands, as the slow twin knows them."""
        return [twin_operand(getattr(self.recipe_of(format), one)) for one in self.operands]


@functools.lru_cache(_KEPT)
def _bounds_of(layer: RecipeLayer, asked: Asked) -> Sequence[Bounds]:
    return layer.any_order(*layer.given(asked.call))
