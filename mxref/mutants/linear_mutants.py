"""Class H on linear layers: operands quantized along a wrong axis or not anew, wrong biases."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, layout_of
from mxref.blocks.quantization import quantize
from mxref.mutants.matmul_operands import moved_scales
from mxref.mutants.mutant import Function, Mutants, wrong
from mxref.products.dot import matmul
from mxref.products.linear import linear, linear_gradients, with_bias

__all__ = ["LINEARS"]

Array = NDArray[Any]
#: Formats of the vectors of `linear`; the first two have gradients, too.
LAYERS = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4_e2m1", "mxint8")
Gradients = tuple[Array, Array, Array]


def _rounded(values: Array, format: str, axis: int) -> Array:
    return quantize(values, format, axis=axis).dequantize(np.float64)


def _forward(**choices: Any) -> Function:
    def run(x: Array, w: Array, bias: Array | None, format: str) -> Array:
        return linear(x, w, format, bias=bias, dtype=x.dtype, **choices)

    return run


def _bias_quantized(x: Array, w: Array, bias: Array | None, format: str) -> Array:
    own = None if bias is None else _rounded(bias, format, 0).astype(bias.dtype)
    return linear(x, w, format, bias=own, dtype=x.dtype)


def _bias_dropped(x: Array, w: Array, bias: Array | None, format: str) -> Array:
    return linear(x, w, format, dtype=x.dtype)


def _with_scales(change: Callable[[U8, U8], tuple[U8, U8]]) -> Function:
    """Right codes of x and w, with other scales of both."""

    def run(x: Array, w: Array, bias: Array | None, format: str) -> Array:
        rows, weight = (quantize(one.reshape(-1, one.shape[-1]), format, axis=1) for one in (x, w))
        changed = change(rows.scale_codes, weight.scale_codes)
        a, b = (
            dataclasses.replace(side, scale_codes=np.ascontiguousarray(scales))
            for side, scales in zip((rows, weight), changed, strict=True)
        )
        y = matmul(a, b.T, x.dtype)
        if bias is not None:
            y = with_bias(y, bias, layout_of(x.dtype))
        return y.reshape(*x.shape[:-1], len(w))

    return run


def _zeros(x: Array, w: Array, bias: Array | None, format: str) -> Array:
    return np.zeros((*x.shape[:-1], len(w)), x.dtype)


def _backward(x: Array, w: Array, grad: Array, format: str, change: str) -> Gradients:
    """Gradients from operands of which one is quantized along another axis."""
    rows, g = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
    right = linear_gradients(x, w, grad, format, dtype=x.dtype)
    dx, dw, db = right
    if change == "weight":
        dx = (_rounded(g, format, 1) @ _rounded(w, format, 1)).astype(x.dtype).reshape(x.shape)
    elif change == "gradient":
        dw = (_rounded(g, format, 1).T @ _rounded(rows, format, 0)).astype(x.dtype)
    elif change == "input":
        dw = (_rounded(g, format, 0).T @ _rounded(rows, format, 1)).astype(x.dtype)
    else:
        axis = 1 if change == "bias along outputs" else 0
        db = _rounded(g, format, axis).sum(axis=0).astype(x.dtype)
    return dx, dw, db


_FLOATS = ("f32", "bf16", "f16")
_linear = partial(wrong, op="linear", formats=LAYERS, floats=_FLOATS, model="M13")
_gradients = partial(wrong, op="linear_gradients", formats=LAYERS[:2], floats=_FLOATS, model="M13")

LINEARS: Mutants = {
    "H15 weight_across_outputs: runs blocks of the weight across outputs": _linear(
        _forward(weight_axis="out")
    ),
    "H16 activations_kept: leaves the input of a linear layer as it is": _linear(
        _forward(activations="kept")
    ),
    "H17 bias_quantized: quantizes the bias": _linear(_bias_quantized),
    "H17b bias_dropped: adds no bias": _linear(_bias_dropped),
    "H18 linear_zeros: returns zeros for a linear layer": _linear(_zeros),
    "H22w weight_bias_128: reads the scales of the weight with a bias of 128: w x is half": _linear(
        _with_scales(lambda x, w: (x, moved_scales(w, -1)))
    ),
    "H23 weight_scale_of_next_output: takes the scales of the next output": _linear(
        _with_scales(lambda x, w: (x, np.roll(w, -1, axis=0)))
    ),
    "H23b weight_scale_of_next_block: takes the scale of the next block of the weight": _linear(
        _with_scales(lambda x, w: (x, np.roll(w, -1, axis=1)))
    ),
    "H23c input_scale_of_next_row: takes the scales of the next row of the input": _linear(
        _with_scales(lambda x, w: (np.roll(x, -1, axis=0), w))
    ),
    "H23d input_scale_of_next_block: takes the scale of the next block of the input": _linear(
        _with_scales(lambda x, w: (np.roll(x, -1, axis=1), w))
    ),
    "H19 weight_reused: takes the weight as it was quantized for y": _gradients(
        partial(_backward, change="weight")
    ),
    "H19b input_reused: takes the input as it was quantized for y": _gradients(
        partial(_backward, change="input")
    ),
    "H20 gradient_along_one_axis: quantizes the gradient along outputs for both": _gradients(
        partial(_backward, change="gradient")
    ),
    "H21 bias_gradient_quantized: sums the quantized gradient for the bias": _gradients(
        partial(_backward, change="bias")
    ),
    "H21b bias_gradient_along_outputs: sums the gradient quantized for the input for the bias": (
        _gradients(partial(_backward, change="bias along outputs"))
    ),
}
