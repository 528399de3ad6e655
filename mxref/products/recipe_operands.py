"""The operands of a layer's three products as a recipe quantizes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.blocks.container import Blocks
from mxref.blocks.quantization import quantize
from mxref.policy.policy import Policy
from mxref.products.linear_operands import as_rows, axes_of, gradient_array, layer_arrays
from mxref.products.recipe import OperandRecipe, Recipe

Array: TypeAlias = NDArray[Any]
Pair: TypeAlias = tuple[Blocks | Array, Blocks | Array]


def recipe_output(
    x: ArrayLike, w: ArrayLike, recipe: Recipe, random_bits: Mapping[str, ArrayLike] | None = None
) -> Pair:
    """What `linear` multiplies under a recipe: the rows of x, and w'.

    Raises:
        TypeError, ValueError: as `linear`.
    """
    values, weight = layer_arrays(x, w)
    draws = _Draws(recipe, random_bits, "y_")
    a = draws.operand("y_x", as_rows(values), 1, values.shape)
    return a, draws.operand("y_w", weight, 1).T


def recipe_gradients(
    x: ArrayLike,
    w: ArrayLike,
    grad: ArrayLike,
    recipe: Recipe,
    random_bits: Mapping[str, ArrayLike] | None = None,
) -> tuple[Pair, Pair]:
    """What `linear_gradients` multiplies under a recipe: grad and w for dx, grad' and x for dw.

    Raises:
        TypeError, ValueError: as `linear_gradients`.
    """
    values, weight = layer_arrays(x, w)
    g = gradient_array(grad, values, weight)
    rows, over = as_rows(values), as_rows(g)
    draws = _Draws(recipe, random_bits, "dx_", "dw_")
    for_dx = draws.operand("dx_grad", over, 1, g.shape), draws.operand("dx_w", weight, 0)
    left, right = draws.operand("dw_grad", over, 0, g.shape), draws.operand("dw_x", rows, 0)
    return for_dx, (left.T, right)


class _Draws:
    """The recipe of a call, and the random bits of its operands."""

    def __init__(
        self, recipe: Recipe, bits: Mapping[str, ArrayLike] | None, *products: str
    ) -> None:
        """Refuse bits that are missing, or that no operand of these products reads."""
        if not isinstance(recipe, Recipe):
            raise TypeError(
                f"recipe must be a Recipe, as mxref.recipe gives it, got {type(recipe).__name__}"
            )
        if bits is not None and not isinstance(bits, Mapping):
            raise TypeError(
                "random_bits must be a mapping from names of operands to arrays, got "
                f"{type(bits).__name__}"
            )
        self._recipe, self._bits = recipe, dict(bits or {})
        reading = [name for name in recipe.stochastic if name.startswith(products)]
        for name in self._bits:
            if name not in reading:
                raise ValueError(
                    f"random_bits must be those of {' and '.join(reading) or 'no operand'} for "
                    f"{recipe.name}, which rounds no other stochastically, got some of {name!r}"
                )
        if missing := [name for name in reading if name not in self._bits]:
            raise ValueError(
                f"random_bits must have those of {' and '.join(reading)} for {recipe.name}, which "
                f"rounds them stochastically, got none of {' and '.join(missing)}"
            )

    def operand(
        self, name: str, values: Array, axis: int, shape: tuple[int, ...] | None = None
    ) -> Blocks | Array:
        """A matrix, quantized as an operand of this name along an axis."""
        bits = None
        if name in self._bits:
            bits = np.asarray(self._bits[name])
            if bits.shape not in {values.shape, shape}:
                raise ValueError(
                    f"random_bits of {name} must have shape {shape or values.shape}, got "
                    f"{bits.shape}"
                )
            bits = bits.reshape(values.shape)
        return quantized_operand(values, getattr(self._recipe, name), axis, bits)


def quantized_operand(
    values: Array, how: OperandRecipe, axis: int, bits: Array | None = None
) -> Blocks | Array:
    """A matrix as an operand of a recipe, which is summed along an axis."""
    if how.stored is not None:
        before = quantized_operand(values, how.stored, 1)
        own = np.float32 if values.dtype.kind in "iu" else values.dtype
        values = before.dequantize(own) if isinstance(before, Blocks) else before
    if how.transform is not None:
        values = how.transform.transformed(values, axis)
    fmt, by = how.format, how.by
    if fmt is None:
        return values
    axes = axes_of(fmt, axis)
    if isinstance(by, str | Policy):
        width = how.random_width
        return quantize(values, fmt, by, axis=axes, random_bits=bits, random_width=width)
    return by.quantize(values, fmt, axis=axes)
