"""QuantizeLinear casts the quotient to an integer, which cuts it off (onnxruntime#32452)."""

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
    """Codes of the quotients, rounded towards zero."""
    if np.isnan(x).any():
        raise ValueError("x must have no NaN")
    whole = np.trunc(x / np.float32(scale)) + np.float32(zero_point)
    codes: NDArray[Any] = np.clip(whole, quant_min, quant_max).astype(dtype)
    return codes
