"""The operands of a linear layer's products: rows and columns, quantized along the summed axis.

If a choice makes the blocks of an operand run along its other axis, each term of a sum has its own
scale. Both operands are then multiplied in blocks of one element.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref import formats
from mxref.blocks.container import Blocks
from mxref.blocks.quantization import quantize
from mxref.blocks.shapes import POWER_ONLY, result_shapes
from mxref.blocks.tiles import Axis, cut
from mxref.blocks.two_level import TensorScaleKind
from mxref.formats.catalog import ELEMENT_FORMATS, BlockFormat
from mxref.numbers.source import Source
from mxref.policy.choices import (
    Accumulation,
    Activations,
    BackwardOperands,
    GradientRows,
    WeightAxis,
)
from mxref.policy.groups import ElementPolicy
from mxref.policy.keywords import LinearChoices, LinearGradientsChoices
from mxref.policy.policy import READS, Policy, resolve, spelled

Array: TypeAlias = NDArray[Any]


def linear_operands(
    x: ArrayLike,
    w: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    *,
    weight_format: str | BlockFormat | None = None,
    **choices: Unpack[LinearChoices],
) -> tuple[Blocks | Array, Blocks]:
    """What `linear` multiplies: the rows of x, quantized or not, and w', with K as `matmul` has it.

    Raises:
        TypeError, ValueError: as `linear`.
    """
    every = of_x, of_w = [*_formats(block_format, weight_format=weight_format)]
    chosen, quantized = _quantizer("linear", every, policy, choices)
    values, weight = layer_arrays(x, w)
    across = chosen.products.weight_axis is WeightAxis.OUT
    kept = chosen.products.activations is Activations.KEPT
    if kept and chosen.products.accumulation is not Accumulation.EXACT:
        raise ValueError(
            "accumulation must be exact under activations=kept, since float32 does not hold its "
            f"products, got {chosen.products.accumulation.value}"
        )
    b = quantized(weight, of_w, 0 if across else 1).T
    a = as_rows(values)
    if not kept:
        return _in_equal_blocks(quantized(a, of_x, 1), b)
    if b.tensor_scale is not None and b.tensor_scale.kind is not TensorScaleKind.FACTOR:
        raise ValueError(
            "scale_arithmetic must make the scale of the weight's tensor a factor under "
            f"activations=kept, got {b.tensor_scale.kind.value}: take exact"
        )
    return a, b


def gradient_operands(
    x: ArrayLike,
    w: ArrayLike,
    grad: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    *,
    weight_format: str | BlockFormat | None = None,
    gradient_format: str | BlockFormat | None = None,
    **choices: Unpack[LinearGradientsChoices],
) -> tuple[tuple[Blocks, Blocks], tuple[Blocks, Blocks]]:
    """What `linear_gradients` multiplies: grad and w for dx, grad' and x for dw.

    Raises:
        TypeError, ValueError: as `linear_gradients`.
    """
    every = of_x, of_w, of_g = [
        *_formats(block_format, weight_format=weight_format, gradient_format=gradient_format)
    ]
    chosen, quantized = _quantizer("linear_gradients", every, policy, choices)
    values, weight = layer_arrays(x, w)
    g = gradient_array(grad, values, weight)
    along_n = quantized(as_rows(g), of_g, 1)
    sequences = chosen.products.gradient_rows is GradientRows.SEQUENCES
    if chosen.products.backward_operands is BackwardOperands.REUSED:
        if sequences and "gradient_rows" in spelled(policy, choices):
            raise ValueError(
                "gradient_rows must be flattened under backward_operands=reused, where no block "
                "runs along the rows, got sequences"
            )
        for_dx = along_n, quantized(weight, of_w, 1)
        for_dw = along_n.T, quantized(as_rows(values), of_x, 1)
        return _in_equal_blocks(*for_dx), _in_equal_blocks(*for_dw)
    if sequences:
        size = math.lcm(of_x.block_shape[0], of_g.block_shape[0])
        values = _whole_sequences(values, of_x, size, chosen)
        g = _whole_sequences(g, of_g, size, chosen)
    for_dw = quantized(as_rows(g), of_g, 0).T, quantized(as_rows(values), of_x, 0)
    return (along_n, quantized(weight, of_w, 0)), for_dw


def _formats(
    block_format: str | BlockFormat, **others: str | BlockFormat | None
) -> Iterator[BlockFormat]:
    """The format of x and those that other arguments name, or else that of x."""
    for parameter, name in {"block_format": block_format, **others}.items():
        try:
            fmt = formats.block_format(block_format if name is None else name)
        except ValueError as error:
            if parameter != "block_format" or name in ELEMENT_FORMATS:
                raise
            hint = "a recipe is no name, it is made by mxref.recipe(name)"
            raise ValueError(f"{error}; {hint}") from None
        if len(fmt.block_shape) > 2:
            raise ValueError(
                f"{parameter} must have blocks along one axis or two for a layer, got a block size "
                f"of {fmt.block_size}"
            )
        yield fmt


def _quantizer(
    operation: str,
    every: Sequence[BlockFormat],
    policy: str | Policy,
    choices: Mapping[str, Any],
) -> tuple[Policy, Callable[[Array, BlockFormat, int], Blocks]]:
    """The policy of a call, and the function that quantizes an operand along an axis or in tiles.

    A choice that one of the formats reads is left out where another one does not.
    """
    chosen = resolve(operation, policy, choices)
    rounding = chosen.element.rounding
    if rounding.stochastic:
        raise ValueError(
            f"rounding must be deterministic for {operation}, got {rounding.value}: quantize the "
            "operands with random_bits, and multiply them with matmul"
        )
    values_of = chosen.choices()
    named = {n: values_of[n] for n in spelled(policy, choices) if n in READS["quantize"]}
    kinds = {fmt.scale.is_power for fmt in every}

    def quantized(values: Array, fmt: BlockFormat, axis: int) -> Blocks:
        own, kind = named, fmt.scale.is_power
        if len(kinds) > 1:
            own = {n: value for n, value in named.items() if (n in POWER_ONLY) <= kind}
            if kind:
                own.pop("scale_arithmetic", None)
        return quantize(values, fmt, chosen, axis=axes_of(fmt, axis), **own)  # type: ignore[arg-type]

    return chosen, quantized


def axes_of(fmt: BlockFormat, axis: int) -> Axis:
    """The axes of a format's blocks: both, if these are tiles."""
    if len(fmt.block_shape) == 2:
        return (-2, -1)
    return (axis,) if isinstance(fmt.block_size, tuple) else axis


