"""A scale is rounded up by pow(2, ceil(log2 |x|)) in float32 (sglang#29954)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOATS = ["f32"]
POLICY = "ocp+scale_rounding=toward_positive"


def encode_scale(values: NDArray[Any]) -> NDArray[Any]:
    """E8M0 codes."""
    with np.errstate(divide="ignore"):
        exponent = np.clip(np.ceil(np.log2(np.abs(values))), -127, 127)
    return np.where(np.isnan(values), 255, exponent + 127).astype(np.uint8)
