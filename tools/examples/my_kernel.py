"""A kernel to check: FP4 E2M1 in NumPy, by comparison with the midpoints between its numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = ["e2m1"]
FLOATS = ["f32"]

_NUMBERS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_ABOVE_EVEN = np.array([0.25, 1.25, 2.5, 5], np.float32)
_ABOVE_ODD = np.array([0.75, 1.75, 3.5], np.float32)


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """Codes of float32; a midpoint goes to the even code, NaN to the largest number."""
    magnitude = np.abs(values)[:, np.newaxis]
    codes = (magnitude > _ABOVE_EVEN).sum(axis=1) + (magnitude >= _ABOVE_ODD).sum(axis=1)
    codes += 8 * np.signbit(values)
    return np.where(np.isnan(values), 7, codes)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Numbers of codes."""
    numbers: NDArray[Any] = np.concatenate([_NUMBERS, -_NUMBERS])[codes]
    return numbers
