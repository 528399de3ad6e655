"""The gradient is quantized once, along its outputs, for both products (ao#1501)."""

import dataclasses
from typing import Any

import mxref

RECIPE = "mxfp8_torchao"


def linear_gradients(x: Any, w: Any, grad: Any, recipe: str) -> tuple[Any, ...]:
    """Gradients of x and w from one quantized gradient."""
    how, kept = mxref.recipe(recipe), mxref.OperandRecipe()
    by = mxref.profile("torchao_0_18_rceil")
    once = by.quantize(grad, "mxfp8_e4m3").dequantize(grad.dtype)
    return mxref.linear_gradients(x, w, once, dataclasses.replace(how, dx_grad=kept, dw_grad=kept))
