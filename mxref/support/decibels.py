"""Ratios of sums of squares, the same to the last bit whatever the parts are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sum", "decibels"]

#: A square in [1/4, 1) is split into two numbers of so many bits, which holds all of it.
_BITS = 27
#: The exponents of float64 as `frexp` has them begin after this.
_LOWEST = -1074


class Sum:
    """A sum of squares of float64 numbers, in integers by exponent."""

    def __init__(self) -> None:
        self.bins = np.zeros((2, 1024 - _LOWEST + 1), np.int64)

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Add the squares of at most 2**26 finite numbers."""
        fraction, exponent = np.frexp(numbers.reshape(-1))
        square = np.ldexp(fraction * fraction, _BITS)  # beyond no range: a fraction is 1/2 or more
        high = np.floor(square)
        low = np.ldexp(square - high, _BITS)
        where = exponent - _LOWEST
        for row, part in enumerate((high, low)):
            # Sums of integers below 2**53 are exact in float64.
            sums = np.bincount(where, part, minlength=self.bins.shape[1])
            self.bins[row] += sums.astype(np.int64)

    @property
    def total(self) -> int:
        """The sum as an integer, in units that are the same for every sum."""
        return sum(
            ((int(high) << _BITS) + int(low)) << 2 * i
            for i, (high, low) in enumerate(zip(*self.bins, strict=True))
            if high or low
        )


def decibels(signal: int, noise: int) -> float | None:
    """Ten times the logarithm of a ratio; None if there is no signal or no noise."""
    if not signal or not noise:
        return None
    shift = signal.bit_length() - noise.bit_length()  # integers may be beyond float64's range
    ratio = (signal << max(-shift, 0)) / (noise << max(shift, 0))
    return 10 * (math.log10(ratio) + shift * math.log10(2))
