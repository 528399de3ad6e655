"""Below the smallest normal number everything is a binade too small (tt-metal#51971)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["e2m1"], ["f32"]


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """Codes, of half the number where it is below 1."""
    return mxref.encode(np.where(np.abs(values) < 1, values / 2, values), format)
