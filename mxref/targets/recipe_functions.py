"""The functions of a target that says its recipe, as they are asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from mxref.operands.returned import AnswerError, array_of

__all__ = [
    "BY_RECIPE",
    "GRADIENTS",
    "gradients_as_one",
    "layers_renamed",
    "refuse_layers",
    "unread",
]

Function = Callable[..., Any]
#: The operations on layers by a recipe, by those of a target.
_LAYERS = {"linear": "recipe_linear", "linear_gradients": "recipe_gradients"}
#: The names of these operations, those of a recipe that is made by hand too.
BY_RECIPE = frozenset([*_LAYERS.values(), *(f"own_{name}" for name in _LAYERS.values())])
#: The names of those whose results are gradients.
GRADIENTS = (_LAYERS["linear_gradients"], f"own_{_LAYERS['linear_gradients']}")


def layers_renamed(found: Mapping[str, Function], own: Collection[str]) -> dict[str, Function]:
    """A target's functions, those of layers by the names of operations on recipes.

    Args:
        found: the functions.
        own: the names of operations that the target defines.
    """
    renamed = dict(found)
    for layer, name in _LAYERS.items():
        if (function := renamed.pop(layer, None)) is not None:
            mine = f"own_{name}" if f"own_{name}" in own else name
            renamed[mine] = _without_bias(function) if layer == "linear" else function
    return renamed


def refuse_layers(given: Collection[str], operations: Collection[str]) -> None:
    """Refuse names of layers that a target has by a recipe alone.

    Args:
        given: operations that are asked for.
        operations: those of a target.

    Raises:
        ValueError: the sentence has the names that they have there.

    >>> refuse_layers(["linear"], ["own_recipe_linear"])
    Traceback (most recent call last):
    ValueError: --op must be own_recipe_linear for layers by a RECIPE, got linear
    """
    for layer, name in _LAYERS.items():
        for mine in (name, f"own_{name}"):
            if layer in given and layer not in operations and mine in operations:
                raise ValueError(f"--op must be {mine} for layers by a RECIPE, got {layer}")


def unread(has: Mapping[str, Any], operations: Collection[str]) -> tuple[str, ...]:
    """What a target says that its layers by a recipe do not read, in words, if it has no others.

    >>> unread({"RECIPE": "deepseek_v3", "POLICY": "ocp"}, ["recipe_linear"])
    ('POLICY is not read: a RECIPE has the formats and choices of its layers',)
    """
    said = [one for one in ("FORMATS", "POLICY", "PROFILE") if one in has]
    if "RECIPE" not in has or not said or not BY_RECIPE.issuperset(operations):
        return ()
    text = f"{' and '.join(said)} {'is' if len(said) == 1 else 'are'} not read"
    return (f"{text}: a RECIPE has the formats and choices of its layers",)


def _without_bias(function: Function) -> Function:
    def linear(x: Any, w: Any, recipe: str) -> Any:
        return function(x, w, None, recipe)

    return linear


def gradients_as_one(function: Function) -> Function:
    """The gradients of x and of w, the first two results of a function, one behind the other."""

    def gradients(x: Any, w: Any, *rest: Any) -> Any:
        results = function(x, w, *rest)
        if not isinstance(results, tuple | list) or len(results) < 2:
            got = type(results).__name__
            raise AnswerError(f"linear_gradients must return arrays dx, dw and db, got {got}")
        parts = []
        for name, result, like in zip(("dx", "dw"), results, (x, w), strict=False):
            array = array_of(result)
            if array.shape != like.shape or array.dtype != np.float32:
                raise AnswerError(
                    f"{name} must be float32 {like.shape}, got {array.dtype} {array.shape}"
                )
            parts.append(array.reshape(-1))
        return np.concatenate(parts)

    return gradients
