"""Layers by a recipe, but scales of the weight are rounded down."""

import dataclasses
from typing import Any

import mxref

RECIPE = "mxfp8_torchao"
FLOOR = mxref.OperandRecipe("mxfp8_e4m3", mxref.profile("torchao_0_18_floor"))
OURS = dataclasses.replace(mxref.recipe(RECIPE), y_w=FLOOR, dx_w=FLOOR)


def linear(x: Any, w: Any, bias: Any, recipe: str) -> Any:
    return mxref.linear(x, w, OURS)


def linear_gradients(x: Any, w: Any, grad: Any, recipe: str) -> Any:
    return mxref.linear_gradients(x, w, grad, OURS)
