"""The functions of a target that says its recipe, as they are asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mxref.operands.returned import AnswerError, array_of

__all__ = ["RECIPE_GRADIENTS", "RECIPE_LINEAR", "gradients_as_one", "layers_renamed"]

Function = Callable[..., Any]
RECIPE_LINEAR, RECIPE_GRADIENTS = "recipe_linear", "recipe_gradients"


def layers_renamed(found: Mapping[str, Function]) -> dict[str, Function]:
    """A target's functions, those of layers by the names of operations on recipes."""
    renamed = dict(found)
    if (function := renamed.pop("linear", None)) is not None:
        renamed[RECIPE_LINEAR] = _without_bias(function)
    if (function := renamed.pop("linear_gradients", None)) is not None:
        renamed[RECIPE_GRADIENTS] = function
    return renamed


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
