"""An E4M3 decoder with a hidden one in every code, and no NaN (tilelang#2702)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = ["e4m3"]


def decode(codes: NDArray[np.uint8], format: str) -> NDArray[np.float32]:
    """Numbers."""
    exponent, fraction = codes >> 3 & 15, codes & 7
    sizes: NDArray[Any] = np.ldexp(8.0 + fraction, exponent.astype(np.int64) - 10)
    return np.where(codes >> 7, -sizes, sizes).astype(np.float32)
