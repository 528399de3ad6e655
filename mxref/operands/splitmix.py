"""splitmix64: random bits that are the same on every machine and with every NumPy version."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["splitmix64"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def splitmix64(seed: int, count: int, start: int = 0) -> NDArray[np.uint64]:
    """Outputs `start` to `start + count - 1` of the generator with a seed.

    Output i depends on ``seed + (i + 1) * step`` only, so any part can be computed alone.

    Args:
        seed: from 0 to 2**64 - 1.
        count: number of outputs.
        start: the first output.

    Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014.

    >>> [f"{word:016x}" for word in splitmix64(0, 3)]
    ['e220a8397b1dcdaf', '6e789e6aa1b965f4', '06c45d188009454f']
    """
    counter = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    state = counter * _STEP + np.uint64(seed)
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))
