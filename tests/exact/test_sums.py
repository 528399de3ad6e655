"""Sums of the slow twin by hand: adders, linear layers, bounds of weight-only ones."""

from __future__ import annotations

import pytest

from mxref.exact.adders import accumulation
from mxref.exact.linear import linear
from mxref.exact.sum_bounds import linear_bounds

ONE, DOWN_12, UP_12 = 0x3C, 0x0C, 0x6C  # 1, 2**-12 and 2**12 in e5m2
# Squares of these give 2**24 and 1; a float32 of 2**24 does not see 1, but 2.
LARGE = [UP_12, 0, ONE, ONE]


def squares(codes: list[int], how: str, scale: int = 127, block_size: int = 32) -> int:
    scales = [scale] * -(-len(codes) // block_size)
    formats = "e5m2", "e5m2"
    return accumulation(codes, codes, scales, scales, *formats, how, block_size)


@pytest.mark.parametrize(
    ("codes", "how", "bits"),
    [
        (LARGE, "sequential", 0x4B800000),
        (LARGE, "pairwise", 0x4B800001),  # (2**24 + 0) + (1 + 1)
        ([UP_12, ONE, ONE], "pairwise", 0x4B800000),  # (2**24 + 1) + 1
        ([UP_12, 0, 0, 0, ONE, 0, ONE], "pairwise", 0x4B800001),  # 2**24 + ((1 + 0) + 1)
        ([ONE], "pairwise", 0x3F800000),
        ([], "pairwise", 0),
        (LARGE, "by_block", 0x4B800001),  # blocks of two
        ([UP_12, ONE, ONE], "by_block", 0x4B800000),
        (LARGE, "scales_last", 0x4B800001),
        ([UP_12, ONE, ONE], "scales_last", 0x4B800000),
    ],
)
def test_orders_of_float32_additions(codes: list[int], how: str, bits: int) -> None:
    assert squares(codes, how, block_size=2) == bits


# One, and two squares of 2**-24 at the places 1 and `second`: together they are an ulp of 1, but a
# sum is cut to 23 bits after each step.
@pytest.mark.parametrize(
    ("how", "second", "bits"),
    [
        ("aligned_25", 31, 0x3F800001),
        ("aligned_25", 32, 0x3F800000),
        ("aligned_35", 63, 0x3F800001),
        ("aligned_35", 64, 0x3F800000),
    ],
)
def test_products_in_one_step_of_a_tensor_core(how: str, second: int, bits: int) -> None:
    codes = [ONE, DOWN_12] + [0] * 63
    codes[second] = DOWN_12
    assert squares(codes, how) == bits


# 2**-149 less 2**-`last`, and two halves of that: the last product that is not cut away is that of
# 25 bits after 2**-133, the exponent of the sum so far, which is zero.
@pytest.mark.parametrize(("last", "bits"), [(157, 1), (158, 0)])
def test_the_exponent_of_a_zero_of_25_bits(last: int, bits: int) -> None:
    powers = [*range(150, last + 1), last + 1, last + 1]
    a = [0x3C - 4 * min(power - 140, 14) for power in powers]
    b = [0x3C - 4 * (power - 140 - min(power - 140, 14)) for power in powers]
    found = accumulation(a, b, [57], [57], "e5m2", "e5m2", "aligned_25")  # 2**-140
    assert found == bits


def test_the_bias_is_rounded_and_added_to_each_row() -> None:
    """3 and 6 plus 1 and -0.5; -2**-30 is -0 as a float16, and stays so with a bias of -0."""
    one, two, three = 0x3F800000, 0x40000000, 0x40400000
    y = linear([[one], [two]], [[three], [three]], "f32", "e2m1", bias=[one, 0xBF000000])
    assert y == [[0x40800000, 0x40200000], [0x40E00000, 0x40B00000]]
    tiny = linear([[0xB0800000]], [[one], [one]], "f32", "e2m1", "f16", bias=[1 << 31, 0])
    assert tiny == [[1 << 15, 0]]


def test_blocks_of_weights_along_either_axis() -> None:
    """1 * 64 + 2 * 1: beside 64, under the scale 2**4, 1 becomes 0; it has a scale of its own."""
    for weight_axis, want in (("in", 0x42800000), ("out", 0x42840000)):
        x, w = [[0x3F800000, 0x40000000]], [[0x42800000, 0x3F800000]]
        assert linear(x, w, "f32", "e2m1", weight_axis=weight_axis) == [[want]]


def power(exponent: int) -> int:
    """The float32 of a power of two."""
    return exponent + 127 << 23


# x, w and the scale, whose product is finite: x * w or w * scale is not.
@pytest.mark.parametrize(
    ("x", "w", "scale", "order", "beyond"),
    [
        (127, 4, -10, "dequantize", False),
        (127, 4, -10, "scale_last", True),
        (127, 4, -10, "offset", True),
        (-10, 4, 127, "dequantize", True),
        (-10, 4, 127, "scale_last", False),
        (-10, 4, 127, "offset", False),
        (10, 4, 117, "dequantize", True),  # the product itself
    ],
)
def test_what_may_overflow_on_the_way(x: int, w: int, scale: int, order: str, beyond: bool) -> None:
    low, high, third = linear_bounds([power(x)], [w], [power(scale)], order)
    assert low <= power(min(x + 2 + scale, 128)) <= high
    assert third == (0x7FC00000 if beyond else low)
