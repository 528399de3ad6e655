"""Layers by a recipe."""

from typing import Any

import mxref

RECIPE = "mxfp8_torchao"


def linear(x: Any, w: Any, bias: Any, recipe: str) -> Any:
    return mxref.linear(x, w, mxref.recipe(recipe))


def linear_gradients(x: Any, w: Any, grad: Any, recipe: str) -> Any:
    return mxref.linear_gradients(x, w, grad, mxref.recipe(recipe))
