"""The scale is amax / 448, its logarithm rounded to the nearest integer (mlx#4353)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["mxfp8_e4m3"], ["f32"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The blocks; those with NaN or Inf as `ocp` has them."""
    right = mxref.quantize(values, block_format)
    amax = np.abs(values).max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = np.clip(np.round(np.log2(amax / np.float32(448))), -127, 127)
    is_number = np.isfinite(amax)
    exponent = np.where(is_number, exponent, 0)
    scaled = np.ldexp(np.where(is_number[:, None], values, 0), -exponent.astype(int)[:, None])
    codes = np.where(is_number[:, None], mxref.encode(scaled, "e4m3"), right.codes)
    return np.where(is_number, exponent + 127, right.scale_codes[:, 0]).astype(np.uint8), codes
