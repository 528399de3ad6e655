"""Operations done right by functions that are called as targets are, one for each kind of call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from product_targets import blocks

import mxref
from mxref import integer
from mxref.operations.addmm import addmm_blocks
from mxref.operations.matrix_units import unit_numbers
from mxref.operations.registry import OPERATIONS

Array = Any


def encode_stochastic(values: Array, bits: Array, width: int, format: str) -> Array:
    drawn: Any = {"random_bits": bits, "random_width": width}
    return mxref.encode(values, format, rounding="stochastic_a", **drawn)


def tensor_scale(number: Array) -> mxref.TensorScale:
    return mxref.TensorScale(int(number.view(np.uint32)))


def quantize(values: Array, format: str, *tensor: Array) -> mxref.Blocks:
    return mxref.quantize(values, format, tensor_scale=tensor_scale(*tensor) if tensor else None)


def quantized(
    values: Array, format: str, axis: int | None = None, **choices: Any
) -> tuple[Array, Array]:
    """Scale codes, one a row or of a tensor along an axis, and codes: to be changed."""
    blocks = mxref.quantize(values, format, axis=-1 if axis is None else axis, **choices)
    scales = blocks.scale_codes
    return (scales[:, 0] if axis is None else scales).copy(), blocks.codes.copy()


def dequantize(scales: Array, codes: Array, format: str, dtype: Any, *tensor: Array) -> Array:
    fmt, scale = mxref.formats.block_format(format), tensor_scale(*tensor) if tensor else None
    return mxref.Blocks(codes, scales[:, None], fmt, 1, codes.shape, dtype, scale).dequantize(dtype)


def unpack(packed: Array, format: str, count: int) -> Array:
    return mxref.unpack(packed, format, count)


def pack_scales(scales: Array) -> Array:
    return mxref.pack_scales(scales, scale_layout="tiles_128x4")


def unpack_scales(packed: Array, shape: tuple[int, int]) -> Array:
    assert type(shape) is tuple
    return mxref.unpack_scales(packed, shape, scale_layout="tiles_128x4")


def pack_blocks(scales: Array, codes: Array, format: str) -> Array:
    return mxref.pack_blocks(scales, codes.reshape(-1), format, scale_place="before")


def unpack_blocks(packed: Array, format: str) -> tuple[Array, Array]:
    scales, codes = mxref.unpack_blocks(packed, format, scale_place="before")
    return scales, codes.reshape(len(scales), -1)


def quantize_tensor(values: Array, format: str, axis: int) -> mxref.Blocks:
    return mxref.quantize(values, format, axis=axis)


def product(sa: Array, ca: Array, sb: Array, cb: Array, a: str, b: str) -> Array:
    """In float64: exact where sums have few bits."""
    x, y = (blocks(*side).dequantize(np.float64) for side in ((sa, ca, a), (sb, cb, b)))
    return x @ y.T


def matmul(sa: Array, ca: Array, sb: Array, cb: Array, a: str, b: str) -> Array:
    return product(sa, ca, sb, cb, a, b).astype(np.float32)


def linear(x: Array, w: Array, bias: Array, format: str) -> Array:
    return mxref.linear(x, w, format, bias=bias, dtype=x.dtype)


def linear_gradients(x: Array, w: Array, grad: Array, format: str) -> Any:
    return mxref.linear_gradients(x, w, grad, format, dtype=x.dtype)


def quantize_affine(x: Array, *qparams: Any) -> Array:
    return integer.quantize_affine(x, integer.QParams(*qparams), nan="zero")


def dequantize_affine(q: Array, *qparams: Any) -> Array:
    return integer.dequantize_affine(q, integer.QParams(*qparams))


def rescale(q: Array, m: Array, s: Array, zero: int, out: int, dtype: Any, bits: int) -> Array:
    return integer.rescale(q, m, s, zero, out, dtype=dtype, bits=bits)


def grid_sample(q: Array, grid: Array, align: bool, padding: Any, zero: int) -> Array:
    return integer.grid_sample(q, grid, align_corners=align, padding=padding, zero_point=zero)


def mma(a: Array, b: Array, c: Array, adder: str, format_a: str, format_b: str) -> Array:
    return mxref.mma(unit_numbers(a, format_a), unit_numbers(b, format_b), c, adder=adder)


def addmm(*arguments: Any) -> Array:
    a, b, more = addmm_blocks(*arguments)
    return mxref.matmul(a, b.T, arguments[4].dtype, **more)


def recipe_linear(x: Array, w: Array, recipe: str) -> Array:
    return mxref.linear(x, w, mxref.recipe(recipe))


def recipe_gradients(x: Array, w: Array, grad: Array, recipe: str, *bits: Array) -> Any:
    how = mxref.recipe(recipe)
    drawn = dict(zip(how.stochastic, bits, strict=True)) or None
    return mxref.linear_gradients(x, w, grad, how, random_bits=drawn)


RIGHT_CALLS: dict[str, Callable[..., Any]] = {
    op: globals().get(op) or getattr(integer, op, None) or getattr(mxref, op) for op in OPERATIONS
}
