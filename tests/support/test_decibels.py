"""Sums of squares in integers, and their ratios."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mxref.support.decibels import SumOfSquares, decibels


@pytest.mark.parametrize(
    ("signal", "noise", "found"),
    [
        (0, 0, None),
        (0, 1, None),
        (1, 0, None),
        (1, 1, 0),
        (2, 2, 0),
        (10**3, 1, 30),
        (1, 10**3, -30),
        (10**400, 10**30, 3700),  # beyond float64's range
        (10**30, 10**400, -3700),
    ],
)
def test_ratios_in_decibels(signal: int, noise: int, found: float | None) -> None:
    got = decibels(signal, noise)
    if not found:
        assert got == found
    else:  # a logarithm is not rounded right
        assert got is not None
        assert math.isclose(got, found, rel_tol=1e-14)


def test_a_sum_is_exact_in_one_unit() -> None:
    """Every square here has at most 53 bits."""
    numbers = [2.0**-1074, -3 * 2.0**-1074, 2.0**-540, -1.0, 1.5, 2.0**20 + 1, 2.0**1023]
    got = SumOfSquares()
    for some in (numbers[:3], numbers[3:], [0.0, -0.0], []):
        got.add(np.array(some))
    assert Fraction(got.total, 2**2202) == sum(Fraction(one) ** 2 for one in numbers)