def numbers_in(values: ArrayLike, parameter: str) -> Array:
    """The array of an argument; what holds no numbers is refused by its name."""
    return Source.of(values, ElementPolicy(), parameter).array


def layer_arrays(x: ArrayLike, w: ArrayLike) -> tuple[Array, Array]:
    """The arrays of a layer's input and weight, whose shapes fit."""
    values, weight = numbers_in(x, "x"), numbers_in(w, "w")
    if weight.ndim != 2:
        raise ValueError(f"w must have two axes, outputs and inputs, got shape {weight.shape}")
    _check_width("x", values, weight, 1)
    return values, weight


def gradient_array(grad: ArrayLike, values: Array, weight: Array) -> Array:
    """The array of the output's gradient, whose shape fits input and weight."""
    g = numbers_in(grad, "grad")
    _check_width("grad", g, weight, 0)
    if values.shape[:-1] != g.shape[:-1]:
        raise ValueError(f"grad must have the rows of x, {values.shape[:-1]}, got {g.shape[:-1]}")
    return g


def _check_width(parameter: str, values: Array, weight: Array, axis: int) -> None:
    if not values.ndim or values.shape[-1] != weight.shape[axis]:
        raise ValueError(
            f"{parameter} must have as last axis the {('outputs', 'inputs')[axis]} of w, "
            f"{weight.shape[axis]}, got shape {values.shape}"
        )


def as_rows(values: Array) -> Array:
    """The array as a matrix, its last axis being that of the rows."""
    return values.reshape(math.prod(values.shape[:-1]), values.shape[-1])


def _whole_sequences(values: Array, fmt: BlockFormat, size: int, policy: Policy) -> Array:
    """The values with every sequence filled up with zeros to a multiple of the size."""
    if values.ndim < 3:
        raise ValueError(
            "x must have three axes or more under gradient_rows=sequences, got shape "
            f"{values.shape}: use flattened, which is the same for one sequence"
        )
    result_shapes(values.shape, fmt, policy, axis=axes_of(fmt, -2))  # may refuse a tail
    missing = [(0, 0)] * values.ndim
    missing[-2] = 0, -values.shape[-2] % size
    return np.pad(values, missing)


def _in_equal_blocks(a: Blocks, b: Blocks) -> tuple[Blocks, Blocks]:
    """The operands as they are if both have blocks along K, else both in blocks of one element."""
    if 1 in a.tiling.axes and 0 in b.tiling.axes:
        return a, b
    return in_single_elements(a, 1), in_single_elements(b, 0)


def in_single_elements(blocks: Blocks, axis: int) -> Blocks:
    """The same numbers in blocks of one element."""
    fmt = dataclasses.replace(blocks.format, block_size=1)
    places = zip(blocks.shape, blocks.tiling.unit, strict=True)
    scales = blocks.scale_codes[np.ix_(*(np.arange(n) // unit for n, unit in places))]
    codes = cut(blocks.codes, blocks.shape)
    return Blocks(codes, scales, fmt, axis, blocks.shape, blocks.dtype, blocks.tensor_scale)
