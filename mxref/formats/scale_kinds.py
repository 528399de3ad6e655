"""Which names of block formats have scales that are powers of two, and which small floats."""

from __future__ import annotations

from mxref.formats.catalog import BLOCK_FORMATS, OTHER_BLOCK_FORMATS

__all__ = ["has_power_scales", "has_small_float_scales"]


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


def _is_power(format: str) -> bool | None:
    fmt = BLOCK_FORMATS.get(format) or OTHER_BLOCK_FORMATS.get(format)
    return None if fmt is None else fmt.scale.is_power
