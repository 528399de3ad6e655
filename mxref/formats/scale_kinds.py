"""Block formats by their scales: powers of two, small floats, or float32."""

from __future__ import annotations

from mxref.formats.catalog import BLOCK_FORMATS, OTHER_BLOCK_FORMATS, BlockFormat, ScaleKind

__all__ = ["has_power_scales", "has_small_float_scales", "in_rows", "scale_kind"]


def scale_kind(format: str) -> ScaleKind | None:
    """What the scales of a block format are; None of another name.

    >>> [scale_kind(name).value for name in ("mxint8", "nvfp4", "fp8_e4m3_f32")], scale_kind("e2m1")
    (['power', 'small_float', 'float32'], None)
    """
    fmt = BLOCK_FORMATS.get(format) or OTHER_BLOCK_FORMATS.get(format)
    return None if fmt is None else fmt.scale.kind


def has_power_scales(format: str) -> bool:
    """Whether a name is that of a block format under scales that are powers of two alone.

    >>> [has_power_scales(name) for name in ("mxfp4_e2m1", "fp4_e8m0", "fp4_ue4m3", "e2m1")]
    [True, True, False, False]
    """
    return scale_kind(format) is ScaleKind.POWER


def has_small_float_scales(format: str) -> bool:
    """Whether a name is that of a block format under scales that are small floats.

    >>> [has_small_float_scales(name) for name in ("mxfp4_e2m1", "fp4_e8m0", "nvfp4", "e2m1")]
    [False, False, True, False]
    """
    return scale_kind(format) is ScaleKind.SMALL_FLOAT


def in_rows(fmt: BlockFormat, *, tensor_scale: bool) -> BlockFormat | None:
    """The format of the rows of a block, with a tensor scale or without; None if there is none.

    >>> tiles = OTHER_BLOCK_FORMATS["nvfp4_16x16"]
    >>> in_rows(tiles, tensor_scale=False).name, in_rows(tiles, tensor_scale=True).name
    ('fp4_ue4m3', 'nvfp4')
    """
    wanted = fmt.element, fmt.scale, fmt.block_shape[-1:], tensor_scale
    for one in OTHER_BLOCK_FORMATS.values():
        if (one.element, one.scale, one.block_shape, one.tensor_scale) == wanted:
            return one
    return None
