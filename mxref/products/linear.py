"""Linear layers on quantized operands: the output, and the gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeGuard, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mxref.bits.float32 import wide
from mxref.bits.floats import (
    F64,
    FloatLayout,
    Floats,
    compose,
    floats_from,
    layout_of,
    patterns,
    split,
)
from mxref.blocks.container import Blocks
from mxref.blocks.two_level import TensorScaleKind
from mxref.formats.catalog import BlockFormat
from mxref.numbers.source import Source
from mxref.policy.choices import Accumulation
from mxref.policy.groups import ElementPolicy
from mxref.policy.keywords import LinearChoices, LinearGradientsChoices
from mxref.policy.policy import READS, Policy, resolve
from mxref.products.dot import matmul, matmul_bounds
from mxref.products.float_products import float_product, float_product_bounds, float_sum
from mxref.products.intervals import Bounds
from mxref.products.linear_operands import (
    Array,
    as_rows,
    gradient_operands,
    linear_operands,
    numbers_in,
)
from mxref.products.recipe import Recipe
from mxref.products.recipe_operands import recipe_gradients, recipe_output

_OCP = Policy().choices()


def linear(
    x: ArrayLike,
    w: ArrayLike,
    block_format: str | BlockFormat | Recipe,
    *,
    weight_format: str | BlockFormat | None = None,
    bias: ArrayLike | None = None,
    dtype: DTypeLike = np.float32,
    random_bits: Mapping[str, ArrayLike] | None = None,
    policy: str | Policy = "ocp",
    **choices: Unpack[LinearChoices],
) -> Floats:
    """The output of a linear layer, x w' + bias, from quantized x and w.

    Args:
        x: floats, or integers up to 2**53, (..., K); the leading axes are those of rows.
        w: the weight, (N, K).
        block_format: block format or its name, of x, and of w if nothing else is said; blocks of
            two sizes are tiles of rows and of K. Or a `Recipe`, which says how each operand is
            quantized: `accumulation` is then the only choice that is read.
        weight_format: that of w; tiles have outputs and K.
        bias: (N,). It is rounded to `dtype`, as the product is, and the sum is rounded again.
        dtype: float64, float32, bfloat16 or float16.
        random_bits: of a recipe with stochastic rounding, by the operand (`y_x`, `y_w`), of its
            shape; see `quantize`.
        policy: a `Policy` or its spelling.
        choices: those of `quantize` that a format reads, but for stochastic rounding;
            `accumulation`, as in `matmul`; `weight_axis`: whether blocks of w run along its inputs
            or across its outputs, and then count as blocks of one element; `activations`: whether x
            is quantized or `kept`.

    Returns:
        An array (..., N). In `ocp` each product is exact and rounded once. Inf and NaN are those of
        `matmul`, also if x is kept.

    Raises:
        TypeError: operands that are no numbers, or another dtype.
        ValueError: shapes that do not fit, a choice that is not read, what `matmul` refuses, an
            accumulation that is not `exact` where x is kept: float32 does not hold its products;
            a tensor scale that is no factor, likewise.

    Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N44.

    >>> x, w = np.float32([[1.0, 2.0, -3.0]]), np.float32([[0.5, 1.0, 1.0], [4.0, 0.0, 0.3]])
    >>> linear(x, w, "mxfp8_e4m3", bias=np.float32([10.0, 0.0]))
    array([[9.5   , 3.0625]], dtype=float32)
    >>> linear(x, w, "mxfp8_e4m3", weight_axis="out", activations="kept")
    array([[-0.5   ,  3.0625]], dtype=float32)
    >>> linear(x, w, "nvfp4", weight_format="nvfp4_16x16")
    array([[-0.6666667,  3.0000002]], dtype=float32)
    """
    layout = layout_of(dtype)
    values = numbers_in(x, "x")
    a: Blocks | Array
    b: Blocks | Array
    if isinstance(block_format, Recipe):
        chosen = _chosen(block_format, policy, choices, weight_format=weight_format)
        a, b = recipe_output(values, w, block_format, random_bits)
    else:
        _refuse_random(random_bits)
        own = {"weight_format": weight_format}
        a, b = linear_operands(values, w, block_format, policy, **own, **choices)
        chosen = resolve("linear", policy, choices)
    y = layer_product(a, b, layout, chosen)
    if bias is not None:
        y = with_bias(y, numbers_in(bias, "bias"), layout)
    return y.reshape(*values.shape[:-1], b.shape[1])


def linear_gradients(
    x: ArrayLike,
    w: ArrayLike,
    grad: ArrayLike,
    block_format: str | BlockFormat | Recipe,
    *,
    weight_format: str | BlockFormat | None = None,
    gradient_format: str | BlockFormat | None = None,
    dtype: DTypeLike = np.float32,
    random_bits: Mapping[str, ArrayLike] | None = None,
    policy: str | Policy = "ocp",
    **choices: Unpack[LinearGradientsChoices],
) -> tuple[Floats, Floats, Floats]:
    """The gradients of a linear layer: of its input, its weight and its bias.

    dx = grad w and dw = grad' x from quantized operands, and the sums of the columns of grad, which
    for those is not quantized.

    Args:
        x: floats, or integers up to 2**53, (..., K).
        w: the weight, (N, K).
        grad: the gradient of the output, (..., N).
        block_format: block format or its name, of x, and of the others if nothing else is said;
            blocks of two sizes are tiles, of rows and of K. Or a `Recipe`, as in `linear`.
        weight_format: that of w; tiles have outputs and K.
        gradient_format: that of grad; tiles have rows and outputs.
        dtype: float64, float32, bfloat16 or float16.
        random_bits: of a recipe with stochastic rounding, by the operand (`dx_grad`, `dx_w`,
            `dw_grad`, `dw_x`), of its shape; see `quantize`.
        policy: a `Policy` or its spelling.
        choices: those of `quantize` that a format reads, but for stochastic rounding;
            `accumulation`, as in `matmul`; `backward_operands`: whether w and x are quantized anew,
            w along N and x along the rows, or `reused` as for the output, and grad along its last
            axis only; `gradient_rows`: whether blocks along the rows run through all of them or end
            with those of the last axis but one: each of these `sequences` is then filled up with
            zeros to whole blocks of both operands.

    Returns:
        dx of x's shape, dw of w's shape, and db of shape (N,). In `ocp` each sum is exact and
        rounded once; db is so under every policy. Inf and NaN are those of `matmul`.

    Raises:
        TypeError: operands that are no numbers, or another dtype.
        ValueError: shapes that do not fit, a choice that is not read, what `matmul` refuses,
            `sequences` with fewer than three axes.

    Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N44.

    >>> x, w = np.float32([[1.0, 2.0, -3.0]]), np.float32([[0.5, 1.0, 1.0], [4.0, 0.0, 0.3]])
    >>> dx, dw, db = linear_gradients(x, w, np.float32([[1.0, 1.1]]), "mxfp8_e4m3")
    >>> dx.tolist(), dw.tolist(), db.dtype
    ([[5.0, 1.0, 1.3515625]], [[1.0, 2.0, -3.0], [1.125, 2.25, -3.375]], dtype('float32'))
    """
    layout = layout_of(dtype)
    values, g = numbers_in(x, "x"), numbers_in(grad, "grad")
    own = {"weight_format": weight_format, "gradient_format": gradient_format}
    pairs: tuple[tuple[Blocks | Array, Blocks | Array], ...]
    if isinstance(block_format, Recipe):
        chosen = _chosen(block_format, policy, choices, **own)
        pairs = recipe_gradients(values, w, g, block_format, random_bits)
    else:
        _refuse_random(random_bits)
        pairs = gradient_operands(values, w, g, block_format, policy, **own, **choices)
        chosen = resolve("linear_gradients", policy, choices)
    dx, dw = (layer_product(*pair, layout, chosen) for pair in pairs)
    rows = as_rows(g)
    db = float_product(np.ones((1, len(rows))), rows, layout)[0]
    return dx.reshape(values.shape), dw, db


def product_bounds(
    a: Blocks | Array,
    b: Blocks | Array,
    dtype: DTypeLike,
    rounding: Literal["nearest", "any"] = "nearest",
) -> Bounds:
    """What float32 sums may be, of operands as `linear_operands` or a recipe gives them.

    `matmul_bounds`, and where an operand is not quantized `float_product_bounds`.
    """
    if isinstance(a, Blocks) and isinstance(b, Blocks):
        return matmul_bounds(a, b, dtype, rounding=rounding)
    return float_product_bounds(operand_numbers(a), operand_numbers(b), layout_of(dtype), rounding)


def _chosen(
    recipe: Recipe, policy: str | Policy, choices: Mapping[str, Any], **formats: object
) -> Policy:
    """The policy of a call with a recipe, which has every choice but how sums are added."""
    for name, given in formats.items():
        if given is not None:
            raise ValueError(
                f"{name} must be None with the recipe {recipe.name}, which has all formats, got "
                f"{given}: change the recipe with dataclasses.replace"
            )
    named = Policy.parse(policy) if isinstance(policy, str) else Policy()
    for name in {**choices, **{k: v for k, v in named.choices().items() if v != _OCP[k]}}:
        if name in _OCP and name not in READS["matmul"]:
            raise ValueError(
                f"{name} must be left out with the recipe {recipe.name}, which has every choice "
                "but accumulation: change the recipe with dataclasses.replace"
            )
    return resolve("matmul", policy, choices)


def _refuse_random(random_bits: object) -> None:
    if random_bits is not None:
        raise ValueError("random_bits must be None without a recipe that rounds stochastically")


def _in_small_blocks(operand: Blocks | Array) -> TypeGuard[Blocks]:
    """Whether it has blocks whose numbers `matmul` multiplies."""
    return isinstance(operand, Blocks) and not operand.format.scale.is_float32


def operand_numbers(operand: Blocks | Array) -> Array:
    """The numbers of an operand, all of them exact."""
    if not isinstance(operand, Blocks):
        return operand
    tensor = operand.tensor_scale
    if tensor is not None and tensor.kind is not TensorScaleKind.FACTOR:
        raise ValueError(
            "scale_arithmetic must make the scale of a tensor a factor where the other operand is "
            f"not quantized, got {tensor.kind.value}: take exact"
        )
    return operand.dequantize(np.float64)


def layer_product(
    a: Blocks | Array, b: Blocks | Array, layout: FloatLayout, policy: Policy
) -> Floats:
    """The product of operands, each sum added as the policy says."""
    how = policy.products.accumulation
    if _in_small_blocks(a) and _in_small_blocks(b):
        return matmul(a, b, layout.dtype, accumulation=how)
    if how is not Accumulation.EXACT:
        raise ValueError(
            "accumulation must be exact where an operand is not quantized or has float32 scales, "
            f"got {how.value}: `mma` adds as FP8 kernels with such scales do"
        )
    return float_product(operand_numbers(a), operand_numbers(b), layout)


def bounds_with_bias(bounds: Bounds, bias: Array, layout: FloatLayout) -> Bounds:
    """The bounds of sums after a bias is added."""
    low, high, overflow = (with_bias(one, bias, layout) for one in bounds)
    overflow = np.where(np.isnan(low) | np.isnan(high), layout.dtype.type(np.nan), overflow)
    low, high = np.fmin(low, high), np.fmax(low, high)
    # An infinite bias meets sums that are infinite with one sign or, where they overflow on the
    # way, with the other: the result may be the bias.
    both = np.isnan(low) & ~np.isnan(bounds.lo) & (bounds.overflow != bounds.lo) & ~np.isnan(bias)
    infinite = np.where(bias < 0, -np.inf, np.inf).astype(layout.dtype)
    return Bounds(np.where(both, infinite, low), np.where(both, infinite, high), overflow)


def with_bias(y: Floats, bias: Array, layout: FloatLayout) -> Floats:
    """The sums of two numbers of a type, rounded to it."""
    if bias.shape != y.shape[1:]:
        raise ValueError(f"bias must have shape {y.shape[1:]}, got {bias.shape}")
    source = Source.of(bias, ElementPolicy())
    addend = floats_from(compose(split(*source.exact_numbers(bias)), layout), layout)
    if layout == F64:
        return float_sum(y, addend, layout)
    # float64 holds the sum or, in every mode of the processor, one that rounds as it does: see the
    # proof in `bits.float32`.
    y, addend = (wide(patterns(one, layout), layout) for one in (y, addend))
    with np.errstate(over="ignore", invalid="ignore"):
        total = y + addend
    total[np.isnan(total)] = np.nan  # a processor's NaN may have a sign
    return floats_from(compose(split(total.view(np.uint64), F64), layout), layout)
