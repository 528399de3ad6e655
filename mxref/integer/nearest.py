"""Integers nearest to numbers of which float64 has an estimate. Source: SPEC_NOTES Q13, Q16."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mxref.bits.single import CAREFUL

__all__ = ["nearest_integers"]

_FAR = 2**40


def nearest_integers(
    number: NDArray[np.float64], error: NDArray[np.float64], exact: Callable[[int], Fraction]
) -> NDArray[np.int64]:
    """The integers nearest to numbers, ties to even; of those beyond 2**40, some beyond it.

    Args:
        number: estimates.
        error: how far off each is at most.
        exact: gives the number at a place in C order; asked where the ends are rounded apart.

    >>> third = np.array([1 / 3, 1.5])
    >>> nearest_integers(third, third * 2.0**-50, lambda place: Fraction(3, 2)).tolist()
    [0, 2]
    """
    ends = number - error, number + error
    low, high = (np.clip(CAREFUL.nearest(end), -_FAR, _FAR) for end in ends)
    found = low.astype(np.int64)
    for place in np.flatnonzero(low != high).tolist():
        found.flat[place] = max(-_FAR, min(round(exact(place)), _FAR))
    return found
