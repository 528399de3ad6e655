"""Layers by a recipe in which operands are quantized otherwise: one change each.

A change says what is done in place of the recipe: of one operand, or of every one, or of both
operands of a product where that is one mistake. Products are right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32
from mxref.blocks.container import Blocks
from mxref.formats.catalog import ELEMENT_FORMATS, BlockFormat
from mxref.operations.asked_call import AskedCall
from mxref.operations.recipe_bounds import held
from mxref.operations.recipe_layers import RecipeLayer
from mxref.policy.policy import Policy
from mxref.products.hadamard import Hadamard
from mxref.products.linear import layer_product, product_bounds
from mxref.products.linear_operands import as_rows, in_single_elements
from mxref.products.recipe import OperandRecipe, Recipe
from mxref.products.recipe_operands import quantized_operand
from mxref.profiles.recipes import RECIPES

__all__ = ["Change", "changed_layer", "changes", "inside_changed"]

Array = NDArray[Any]
Operand = Blocks | Array
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
#: The Hadamard transform of Transformer Engine.
_HADAMARD = RECIPES["nvfp4_transformer_engine"].dw_x.transform
_ROUNDINGS = ("ties_to_even", "ties_to_away", "toward_zero")
_RULES = ("floor", "ceil", "rceil", "even")
_GRADIENTS = ("dx_grad", "dw_grad")
#: The operands that are summed along another axis than their last one.
_OF_OTHER_AXIS = ("dx_w", "dw_grad", "dw_x")
#: Members that differ from another one in few numbers.
_NEAR = (("rceil_reciprocal", "rceil"), ("bit_ceiling", "exp2_ceil_log2"))
_FLOAT_SCALES: Mapping[str, tuple[str, ...]] = {
    "scale_power": ("any", "bit_ceiling"),
    "element_from": ("quotient", "reciprocal", "multiplier"),
}


class Change(NamedTuple):
    """What is done in place of a recipe.

    where: the operand or the product, `all` operands, `grad` of both products, `bits`. what: the
    change. text: in words. operands: how those that differ are quantized. across: those that are
    quantized along the other axis. turned: those that are transformed along the other axis. bits:
    whose random bits each of the gradients is rounded with, if others. narrow: whether results are
    rounded to bfloat16.
    """

    where: str
    what: str
    text: str
    operands: Mapping[str, OperandRecipe]
    across: tuple[str, ...] = ()
    turned: tuple[str, ...] = ()
    bits: tuple[int, ...] = ()
    narrow: bool = False

    @property
    def name(self) -> str:
        """Of the place and of the change."""
        return f"{self.where}_{self.what}"


def changes(recipe: Recipe, operands: tuple[str, ...]) -> Iterator[Change]:
    """The changes of a recipe that concern some of its operands, the likeliest first."""
    of_all: dict[tuple[str, str], dict[str, OperandRecipe]] = {}
    for one in operands:
        for name, text, how in _of_operand(getattr(recipe, one), is_across=one in _OF_OTHER_AXIS):
            yield Change(one, name, f"{_words(one)} {text}", {one: how})
            of_all.setdefault((name, text), {})[one] = how
    for (name, text), every in of_all.items():
        if len(every) == len(operands):
            yield Change("all", name, f"quantizes every operand {text}", every)
        elif {*every} >= {*_GRADIENTS}:
            both = {one: every[one] for one in _GRADIENTS}
            yield Change("grad", name, f"quantizes grad for dx and for dw {text}", both)
    for one in operands:
        how = getattr(recipe, one)
        if how.format is not None and len(how.format.block_shape) == 1:
            yield Change(one, "across", f"{_words(one)} along the other axis", {}, (one,))
    for left, right in zip(operands[::2], operands[1::2], strict=True):
        yield from _of_product(recipe, left, right)
    if len([one for one in recipe.stochastic if one in operands]) > 1:
        text = "takes for each gradient the random bits of the other"
        yield Change("bits", "exchanged", text, {}, bits=(1, 0))
        text = "takes the random bits of dx for both gradients"
        yield Change("bits", "of_one_dx", text, {}, bits=(0, 0))
        text = "takes the random bits of dw for both gradients"
        yield Change("bits", "of_one_dw", text, {}, bits=(1, 1))
    yield Change("all", "in_bfloat16", "rounds its results to bfloat16", {}, narrow=True)


def _words(operand: str) -> str:
    product, _, array = operand.partition("_")
    return f"quantizes {array} for {product}"


def _of_operand(how: OperandRecipe, *, is_across: bool) -> Iterator[tuple[str, str, OperandRecipe]]:
    """Other ways to quantize an operand: a name, what it is, and the way."""
    fmt = how.format
    if fmt is None:
        return
    shape, long = fmt.block_shape, max(fmt.block_shape)
    if len(shape) == 2:
        text = f"in blocks of {long} along the sum, not in tiles of {shape[0]}x{shape[1]}"
        yield "in_rows", text, _sized(how, long)
    else:
        text = f"in tiles of {long}x{long}, not in blocks of {long} along the sum"
        yield "in_tiles", text, _sized(how, (long, long))
        text = f"in blocks of {long // 2}, half as long as those of the recipe"
        yield "in_short_blocks", text, _sized(how, long // 2)
        text = f"in blocks of {long * 2}, twice as long as those of the recipe"
        yield "in_long_blocks", text, _sized(how, long * 2)
    if how.is_stochastic:
        yield (
            "rounded_to_nearest",
            "with rounding to nearest, not stochastic",
            _by(how, "rounding", "ties_to_even"),
        )
    if how.stored is not None:
        text = "itself, not as it was stored"
        yield "not_as_stored", text, dataclasses.replace(how, stored=None)
    elif is_across and len(shape) == 1 and not how.is_stochastic:
        text = "again, as it was quantized along the last axis before"
        yield "twice", text, dataclasses.replace(how, stored=how)
    if how.transform is not None:
        text = "without the Hadamard transform"
        yield "without_transform", text, dataclasses.replace(how, transform=None)
    if not fmt.tensor_scale:  # which the other operand has, too, and is no factor by itself
        yield "kept", "not at all", OperandRecipe(transform=how.transform)
    yield from _of_elements(how, fmt)


def _of_elements(how: OperandRecipe, fmt: BlockFormat) -> Iterator[tuple[str, str, OperandRecipe]]:
    """Other elements, roundings and scales."""
    if fmt.element.name in ("e4m3", "e5m2"):
        other = "e5m2" if fmt.element.name == "e4m3" else "e4m3"
        element = dataclasses.replace(fmt, element=ELEMENT_FORMATS[other])
        yield (
            "other_fp8",
            "in the other FP8 format",
            dataclasses.replace(how, block_format=element, by=_policy(how)),
        )
    some: dict[str, tuple[str, ...]] = {}
    if not how.is_stochastic:
        some["rounding"] = _ROUNDINGS
    if fmt.scale.is_float32:
        is_power = _policy(how).choices()["scale_power"] != "any"
        some |= {n: m for n, m in _FLOAT_SCALES.items() if n == "scale_power" or not is_power}
    elif fmt.scale.is_power:
        some["scale_rule"] = _RULES
    own = _policy(how)
    for choice, members in some.items():
        for member in members:
            mine = own.choices()[choice]
            if mine != member and (mine, member) not in _NEAR:
                yield f"{choice}_{member}", f"with {choice}={member}", _by(how, choice, member)


def _of_product(recipe: Recipe, left: str, right: str) -> Iterator[Change]:
    """Mistakes of both operands of a product."""
    product, both = left.partition("_")[0], {one: getattr(recipe, one) for one in (left, right)}
    if both[left] != both[right] and not any(how.is_stochastic for how in both.values()):
        swapped = {left: both[right], right: both[left]}
        text = f"quantizes each operand of {product} as the recipe says of the other one"
        yield Change(product, "swapped", text, swapped)
    turn = both[left].transform
    if turn is None:
        if all(how.format is not None and how.format.tensor_scale for how in both.values()):
            added = {n: dataclasses.replace(h, transform=_HADAMARD) for n, h in both.items()}
            text = f"transforms both operands of {product}"
            yield Change(product, "transformed", text, added)
        return
    plain = Hadamard((1,) * turn.size, turn.dtype)
    for name, text, other in (
        ("without_transform", "quantizes both operands of {} without the Hadamard transform", None),
        ("without_signs", "transforms both operands of {} without the signs", plain),
        (
            "in_float32",
            "does not round what it transforms for {} to " + str(turn.dtype),
            Hadamard(turn.signs, np.float32),
        ),
    ):
        changed = {n: dataclasses.replace(h, transform=other) for n, h in both.items()}
        yield Change(product, name, text.format(product), changed)
    text = f"transforms both operands of {product} along the other axis"
    yield Change(product, "transformed_across", text, {}, turned=(left, right))


def _sized(how: OperandRecipe, size: int | tuple[int, int]) -> OperandRecipe:
    if how.format is None:
        return how
    return dataclasses.replace(how, block_format=dataclasses.replace(how.format, block_size=size))


def _policy(how: OperandRecipe) -> Policy:
    policy: Policy = how.by if isinstance(how.by, Policy) else how.by.policy  # type: ignore[union-attr]
    return policy


def _by(how: OperandRecipe, choice: str, member: str) -> OperandRecipe:
    """The operand with another choice of its policy."""
    policy = _policy(how).replace(**{choice: member})
    width = how.random_width if policy.element.rounding.stochastic else None
    return dataclasses.replace(how, by=policy, random_width=width)


def changed_layer(layer: RecipeLayer, recipe: Recipe, change: Change) -> Callable[..., Array]:
    """The function of an operation, with a change."""
    return partial(_run, layer, recipe, change)


def inside_changed(
    layer: RecipeLayer, recipe: Recipe, change: Change
) -> Callable[[AskedCall, Array], bool]:
    """Whether a result may be one of a change, whatever the order of its float32 sums."""
    return partial(_admits, layer, recipe, change)


def _run(layer: RecipeLayer, recipe: Recipe, change: Change, *arguments: Any) -> Array:
    with np.errstate(all="ignore"):
        pairs = _operands(layer, recipe, change, arguments)
        found = [layer_product(*pair, F32, Policy()) for pair in pairs]
    if len(found) == 1:
        x, w = arguments[:2]
        result: Array = found[0].reshape(*x.shape[:-1], len(w))
    else:
        result = np.concatenate([one.reshape(-1) for one in found])
    return result.astype(_BFLOAT16).astype(np.float32) if change.narrow else result


def _admits(
    layer: RecipeLayer, recipe: Recipe, change: Change, call: AskedCall, result: Array
) -> bool:
    dtype = _BFLOAT16 if change.narrow else np.float32
    try:
        with np.errstate(all="ignore"):
            numbers = result.astype(dtype)
            if (numbers.astype(np.float32) != result).any():
                return False
            pairs = _operands(layer, recipe, change, call.arguments)
            ends = [product_bounds(*pair, dtype, "any") for pair in pairs]
    except ValueError:  # scales whose products float32 does not hold
        return False
    return bool(held(ends, numbers).all())


def _operands(
    layer: RecipeLayer, recipe: Recipe, change: Change, arguments: Sequence[Any]
) -> list[tuple[Operand, Operand]]:
    """What each product of a layer multiplies."""
    x, w, *more = arguments[: layer.inputs]
    format, *drawn = arguments[layer.inputs :]
    drawn = [drawn[i] for i in change.bits] or drawn
    bits = dict(zip(layer.random(format), drawn, strict=True))
    rows = as_rows(x)

    def operand(name: str, values: Array, axis: int) -> Operand:
        how: OperandRecipe = change.operands.get(name, getattr(recipe, name))
        own = bits[name].reshape(values.shape) if how.is_stochastic else None
        along = 1 - axis if name in change.across else axis
        if name in change.turned and how.transform is not None:
            values = how.transform.transformed(values, 1 - axis)
            how = dataclasses.replace(how, transform=None)
        found = quantized_operand(values, how, along, own)
        turned = change.across and isinstance(found, Blocks) and not found.format.scale.is_float32
        return in_single_elements(found, axis) if turned and isinstance(found, Blocks) else found

    if not more:
        return [(operand("y_x", rows, 1), operand("y_w", w, 1).T)]
    grad = as_rows(more[0])
    return [
        (operand("dx_grad", grad, 1), operand("dx_w", w, 0)),
        (operand("dw_grad", grad, 0).T, operand("dw_x", rows, 0)),
    ]
