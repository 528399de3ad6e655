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
from mxref.operations.recipe_layers import RecipeGradients, RecipeLayer, RecipeLinear
from mxref.products.recipe import Recipe
from mxref.profiles.recipes import RECIPES
from mxref.support.text import short, unknown_name

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
            layer = kind(recipe)
            vars(layer)["mutants"] = tuple(_faults(layer, recipe))
            yield layer


def _faults(layer: RecipeLayer, recipe: Recipe) -> Iterator[Mutant]:
    for i, change in enumerate(changes(recipe, layer.operands), 1):
        about = f"H9{i:02}", change.name, change.text, layer.name
        run, inside = changed_layer(layer, recipe, change), inside_changed(layer, change)
        yield Mutant(*about, run, layer.formats, FLOATS, OWN, admits=inside)
