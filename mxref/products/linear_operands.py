"""The operands of a linear layer's products: rows and columns, quantized along the summed axis.

If a choice makes the blocks of an operand run along its other axis, each term of a sum has its own
scale. Both operands are then multiplied in blocks of one element.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref import formats
from mxref.blocks.container import Blocks
from mxref.blocks.quantization import quantize
from mxref.blocks.shapes import result_shapes
from mxref.blocks.tiles import cut
from mxref.formats.catalog import E8M0, BlockFormat
from mxref.numbers.source import Source
from mxref.policy.choices import (
    Accumulation,
    Activations,
    BackwardOperands,
    GradientRows,
    WeightAxis,
)
from mxref.policy.keywords import LinearChoices, LinearGradientsChoices
from mxref.policy.policy import READS, ElementPolicy, Policy, resolve, spelled

Array: TypeAlias = NDArray[Any]


def linear_operands(
    x: ArrayLike,
    w: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    **choices: Unpack[LinearChoices],
) -> tuple[Blocks | Array, Blocks]:
    """What `linear` multiplies: the rows of x, quantized or not, and w', with K as `matmul` has it.

    Raises:
        TypeError, ValueError: as `linear`.
    """
    chosen, quantized = _quantizer("linear", block_format, policy, choices)
    values, weight = numbers_in(x, "x"), _matrix(w)
    _check_width("x", values, weight, 1)
    across = chosen.products.weight_axis is WeightAxis.OUT
    kept = chosen.products.activations is Activations.KEPT
    if kept and chosen.products.accumulation is not Accumulation.EXACT:
        raise ValueError(
            "accumulation must be exact under activations=kept, since float32 does not hold its "
            f"products, got {chosen.products.accumulation.value}"
        )
    b = quantized(weight, 0 if across else 1).T
    a = as_rows(values)
    if kept:
        return a, b
    return _in_equal_blocks(quantized(a, 1), b)


def gradient_operands(
    x: ArrayLike,
    w: ArrayLike,
    grad: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    **choices: Unpack[LinearGradientsChoices],
) -> tuple[tuple[Blocks, Blocks], tuple[Blocks, Blocks]]:
    """What `linear_gradients` multiplies: grad and w for dx, grad' and x for dw.

    Raises:
        TypeError, ValueError: as `linear_gradients`.
    """
    chosen, quantized = _quantizer("linear_gradients", block_format, policy, choices)
    values, weight, g = numbers_in(x, "x"), _matrix(w), numbers_in(grad, "grad")
    _check_width("x", values, weight, 1)
    _check_width("grad", g, weight, 0)
    if values.shape[:-1] != g.shape[:-1]:
        raise ValueError(f"grad must have the rows of x, {values.shape[:-1]}, got {g.shape[:-1]}")
    along_n = quantized(as_rows(g), 1)
    sequences = chosen.products.gradient_rows is GradientRows.SEQUENCES
    if chosen.products.backward_operands is BackwardOperands.REUSED:
        if sequences and "gradient_rows" in spelled(policy, choices):
            raise ValueError(
                "gradient_rows must be flattened under backward_operands=reused, where no block "
                "runs along the rows, got sequences"
            )
        for_dx = along_n, quantized(weight, 1)
        for_dw = along_n.T, quantized(as_rows(values), 1)
        return _in_equal_blocks(*for_dx), _in_equal_blocks(*for_dw)
    if sequences:
        values, g = (_whole_sequences(one, block_format, chosen) for one in (values, g))
    for_dw = quantized(as_rows(g), 0).T, quantized(as_rows(values), 0)
    return (along_n, quantized(weight, 0)), for_dw


def _quantizer(
    operation: str,
    block_format: str | BlockFormat,
    policy: str | Policy,
    choices: Mapping[str, Any],
) -> tuple[Policy, Callable[[Array, int], Blocks]]:
    """The policy of a call, and the function that quantizes an operand along an axis."""
    chosen = resolve(operation, policy, choices)
    fmt = formats.block_format(block_format)
    if fmt.scale != E8M0:
        raise ValueError(
            f"block_format must have e8m0 scales for {operation}, got {fmt.name} with "
            f"{fmt.scale.name}"
        )
    if isinstance(fmt.block_size, tuple):
        raise ValueError(
            f"block_format must have blocks along one axis for {operation}, got a block size of "
            f"{fmt.block_size}: make it an integer"
        )
    rounding = chosen.element.rounding
    if rounding.stochastic:
        raise ValueError(
            f"rounding must be deterministic for {operation}, got {rounding.value}: quantize the "
            "operands with random_bits, and multiply them with matmul"
        )
    every = chosen.choices()
    named = {n: every[n] for n in spelled(policy, choices) if n in READS["quantize"]}

    def quantized(values: Array, axis: int) -> Blocks:
        return quantize(values, fmt, chosen, axis=axis, **named)  # type: ignore[arg-type]

    return chosen, quantized


def numbers_in(values: ArrayLike, parameter: str) -> Array:
    """The array of an argument; what holds no numbers is refused by its name."""
    return Source.of(values, ElementPolicy(), parameter).array


def _matrix(w: ArrayLike) -> Array:
    weight = numbers_in(w, "w")
    if weight.ndim != 2:
        raise ValueError(f"w must have two axes, outputs and inputs, got shape {weight.shape}")
    return weight


def _check_width(parameter: str, values: Array, weight: Array, axis: int) -> None:
    if not values.ndim or values.shape[-1] != weight.shape[axis]:
        raise ValueError(
            f"{parameter} must have as last axis the {('outputs', 'inputs')[axis]} of w, "
            f"{weight.shape[axis]}, got shape {values.shape}"
        )


def as_rows(values: Array) -> Array:
    """The array as a matrix, its last axis being that of the rows."""
    return values.reshape(math.prod(values.shape[:-1]), values.shape[-1])


def _whole_sequences(values: Array, block_format: str | BlockFormat, policy: Policy) -> Array:
    """The values with every sequence filled up with zeros to whole blocks."""
    if values.ndim < 3:
        raise ValueError(
            "x must have three axes or more under gradient_rows=sequences, got shape "
            f"{values.shape}: use flattened, which is the same for one sequence"
        )
    result_shapes(values.shape, block_format, policy, axis=-2)  # may refuse a tail
    size = formats.block_format(block_format).block_shape[0]
    missing = [(0, 0)] * values.ndim
    missing[-2] = 0, -values.shape[-2] % size
    return np.pad(values, missing)


def _in_equal_blocks(a: Blocks, b: Blocks) -> tuple[Blocks, Blocks]:
    """The operands as they are if both have blocks along K, else both in blocks of one element."""
    if a.axis == 1 and b.axis == 0:
        return a, b
    return _single(a, 1), _single(b, 0)


def _single(blocks: Blocks, axis: int) -> Blocks:
    """The same numbers in blocks of one element."""
    fmt = dataclasses.replace(blocks.format, block_size=1)
    scales = np.repeat(blocks.scale_codes, blocks.format.block_shape[0], blocks.tiling.axes[0])
    codes, scales = (cut(array, blocks.shape) for array in (blocks.codes, scales))
    return Blocks(codes, scales, fmt, axis, blocks.shape, blocks.dtype)
