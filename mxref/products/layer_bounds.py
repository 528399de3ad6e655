"""What float32 sums of a layer's products may be under a recipe, in any order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mxref.bits.floats import F32, FloatLayout, layout_of
from mxref.products.float_products import float_product_bounds
from mxref.products.intervals import Bounds
from mxref.products.linear import bounds_with_bias, product_bounds
from mxref.products.linear_operands import Array, as_rows, numbers_in
from mxref.products.recipe import Recipe
from mxref.products.recipe_operands import Pair, recipe_gradients, recipe_output

Rounding = Literal["nearest", "any"]


def linear_bounds(
    x: ArrayLike,
    w: ArrayLike,
    recipe: Recipe,
    *,
    bias: ArrayLike | None = None,
    dtype: DTypeLike = np.float32,
    random_bits: Mapping[str, ArrayLike] | None = None,
    rounding: Rounding = "nearest",
) -> Bounds:
    """What a layer's output may be, whatever the order in which its sums are added in float32.

    The operands are those of the recipe, bit for bit; their Hadamard transform is exact and rounded
    once. Their products have the bounds of `matmul_bounds`, or, where an operand stays in high
    precision or has float32 scales, wider ones for rounded products: SPEC_NOTES N44 and N53.

    Args:
        x: as in `linear`, with the others.
        w: the weight.
        recipe: a `Recipe`.
        bias: it is added to the sum before it is rounded, or after.
        dtype: float64, float32, bfloat16 or float16.
        random_bits: of a recipe with stochastic rounding.
        rounding: `nearest`: each addition rounds to nearest; `any`: it may cut, too.

    Returns:
        `Bounds` of the shape of the output, as `matmul_bounds` gives them; `hold` says which
        numbers of an array are allowed. NaN is where the exact output is.

    Raises:
        TypeError, ValueError: as `linear` and `matmul_bounds`.

    Source: SPEC_NOTES N43, N44, N53.

    >>> import mxref
    >>> x, w = np.float32([[1.0, 2.0, -3.0]]), np.float32([[0.5, 1.0, 1.0]])
    >>> [linear_bounds(x, w, mxref.recipe("deepseek_v3"))[end].item() for end in (0, 1)]
    [-0.5892886519432068, -0.5892828702926636]
    """
    layout, values = layout_of(dtype), numbers_in(x, "x")
    added = None if bias is None else numbers_in(bias, "bias")
    pair = recipe_output(values, w, recipe, random_bits)
    found = output_bounds(pair, added, layout, rounding)
    return _in_shape(found, (*values.shape[:-1], found.lo.shape[-1]))


def linear_gradients_bounds(
    x: ArrayLike,
    w: ArrayLike,
    grad: ArrayLike,
    recipe: Recipe,
    *,
    dtype: DTypeLike = np.float32,
    random_bits: Mapping[str, ArrayLike] | None = None,
    rounding: Rounding = "nearest",
) -> tuple[Bounds, Bounds, Bounds]:
    """What a layer's gradients may be, whatever the order in which sums are added in float32.

    Args:
        x: as in `linear_gradients`, with the others.
        w: the weight.
        grad: the gradient of the output.
        recipe: a `Recipe`.
        dtype: float64, float32, bfloat16 or float16.
        random_bits: of a recipe with stochastic rounding.
        rounding: as in `linear_bounds`.

    Returns:
        `Bounds` of dx, dw and db, as `linear_bounds` has them.

    Raises:
        TypeError, ValueError: as `linear_gradients` and `matmul_bounds`.

    Source: SPEC_NOTES N43, N44, N53.

    >>> import mxref
    >>> x, w, grad = (np.ones(shape, np.float32) for shape in [(2, 3), (1, 3), (2, 1)])
    >>> recipe = mxref.recipe("mxfp8_torchao")
    >>> [ends.hi.tolist() for ends in linear_gradients_bounds(x, w, grad, recipe)[:2]]
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[2.0, 2.0, 2.0]]]
    """
    layout, values = layout_of(dtype), numbers_in(x, "x")
    for_dx, for_dw = recipe_gradients(values, w, grad, recipe, random_bits)
    dx, dw = (product_bounds(*pair, layout.dtype, rounding) for pair in (for_dx, for_dw))
    rows = as_rows(numbers_in(grad, "grad"))
    db = float_product_bounds(np.ones((1, len(rows))), rows, layout, rounding)
    return _in_shape(dx, values.shape), dw, _in_shape(db, (rows.shape[1],))


def output_bounds(
    pair: Pair, bias: Array | None, layout: FloatLayout, rounding: Rounding
) -> Bounds:
    """The bounds of a product of operands, to which a bias is added before rounding or after."""
    ends = product_bounds(*pair, layout.dtype, rounding)
    if bias is None:
        return ends
    wide = bounds_with_bias(product_bounds(*pair, np.float32, rounding), bias, F32)
    with np.errstate(over="ignore"):
        rounded = Bounds(*(end.astype(layout.dtype) for end in wide))
    return bounds_with_bias(ends, bias, layout).joined(rounded)


def _in_shape(bounds: Bounds, shape: tuple[int, ...]) -> Bounds:
    return Bounds(*(end.reshape(shape) for end in bounds))
