"""A scale byte b is read as 2^b, without the bias of 127 (tilelang#2748)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """2 ** code."""
    with np.errstate(over="ignore"):
        return np.exp2(codes.astype(np.float64)).astype(np.float32)
