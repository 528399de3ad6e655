"""Bytes of E4M3FNUZ are read as E4M3FN (vllm#45562)."""

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

FORMATS = ["e4m3fnuz"]


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Numbers of E4M3FN."""
    numbers: NDArray[Any] = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    return numbers
