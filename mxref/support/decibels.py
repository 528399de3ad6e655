"""Ratios of sums of squares in decibels.

Each square is rounded to float64. The sum of the squares is exact, so its order changes no bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

#: The square of a fraction is in [1/4, 1) and is split into two parts of this many bits, exactly.
_BITS = 27
#: Below every exponent that `frexp` gives for float64.
_LOWEST = -1074


class SumOfSquares:
    """An exact sum of squares that were rounded to float64, as integers by exponent."""

    def __init__(self) -> None:
        self.bins = np.zeros((2, 1024 - _LOWEST + 1), np.int64)

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Add the squares of at most 2**26 finite numbers."""
        fraction, exponent = np.frexp(numbers.reshape(-1))
        square = np.ldexp(fraction * fraction, _BITS)  # in range: a fraction is at least 1/2
        high = np.floor(square)
        low = np.ldexp(square - high, _BITS)
        where = exponent - _LOWEST
        for row, part in enumerate((high, low)):
            # Sums of integers below 2**53 are exact in float64.
            sums = np.bincount(where, part, minlength=self.bins.shape[1])
            self.bins[row] += sums.astype(np.int64)

    @property
    def total(self) -> int:
        """The sum as an integer, in a unit that all sums share."""
        return sum(
            ((int(high) << _BITS) + int(low)) << 2 * i
            for i, (high, low) in enumerate(zip(*self.bins, strict=True))
            if high or low
        )


def decibels(signal: int, noise: int) -> float | None:
    """Ten times the decimal logarithm of signal / noise; None if one of them is zero."""
    if not signal or not noise:
        return None
    shift = signal.bit_length() - noise.bit_length()  # integers may be beyond float64's range
    ratio = (signal << max(-shift, 0)) / (noise << max(shift, 0))
    return 10 * (math.log10(ratio) + shift * math.log10(2))
