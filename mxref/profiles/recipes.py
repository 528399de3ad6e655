"""The recipes of libraries: how each operand of a linear layer's three products is quantized.

The page docs/recipes.md has the line of source or the sentence that says each of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from mxref.formats.catalog import block_format
from mxref.products.hadamard import Hadamard
from mxref.products.recipe import OperandRecipe, Recipe
from mxref.profiles.registry import PROFILES
from mxref.support.text import unknown_name

__all__ = ["RECIPES", "recipe"]


def _layer(
    name: str,
    source: str,
    x: OperandRecipe,
    w: OperandRecipe | None = None,
    grad: OperandRecipe | None = None,
    **own: OperandRecipe,
) -> Recipe:
    """A recipe that quantizes an operand in the same way in both of its products."""
    weight, gradient = w or x, grad or x
    alike = {"y_x": x, "y_w": weight, "dx_grad": gradient, "dx_w": weight, "dw_grad": gradient}
    return Recipe(name, **{**alike, "dw_x": x, **own}, source=source)


_TE = "NVIDIA/TransformerEngine, transformer_engine/common/recipe/__init__.py: "
_AO = "pytorch/ao, torchao/prototype/moe_training/mxfp8_linear.py: mx_mm"
_FP8, _FP8_TILES = "fp8_e4m3_f32", "fp8_e4m3_f32_128x128"

_AO_MX = OperandRecipe("mxfp8_e4m3", PROFILES["torchao_0_18_rceil"])
_TE_MX = OperandRecipe("mxfp8_e4m3", PROFILES["transformer_engine_mxfp8"])
_MX_TILES = dataclasses.replace(block_format("mxfp8_e4m3"), block_size=(32, 32))

_TE_4 = OperandRecipe("nvfp4", PROFILES["transformer_engine_nvfp4"].policy)
_TE_4_TILES = dataclasses.replace(_TE_4, block_format="nvfp4_16x16")
_TE_4_GRAD = OperandRecipe(
    "nvfp4",
    PROFILES["transformer_engine_nvfp4"].policy.replace(rounding="stochastic_a"),
    random_width=8,
)
_TE_HADAMARD = Hadamard((1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1))


def _float_scaled(name: str, source: str, profile: str, **own: OperandRecipe) -> Recipe:
    """Tiles of 128 x 128 for weights, and 128 elements along the sum for all else."""
    by = PROFILES[profile].policy
    along, tiles = OperandRecipe(_FP8, by), OperandRecipe(_FP8_TILES, by)
    return _layer(name, source, along, tiles, **own)


_V3 = OperandRecipe(_FP8, PROFILES["deepseek_v3_fp8"].policy)

#: Every recipe by its name.
RECIPES: Mapping[str, Recipe] = {
    one.name: one
    for one in (
        _layer("mxfp8_torchao", f"{_AO}, 0.18.0 and 36027d82", _AO_MX),
        _layer(
            "mxfp8_torchao_wgrad_with_hp",
            f"{_AO} with wgrad_with_hp, 0.18.0 and 36027d82",
            _AO_MX,
            dw_grad=OperandRecipe(),
            dw_x=OperandRecipe(),
        ),
        _layer("mxfp8_transformer_engine", f"{_TE}MXFP8BlockScaling, d0067d0d", _TE_MX),
        _layer(
            "mxfp8_transformer_engine_2d",
            f"{_TE}MXFP8BlockScaling(enable_2d_quantization=True), d0067d0d",
            _TE_MX,
            dataclasses.replace(_TE_MX, block_format=_MX_TILES),
        ),
        _layer(
            "nvfp4_transformer_engine",
            f"{_TE}NVFP4BlockScaling, d0067d0d",
            _TE_4,
            _TE_4_TILES,
            _TE_4_GRAD,
            dw_grad=dataclasses.replace(_TE_4_GRAD, transform=_TE_HADAMARD),
            dw_x=dataclasses.replace(_TE_4, transform=_TE_HADAMARD),
        ),
        _float_scaled(
            "float8_blockwise_transformer_engine",
            f"{_TE}Float8BlockScaling, d0067d0d",
            "transformer_engine_fp8_block",
        ),
        _float_scaled(
            "float8_blockwise_transformer_engine_float32",
            f"{_TE}Float8BlockScaling with NVTE_FP8_BLOCK_SCALING_FP32_SCALES=1, d0067d0d",
            "transformer_engine_fp8_block_float32",
        ),
        _float_scaled(
            "deepseek_v3",
            "arXiv 2412.19437 3.3 and 3.5; deepseek-ai/DeepSeek-V3, inference/kernel.py, 9b4e9788",
            "deepseek_v3_fp8",
            dw_x=dataclasses.replace(_V3, stored=_V3),
        ),
        _float_scaled(
            "deepgemm",
            "deepseek-ai/DeepGEMM, deep_gemm/utils/math.py and tests/generators.py, 54e22612",
            "deepgemm_fp8",
        ),
    )
}


def recipe(name: str) -> Recipe:
    """The recipe of a library by its name: a value, which `dataclasses.replace` changes.

    Raises:
        ValueError: the name is unknown; the sentence suggests the nearest one.
        TypeError: no string.

    Source: SPEC_NOTES N53; docs/recipes.md has what says each operand.

    >>> print(recipe("mxfp8_transformer_engine_2d"))
    mxfp8_transformer_engine_2d
    y  = x w'     x:    mxfp8_e4m3, 32 along the sum, transformer_engine_mxfp8
                  w:    mxfp8_e4m3, 32x32 tiles, transformer_engine_mxfp8
    dx = grad w   grad: mxfp8_e4m3, 32 along the sum, transformer_engine_mxfp8
                  w:    mxfp8_e4m3, 32x32 tiles, transformer_engine_mxfp8
    dw = grad' x  grad: mxfp8_e4m3, 32 along the sum, transformer_engine_mxfp8
                  x:    mxfp8_e4m3, 32 along the sum, transformer_engine_mxfp8
    """
    if not isinstance(name, str):
        raise TypeError(f"recipe must be a name, got {type(name).__name__}")
    if name not in RECIPES:
        raise ValueError(unknown_name("recipe", name, RECIPES))
    return RECIPES[name]
