"""E4M3 saturates at its top exponent, from 256 on, and ties go away from zero (sglang#40581)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["e4m3"], ["f32"]


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """Codes."""
    codes = mxref.encode(values, format, rounding="ties_to_away")
    codes[np.abs(values) >= 256] = 0x7E
    signed: NDArray[Any] = codes | np.signbit(values).astype(np.uint8) << 7
    return signed
