"""All of E4M3's top exponent is NaN, as in an IEEE format (XNNPACK#10460)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS = ["e4m3"]


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Numbers, NaN where the exponent field is 15."""
    return np.where(codes & 0x78 == 0x78, np.float32(np.nan), mxref.decode(codes, format))
