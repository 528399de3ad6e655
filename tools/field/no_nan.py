"""Bytes 7f and ff of E4M3 are read as 480 and -480 (intel-xpu-backend-for-triton#7029)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = ["e4m3"]


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Exponent and mantissa moved into a float16, times 256."""
    bits = codes.astype(np.uint16)
    half = ((bits & 0x80) << 8 | (bits & 0x7F) << 7).view(np.float16)
    return half.astype(np.float32) * 256
