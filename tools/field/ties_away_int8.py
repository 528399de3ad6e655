"""A half-way point of int8 goes away from zero (tt-metal#56525)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = ["int8"]


def quantize_affine(
    x: NDArray[Any],
    scale: Any,
    zero_point: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    axis: Any,
) -> NDArray[Any]:
    """Codes of x times the reciprocal of the scale."""
    with np.errstate(over="ignore", invalid="ignore"):
        y = x * (np.float32(1) / np.float32(scale)) + np.float32(zero_point)
    whole = np.copysign(np.floor(np.abs(y).astype(float) + 0.5), y)
    codes: NDArray[Any] = np.clip(np.nan_to_num(whole), quant_min, quant_max).astype(dtype)
    return codes
