"""Operands of recipes as the slow twin is told them: numbers and names."""

from __future__ import annotations

import re
from typing import Any

from mxref.exact.linear import BlockFormat
from mxref.exact.recipe import RecipeOperand
from mxref.formats.catalog import BlockFormat as Format
from mxref.operations.operation import changed_choices
from mxref.policy.policy import Policy
from mxref.products.recipe import OperandRecipe

__all__ = ["plain_name", "twin_operand"]

#: Choices and float types that have other names there.
_NAMES = {"scale_rule": "rule", "scale_arithmetic": "arithmetic"}
_FLOATS = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}


def twin_operand(how: OperandRecipe) -> RecipeOperand:
    """An operand as the slow twin has it.

    Raises:
        ValueError: what quantizes it is neither a policy nor a profile.

    >>> from mxref.profiles.recipes import RECIPES
    >>> sorted(twin_operand(RECIPES["mxfp8_torchao"].y_x).choices.items())
    [('nan', 'signed'), ('rule', 'rceil')]
    """
    policy = how.by if isinstance(how.by, Policy) else getattr(how.by, "policy", None)
    if not isinstance(policy, Policy):
        raise ValueError(f"by must be a policy or a profile where a target is checked, got {how}")
    more: dict[str, Any] = {}
    if how.transform is not None:
        more = {"signs": how.transform.signs, "rounded": _FLOATS[str(how.transform.dtype)]}
    if how.stored is not None:
        more["stored"] = twin_operand(how.stored)
    fmt = how.format
    if fmt is None:
        return RecipeOperand(**more)
    changed = changed_choices(Policy().choices(), policy)
    own = {_NAMES.get(n, n): value for n, value in changed.items() if n != "tail"}
    return RecipeOperand(_twin_format(fmt), own, width=how.random_width or 0, **more)


def _twin_format(fmt: Format) -> BlockFormat:
    shape = fmt.block_shape
    size = (shape[0], shape[1]) if len(shape) > 1 else shape[0]
    scale = "f32" if fmt.scale.is_float32 else fmt.scale.name
    return BlockFormat(fmt.element.name, scale, size, tensor=fmt.tensor_scale)


def plain_name(name: str) -> str:
    """A recipe's name as that of a format.

    >>> plain_name("my own")
    'my_own'
    """
    return re.sub(r"\W+", "_", name).strip("_") or "own"
