"""Class H on layers by a recipe: operands quantized, transformed or rounded otherwise.

A mutant is one change in every recipe that has it. The number of its class is that of the change;
the first letter after it is that of the place, the second one that of the member of a choice.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from mxref.mutants.mutant import Mutant, Mutants, wrong
from mxref.mutants.recipe_faults import Change, changed_layer, changes, inside_changed
from mxref.operations.asked_call import AskedCall
from mxref.operations.recipe_layers import MODEL, RecipeLayer
from mxref.operations.recipe_products import RecipeGradients, RecipeLinear
from mxref.products.recipe import OPERANDS
from mxref.profiles.recipes import RECIPES

__all__ = ["RECIPE_LAYERS", "id_of"]

Array = NDArray[Any]
_FIRST = 42  #: the class of the first change
#: Changes in the order of classes; members of choices share one.
_CHANGES = (
    "in_rows", "in_tiles", "in_short_blocks", "in_long_blocks", "across", "kept", "other_fp8",
    "rounding", "rounded_to_nearest", "scale_rule", "scale_power", "element_from",
    "not_as_stored", "twice", "swapped", "without_transform", "without_signs", "in_float32",
    "transformed", "transformed_across", "exchanged", "of_one", "in_bfloat16",
)  # fmt: skip
#: The letters of places; of all operands g is of the output, h of gradients.
_PLACES = dict(zip((*OPERANDS, "y", "dx", "dw", "grad", "bits"), "abcdefjklim", strict=True))
_ALL = {OPERANDS[:2]: "g", OPERANDS[2:]: "h"}
#: The letters of members.
_MEMBERS: Mapping[str, str] = {
    **{"ties_to_even": "a", "ties_to_away": "b", "toward_zero": "c"},
    **{"floor": "a", "ceil": "b", "rceil": "c", "even": "d"},
    **{"any": "a", "bit_ceiling": "b", "quotient": "a", "reciprocal": "b", "multiplier": "c"},
    **{"dx": "a", "dw": "b"},
}
#: Sizes in the sentence about a change, which a sentence about several recipes has not.
_SIZES = re.compile(r" of [0-9]+(x[0-9]+)?")


def id_of(change: Change, operands: Sequence[str]) -> str:
    """The id of a change of a layer with these operands: `mxref explain` knows it.

    >>> one = Change("y_w", "scale_rule_ceil", "", {})
    >>> id_of(one, ("y_x", "y_w"))
    'H51bb'
    """
    kind = next(one for one in _CHANGES if _is_of(change.what, one))
    place = _ALL[tuple(operands)] if change.where == "all" else _PLACES[change.where]
    member = change.what.removeprefix(kind).removeprefix("_")
    return f"H{_FIRST + _CHANGES.index(kind)}{place}{_MEMBERS[member] if member else ''}"


def _is_of(what: str, kind: str) -> bool:
    rest = what.removeprefix(kind)
    return what == kind or (rest != what and rest.removeprefix("_") in _MEMBERS)


def _mutants(layer: RecipeLayer) -> Iterator[tuple[str, Mutant]]:
    """The mutants of an operation, each with its heading."""
    found: dict[str, dict[str, Change]] = {}
    for format, recipe in RECIPES.items():
        for change in changes(recipe, layer.operands):
            found.setdefault(id_of(change, layer.operands), {})[format] = change
    for id, by_format in found.items():
        first = next(iter(by_format.values()))
        text = _SIZES.sub("", first.text)
        heading = f"{id} {layer.name}_{first.name}: {text}"
        run, admits = _run(layer, by_format), _admits(layer, by_format)
        made = wrong(run, op=layer.name, formats=tuple(by_format), floats=("f32",), model=MODEL)
        yield heading, dataclasses.replace(made, admits=admits)


def _run(layer: RecipeLayer, by_format: Mapping[str, Change]) -> Callable[..., Array]:
    """The function of an operation, with a change."""

    def run(*arguments: Any) -> Array:
        name = arguments[layer.inputs]
        return changed_layer(layer, RECIPES[name], by_format[name])(*arguments)

    return run


def _admits(
    layer: RecipeLayer, by_format: Mapping[str, Change]
) -> Callable[[AskedCall, Array], bool]:
    """Whether a result may be one of a change."""

    def admits(call: AskedCall, result: Array) -> bool:
        name = call.arguments[layer.inputs]
        return inside_changed(layer, RECIPES[name], by_format[name])(call, result)

    return admits


RECIPE_LAYERS: Mutants = dict(
    one for layer in (RecipeLinear(), RecipeGradients()) for one in _mutants(layer)
)
