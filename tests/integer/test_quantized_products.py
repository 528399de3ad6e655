"""Products of matrices of codes: by hand, by fractions, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mxref.integer import qlinear_matmul


def by_fractions(
    a: Any, a_scale: Any, a_zero: int, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: int
) -> list[list[int]]:
    """The definition, rounded where SPEC_NOTES Q14 says so; NumPy rounds to float32."""

    def single(x: Fraction) -> Fraction:
        return Fraction(float(np.float32(x.numerator / x.denominator)))

    low, high = (int(end) for end in (np.iinfo(a.dtype).min, np.iinfo(a.dtype).max))
    found = []
    for row in a.tolist():
        found.append([])
        for j, column in enumerate(b.T.tolist()):
            total = sum(
                (x - a_zero) * (y - int(b_zero[j])) for x, y in zip(row, column, strict=True)
            )
            scales = single(Fraction(float(a_scale)) * Fraction(float(b_scale[j])))
            factor = single(scales / Fraction(float(y_scale)))
            code = round(single(single(Fraction(total)) * factor)) + y_zero
            found[-1].append(min(max(code, low), high))
    return found


def test_q14_ties_are_rounded_before_the_zero_point_is_added() -> None:
    """1, 3 and 5 halves are 0, 2 and 2; -1/2 is 0."""
    codes = np.int8([[1], [3], [5], [-1]])
    for zero in (0, 1):
        found = qlinear_matmul(codes, 0.5, 0, np.int8([[1]]), 1.0, 0, 1.0, zero)
        assert found.dtype == np.int8
        assert found[:, 0].tolist() == [zero, zero + 2, zero + 2, zero]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_q14_random_products_are_those_of_fractions(dtype: str) -> None:
    random, info = np.random.default_rng(5), np.iinfo(dtype)
    for k in (1, 2, 7, 40, 700):
        for _ in range(12):
            a = random.integers(info.min, info.max, (3, k), endpoint=True).astype(dtype)
            b = random.integers(-128, 127, (k, 4), endpoint=True).astype(np.int8)
            a_zero, y_zero = (int(z) for z in random.integers(info.min, info.max, 2, endpoint=True))
            b_zero = random.integers(-128, 127, 4, endpoint=True).astype(np.int8)
            scales = random.uniform(0.001, 0.1, 6).astype(np.float32)
            y_scale = np.float32(scales[0] * scales[1] * random.integers(1, 400) * k)
            given = a, scales[0], a_zero, b, scales[2:], b_zero, y_scale, y_zero
            assert qlinear_matmul(*given).tolist() == by_fractions(*given)


def test_q14_results_saturate_and_sums_are_not_those_of_16_bits() -> None:
    a, b = np.full((1, 8), 255, np.uint8), np.full((8, 2), 127, np.int8)
    b[:, 1] = -128
    assert qlinear_matmul(a, 1.0, 0, b, 1.0, 0, 1.0, 7).tolist() == [[255, 0]]
    assert qlinear_matmul(a, 1.0, 0, b, 1.0, 0, 2048.0, 0).tolist() == [[127, 0]]
