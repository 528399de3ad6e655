"""Sums and products of codes: by hand, by the slow twin, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.exact import integer as exact
from mxref.integer import qlinear_add, qlinear_mul

SCALES = (0.5, 0.25, 1.0, 0.1, 0.3, 1 / 3, 1e-30, 1e20, 3.0, 7.0)


def test_q16_two_additions_are_fused() -> None:
    """(10 - 0)/2 + (3 - 1) is 7, in quarters 28, plus 5."""
    a, b = np.uint8([10, 20, 255, 0]), np.uint8([3])
    for how in ("fused", "exact"):
        found = qlinear_add(a, 0.5, 0, b, 1.0, 1, 0.25, 5, sum=how)
        assert (found.dtype, found.tolist()) == (np.uint8, [33, 53, 255, 13])


def test_q16_a_tie_of_a_sum_goes_to_the_even_code() -> None:
    """Halves of 1, 3 and 5, and then 7: 7.5, 8.5 and 9.5 are 8, 8 and 10."""
    for how in ("fused", "exact"):
        found = qlinear_add(np.int8([1, 3, 5]), 0.5, 0, np.int8([0]), 0.5, 0, 1.0, 7, sum=how)
        assert found.tolist() == [8, 8, 10]


def test_q16_a_single_first_code_is_the_second_operand() -> None:
    """A case in which exchanged operands give another code; 1 by 1 is a single code, too."""
    given = np.uint8([146]), 0.0005800678627565503, 29, np.uint8([64, 0]), 0.0017146352911368012, 86
    given = *given, 0.00027036742540076375, 0
    assert qlinear_add(*given).tolist() == [112, 0]
    both = np.uint8([146, 146]), *given[1:]
    assert qlinear_add(*both).tolist() == [111, 0]
    alone = *given[:3], given[3][:1], *given[4:]
    assert qlinear_add(*alone).tolist() == [112]


def test_q16_in_fixed_point_a_tie_goes_away_from_zero() -> None:
    """1.5, 2.5, -1.5 and -2.5; a quotient of scales below 2**-14 or of 256 has no multiplier."""
    a, b = np.int8([3, 5, -3, -5]), np.int8([0])
    found = qlinear_add(a, 0.5, 0, b, 0.5, 0, 1.0, 7, sum="fixed_point")
    assert found.tolist() == [9, 10, 5, 4]
    for scale in (2.0**-15, 256.0):
        found = qlinear_add(a, 0.5, 0, b, scale, 0, 1.0, 7, sum="fixed_point")
        assert found.tolist() == [8, 10, 6, 4]


def test_q16_an_exact_sum_is_not_what_float32_gives() -> None:
    """float32's tenth is above 1/10: 5 of them are above a half, but rounded they are a half."""
    tenth = float(np.float32(0.1))
    a, b = np.int8([[5], [15], [-5]]), np.int8([[0]])
    found = qlinear_add(a, tenth, 0, b, 1.0, 0, 1.0, 0, sum="exact")
    assert found[:, 0].tolist() == [1, 2, -1]
    assert qlinear_add(a, tenth, 0, b, 1.0, 0, 1.0, 0)[:, 0].tolist() == [0, 2, 0]


def test_q16_when_a_zero_point_is_added_to_a_product() -> None:
    """5 halves are a tie: 2, or with an odd zero point of 7 before it, 10."""
    how = np.int8([5, -5, 7]), 1, 0, np.int8([1]), 1, 0, 2
    assert qlinear_mul(*how, 7).tolist() == [10, 4, 10]
    assert qlinear_mul(*how, 7, zero_added="after").tolist() == [9, 5, 11]
    assert qlinear_mul(*how, 6).tolist() == qlinear_mul(*how, 6, zero_added="after").tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_q16_codes_are_those_of_the_twin(dtype: str) -> None:
    drawn, info = np.random.default_rng(1), np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    for turn in range(120):
        scales = drawn.choice(SCALES, 3).astype(np.float32)
        a, b = drawn.integers(low, high + 1, (2, 24)).astype(dtype)
        a[:2], b[1:3] = (low, high), (high, low)
        zeros = [int(zero) for zero in drawn.integers(low, high + 1, 3)]
        if turn % 2:  # next to a tie of the first sum, and of the first product
            first, second = (int(x[0]) - zero for x, zero in zip((a, b), zeros, strict=False))
            total = abs(first * float(scales[0]) + second * float(scales[1]))
            scales[2] = total / (turn + 0.5) or 1
        bits, given = [int(x) for x in scales.view(np.uint32)], [float(x) for x in scales]
        args = a, given[0], zeros[0], b, given[1], zeros[1], given[2], zeros[2]
        if max(given[:2]) / given[2] < 2.0**99:
            for how in ("fused", "unfused", "quotient", "fixed_point", "exact"):
                for some, more, one in ((a, b, ""), (a[:1], b, "a"), (a, b[3:4], "b")):
                    both = np.broadcast_arrays(some, more)
                    want = [
                        exact.qlinear_add(x, y, bits, zeros, low, high, how, one)
                        for x, y in zip(*(each.tolist() for each in both), strict=True)
                    ]
                    call = some, *args[1:3], more, *args[4:]
                    assert qlinear_add(*call, sum=how).tolist() == want, (call, how)
        finite = given[0] * given[1] < 2.0**127 > given[0] * given[1] / given[2]
        for when in ("before", "after") if finite else ():
            want = [
                exact.qlinear_mul(x, y, bits, zeros, low, high, when)
                for x, y in zip(a.tolist(), b.tolist(), strict=True)
            ]
            assert qlinear_mul(*args, zero_added=when).tolist() == want, (args, when)


def test_arrays_are_broadcast() -> None:
    a, b = np.arange(6, dtype=np.uint8).reshape(2, 3), np.uint8([[10], [20]])
    assert qlinear_add(a, 1.0, 0, b, 1.0, 0, 1.0, 0).tolist() == [[10, 11, 12], [23, 24, 25]]
    assert qlinear_mul(a, 1.0, 0, b, 1.0, 0, 1.0, 0).tolist() == [[0, 10, 20], [60, 80, 100]]
    assert qlinear_add(np.uint8(3), 1.0, 0, np.uint8(4), 1.0, 0, 1.0, 0).item() == 7
