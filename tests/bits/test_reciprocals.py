"""Bounds of the approximate reciprocal, in integers and fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mxref.bits.reciprocals import reciprocals


def test_every_significand() -> None:
    """Of x = X / 2**23 in [1, 2): with 1 / x in units of 2**-25, and floats of 24 bits.

    1 / x is 2**48 / X units; an ulp is two of them, and four of x = 1. Floats are even from 2**24
    on, and multiples of 4 from 2**25 on.
    """
    for start in range(1 << 23, 1 << 24, 1 << 20):
        x = np.arange(start, start + (1 << 20))
        ulp = np.where(x == 1 << 23, 4, 2)
        low = -((ulp * x - (1 << 48)) // x)  # rounded up
        low += low & (low >= 1 << 24)
        high = ((1 << 48) + ulp * x) // x
        high -= np.where(high >= 1 << 25, high % 4, high % 2)
        found = reciprocals(x / 2.0**23)
        assert np.array_equal(found.lowest * 2.0**25, low)
        assert np.array_equal(found.highest * 2.0**25, high)


def test_n46_two_numbers_lie_within_an_ulp_or_four() -> None:
    """Four of 1 / 2, as those below it are half as far apart; typed, then of every significand."""
    found = reciprocals(np.array([2.0, 6.0]))
    lowest = [float.fromhex(one) for one in ("0x1.fffffcp-2", "0x1.555554p-3")]
    highest = [float.fromhex(one) for one in ("0x1.000002p-1", "0x1.555556p-3")]
    assert (found.lowest.tolist(), found.highest.tolist()) == (lowest, highest)
    for start in range(1 << 23, 1 << 24, 1 << 21):
        x = np.arange(start, start + (1 << 21))
        found = reciprocals(x / 2.0**23)
        low, high = (one.astype(np.float32).view(np.int32) for one in (found.lowest, found.highest))
        assert np.array_equal(high - low + 1, np.where(x == 1 << 23, 4, 2))


@pytest.mark.parametrize("exponent", [-126, -125, -1, 0, 100, 124, 125])
def test_other_binades(exponent: int) -> None:
    """Of 1 / x in fractions: the floats beside the bounds are more than an ulp away."""
    for fraction in (0, 1, 0x2AAAAA, 0x400000, 0x7FFFFE, 0x7FFFFF):
        x = np.ldexp(1 + fraction / 2.0**23, exponent)
        exact = 1 / Fraction(float(x))
        ulp = Fraction(2) ** (-exponent - 23 - (fraction > 0))
        found = reciprocals(np.array([x]))
        for bound, to in ((found.lowest, -np.inf), (found.highest, np.inf)):
            one = bound.astype(np.float32)
            assert abs(Fraction(float(one[0])) - exact) <= ulp
            beside = np.nextafter(one, np.float32(to))
            if np.isfinite(beside[0]) and abs(beside[0]) >= 2.0**-126:
                assert abs(Fraction(float(beside[0])) - exact) > ulp


def test_specials_and_what_is_flushed() -> None:
    """By PTX's table; 1 / x is subnormal above 2**126, where a result may be the least normal."""
    x = np.array([0.0, 2.0**-149, 2.0**-127, np.inf, np.nan, 2.0**127, np.nextafter(2.0**126, 1)])
    x[-1] = np.float32(2.0**126) + np.float32(2.0**103)
    found = reciprocals(x)
    for one in found:
        assert np.array_equal(one[:6], [np.inf, np.inf, np.inf, 0, np.nan, 0], equal_nan=True)
    assert [one[6] for one in found] == [0, 0, 2.0**-126]
