"""Block formats by their scales: powers of two, small floats, with one of the tensor or without."""

from __future__ import annotations

from mxref.formats.catalog import BLOCK_FORMATS, OTHER_BLOCK_FORMATS, BlockFormat

__all__ = ["has_power_scales", "has_small_float_scales", "without_tensor_scale"]


def has_power_scales(format: str) -> bool:
    """Whether a name is that of a block format under scales that are powers of two alone.

    >>> [has_power_scales(name) for name in ("mxfp4_e2m1", "fp4_e8m0", "fp4_ue4m3", "e2m1")]
    [True, True, False, False]
    """
    return _is_power(format) is True


def has_small_float_scales(format: str) -> bool:
    """Whether a name is that of a block format under scales that are small floats.

    >>> [has_small_float_scales(name) for name in ("mxfp4_e2m1", "fp4_e8m0", "nvfp4", "e2m1")]
    [False, False, True, False]
    """
    return _is_power(format) is False


def without_tensor_scale(fmt: BlockFormat) -> BlockFormat | None:
    """The format with the same elements and scales and no tensor scale; None if there is none.

    >>> without_tensor_scale(OTHER_BLOCK_FORMATS["nvfp4_16x16"]).name
    'fp4_ue4m3'
    """
    for one in OTHER_BLOCK_FORMATS.values():
        if not one.tensor_scale and (one.element, one.scale) == (fmt.element, fmt.scale):
            return one
    return None


def _is_power(format: str) -> bool | None:
    fmt = BLOCK_FORMATS.get(format) or OTHER_BLOCK_FORMATS.get(format)
    return None if fmt is None else fmt.scale.is_power
