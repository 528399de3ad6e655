"""Layers of a target that says which recipe it implements.

Its `linear` and `linear_gradients` are asked as operations on layers by that recipe: those of the
vectors, or of its own where the recipe is made by hand or sizes have multiples. Both know what a
layer is when one operand is quantized otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mxref.mutants.mutant import FLOATS, Mutant
from mxref.mutants.recipe_faults import changed_layer, changes, inside_changed
from mxref.mutants.recipe_mutants import id_of
from mxref.operands.case_input import OWN
from mxref.operations.recipe_layers import RecipeLayer
from mxref.operations.recipe_products import RecipeGradients, RecipeLinear
from mxref.operations.registry import REGISTRY
from mxref.products.recipe import Recipe
from mxref.profiles.recipes import RECIPES
from mxref.support.text import short, unknown_name

__all__ = ["known_layers", "recipe_operations"]

_LAYERS: Mapping[str, type[RecipeLayer]] = {
    "linear": RecipeLinear,
    "linear_gradients": RecipeGradients,
}


def recipe_operations(attributes: Mapping[str, Any]) -> Iterator[RecipeLayer]:
    """The operations of its own on layers by the `RECIPE` of a target, of those that it has.

    Raises:
        ValueError: neither a `Recipe` nor the name of one.
    """
    recipe = _recipe(attributes["RECIPE"])
    for name, kind in _LAYERS.items():
        multiples = _multiples(attributes, name)
        is_known = recipe is RECIPES.get(recipe.name) and not multiples
        if callable(attributes.get(name)) and not is_known:
            layer = kind(recipe, multiples=multiples)
            vars(layer)["mutants"] = tuple(_faults(layer, recipe))
            yield layer


def known_layers(attributes: Mapping[str, Any], own: Collection[object]) -> frozenset[str]:
    """The format of layers that a target is asked by files, if it has some.

    Args:
        attributes: what the target says.
        own: the layers that it is asked without files.
    """
    layers = sum(callable(attributes.get(name)) for name in _LAYERS)
    return frozenset([_recipe(attributes["RECIPE"]).name] if layers > len(own) else [])


def _recipe(claimed: object) -> Recipe:
    if isinstance(claimed, str) and claimed not in RECIPES:
        raise ValueError(unknown_name("RECIPE", claimed, RECIPES))
    recipe = RECIPES[claimed] if isinstance(claimed, str) else claimed
    if not isinstance(recipe, Recipe):
        raise ValueError(f"RECIPE must be a Recipe or the name of one, got {short(claimed)}")
    return recipe


def _multiples(attributes: Mapping[str, Any], name: str) -> dict[str, int]:
    """Those that a target says of its layers; what is malformed is told elsewhere."""
    said = attributes.get("MULTIPLES")
    some = said.get(name) if isinstance(said, Mapping) else None
    sizes = ("m", "n", "k")[-len(REGISTRY[name].multiples) :]
    if not isinstance(some, tuple) or not all(isinstance(n, int) and n > 0 for n in some):
        return {}
    return dict(zip(sizes, some, strict=False))


def _faults(layer: RecipeLayer, recipe: Recipe) -> Iterator[Mutant]:
    for change in changes(recipe, layer.operands):
        about = id_of(change, layer.operands), change.name, change.text, layer.name
        run, inside = changed_layer(layer, recipe, change), inside_changed(layer, recipe, change)
        yield Mutant(*about, run, layer.formats, FLOATS, OWN, admits=inside)
