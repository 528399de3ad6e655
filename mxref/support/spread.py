"""Counts of relative errors by binade."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST", "SMALLEST", "Spread"]

#: Exponents of relative errors that are told apart; others count as the nearest of them.
SMALLEST, LARGEST = -24, 1


class Spread:
    """How many relative errors lie in each binade, and how many are zero.

    >>> some = Spread()
    >>> some.add(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.5, 0.0]))
    >>> some.exact, {k: n for k, n in zip(range(SMALLEST, 2), some.counts.tolist()) if n}
    (1, {-2: 1, 0: 1})
    """

    def __init__(self) -> None:
        self.exact = 0  #: numbers without an error
        #: Numbers with an error of at least 2**k and below 2**(k + 1), for k from SMALLEST.
        self.counts = np.zeros(LARGEST - SMALLEST + 1, np.int64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spread):
            return NotImplemented
        return self.exact == other.exact and bool((self.counts == other.counts).all())

    __hash__ = None  # type: ignore[assignment]  # counts change

    def add(self, wanted: NDArray[np.float64], got: NDArray[np.float64]) -> None:
        """Count the errors of numbers; where either is infinite or NaN nothing is counted.

        A zero that became another number counts as the largest error.
        """
        some = np.isfinite(wanted) & np.isfinite(got)
        with np.errstate(all="ignore"):
            error = np.abs(got - wanted)
            ratio = error[some] / np.abs(wanted[some])
        wrong = ratio[error[some] != 0]
        self.exact += int(some.sum()) - wrong.size
        finite = np.where(np.isfinite(wrong), wrong, 2.0**LARGEST)
        exponents = np.clip(np.frexp(finite)[1] - 1, SMALLEST, LARGEST)
        self.counts += np.bincount(exponents - SMALLEST, minlength=self.counts.size)
