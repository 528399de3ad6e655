"""Layers of a target that says which recipe it implements.

Its `linear` and `linear_gradients` are asked as operations on layers by that recipe, which know
what they are when one operand is quantized otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mxref.mutants.mutant import FLOATS, Mutant
from mxref.mutants.recipe_faults import changed_layer, changes, inside_changed
from mxref.operands.case_input import OWN
from mxref.operations.recipe_layers import RecipeLayer
from mxref.operations.recipe_products import RecipeGradients, RecipeLinear
from mxref.products.recipe import Recipe
from mxref.profiles.recipes import RECIPES
from mxref.support.text import short, unknown_name
from mxref.targets.filled_calls import SIZES

__all__ = ["recipe_operations"]

_LAYERS: Mapping[str, type[RecipeLayer]] = {
    "linear": RecipeLinear,
    "linear_gradients": RecipeGradients,
}


def recipe_operations(attributes: Mapping[str, Any]) -> Iterator[RecipeLayer]:
    """The operations on layers by the `RECIPE` of a target, of those that it has.

    Raises:
        ValueError: neither a `Recipe` nor the name of one.
    """
    claimed = attributes["RECIPE"]
    if isinstance(claimed, str) and claimed not in RECIPES:
        raise ValueError(unknown_name("RECIPE", claimed, RECIPES))
    recipe = RECIPES[claimed] if isinstance(claimed, str) else claimed
    if not isinstance(recipe, Recipe):
        raise ValueError(f"RECIPE must be a Recipe or the name of one, got {short(claimed)}")
    for name, kind in _LAYERS.items():
        if callable(attributes.get(name)):
            layer = kind(recipe, multiples=_multiples(attributes, name))
            vars(layer)["mutants"] = tuple(_faults(layer, recipe))
            yield layer


def _multiples(attributes: Mapping[str, Any], name: str) -> dict[str, int]:
    """Those that a target says of its layers; what is malformed is told elsewhere."""
    said = attributes.get("MULTIPLES")
    some = said.get(name) if isinstance(said, Mapping) else None
    sizes = ("m", "n", "k")[-len(SIZES[name]) :]
    if not isinstance(some, tuple) or not all(isinstance(n, int) and n > 0 for n in some):
        return {}
    return dict(zip(sizes, some, strict=False))


def _faults(layer: RecipeLayer, recipe: Recipe) -> Iterator[Mutant]:
    for i, change in enumerate(changes(recipe, layer.operands), 1):
        about = f"H9{i:02}", change.name, change.text, layer.name
        run, inside = changed_layer(layer, recipe, change), inside_changed(layer, change)
        yield Mutant(*about, run, layer.formats, FLOATS, OWN, admits=inside)
