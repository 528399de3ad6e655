"""Products of any floats against Fractions; their bounds against float32 sums in many orders."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import INFINITY, SOURCES

from mxref.bits.floats import F32, F64, LAYOUTS
from mxref.exact.format_table import FLOATS
from mxref.exact.patterns import write_float
from mxref.products.float_products import float_product, float_product_bounds

U32 = np.uint32


def rounded(number: Fraction, target: str) -> int:
    """The bits of a fraction whose denominator is a power of two."""
    size = abs(number)
    triple = (int(number < 0), size.numerator, 1 - size.denominator.bit_length())
    return write_float(triple, FLOATS[target])


def bits(array: Any) -> Any:
    return array.view(f"u{array.dtype.itemsize}").tolist()


@pytest.mark.parametrize(("source", "target"), [*itertools.product(SOURCES, repeat=2)])
def test_any_numbers_against_fractions(source: str, target: str) -> None:
    rng = np.random.default_rng(0)
    width = np.dtype(SOURCES[source]).itemsize
    words = rng.integers(0, INFINITY[source], (12, 9), np.uint64)
    words[::2] %= 1 << 8 * width - 5  # small numbers, some of them subnormal
    words |= rng.integers(0, 2, words.shape, np.uint64) << np.uint64(8 * width - 1)
    numbers = words.astype(f"u{width}").view(SOURCES[source])
    numbers[1, :4] = 0
    got = float_product(numbers, numbers.T, LAYOUTS[target])
    exact = [[Fraction(float(n)) for n in row] for row in numbers]
    sums = [[sum(map(Fraction.__mul__, x, y)) for y in exact] for x in exact]
    assert bits(got) == [[rounded(Fraction(n), target) for n in row] for row in sums]


@pytest.mark.parametrize("target", SOURCES)
def test_ties_and_what_decides_them(target: str) -> None:
    # The halves between neighbours of many binades, and a last bit far below, of either sign.
    m, least = LAYOUTS[target].mantissa_bits, LAYOUTS[target].emin - LAYOUTS[target].mantissa_bits
    rows = []
    for unit, n, sticky in itertools.product(
        (least, least + 1, 0), (0, 1, 2, 3, 2**m - 1, 2**m, 2 ** (m + 1) - 1), (-1, 0, 1)
    ):
        rows += [[math.ldexp(n, unit), math.ldexp(1, unit - 1), sticky * 2.0**-1074]]
    table = np.array(rows)
    factors = np.ones((3, 1))
    got = float_product(table, factors, LAYOUTS[target])
    exact = [sum(map(Fraction, row)) for row in table.tolist()]
    assert bits(got) == [[rounded(Fraction(n), target)] for n in exact]


def test_half_of_the_smallest_number() -> None:
    small = 2.0**-1074
    got = float_product([[small], [3 * small], [-small]], np.array([[0.5, 0.25, 0.75]]), F64)
    assert bits(got / small) == bits(np.array([[0.0, 0, 1], [2, 1, 2], [-0.0, -0.0, -1]]))


def test_more_columns_than_a_part_has() -> None:
    numbers = np.random.default_rng(2).standard_normal((3, 150)).astype(np.float32)
    got = float_product(np.ones((1, 3)), numbers, F32)
    exact = [sum(map(Fraction, column)) for column in numbers.T.tolist()]
    assert bits(got) == [[rounded(Fraction(n), "f32") for n in exact]]


def test_special_values() -> None:
    inf, nan = math.inf, math.nan
    x = [[1.0, 2.0], [inf, 2.0], [inf, -inf], [nan, 0.0], [0.0, 0.0]]
    w = np.array([[1.0, 0.0, inf, 0.0, -1.0], [1.0, 1.0, 0.0, nan, -1.0]])
    expected = [
        [3.0, 2.0, inf, nan, -3.0],
        [inf, nan, inf, nan, -inf],
        [nan, nan, nan, nan, nan],
        [nan] * 5,
        [0.0, 0.0, nan, nan, 0.0],
    ]
    for layout in LAYOUTS.values():
        got = float_product(x, w, layout)
        np.testing.assert_array_equal(got.astype(np.float64), expected)
        assert not np.signbit(got[np.isnan(got)]).any()
    low, high, overflow = float_product_bounds(x, w, F32)
    assert np.array_equal(overflow, low, equal_nan=True)
    np.testing.assert_array_equal(np.isnan(low), np.isnan(expected))
    np.testing.assert_array_equal(np.isnan(high), np.isnan(expected))
    assert (low[1, 0], high[1, 0], low[1, 4], high[1, 4]) == (inf, inf, -inf, -inf)


def orders(products: Any, rng: np.random.Generator, count: int) -> Any:
    """float32 sums of float32 products, one after the other, in many orders, and in trees."""
    for _ in range(count):
        terms = rng.permutation(products)
        yield np.cumsum(terms, dtype=np.float32)[-1]
        while len(terms) > 1:
            even = len(terms) // 2 * 2
            terms = np.concatenate([terms[0:even:2] + terms[1:even:2], terms[even:]])
        yield terms[0]


def test_bounds_hold_for_every_order() -> None:
    rng = np.random.default_rng(1)
    for k, spread in ((1, 0), (2, 0), (7, 3), (40, 12), (33, 60)):
        x, w = (
            np.ldexp(rng.standard_normal(k), rng.integers(-spread, spread + 1, k)) for _ in "xw"
        )
        x, w = x.astype(np.float32), w.astype(np.float32)
        w[-1] = -x[0] * w[0] / x[-1] if k > 1 else w[-1]  # the largest cancel, or nearly so
        (low,), (high,), _ = (one[0] for one in float_product_bounds(x[None], w[:, None], F32))
        for total in orders(x * w, rng, 100):
            assert low <= total <= high


def cut(number: Fraction, bits: int = 24, least: int = -149) -> Fraction:
    """A number cut off toward zero to so many bits."""
    unit = Fraction(2) ** max(top(number) - bits, least)
    return math.trunc(number / unit) * unit


def top(number: Fraction) -> int:
    """The exponent of the power of two just above a magnitude."""
    return number.numerator.bit_length() - number.denominator.bit_length() + 1


def cut_sums(products: Sequence[Fraction], rng: np.random.Generator) -> Iterator[Fraction]:
    """Sums that are cut off: one after the other, in a tree, and aligned to the largest term."""
    terms = [products[i] for i in rng.permutation(len(products))]
    for rounded in ([cut(one) for one in terms], terms):  # products cut off first, or fused
        yield functools.reduce(lambda total, one: cut(total + one), rounded, Fraction(0))
    tree = [cut(one) for one in terms]
    while len(tree) > 1:
        pairs = [cut(one + other) for one, other in zip(tree[::2], tree[1::2], strict=False)]
        tree = pairs + tree[len(pairs) * 2 :]
    yield tree[0]
    for first in (terms, [cut(one) for one in terms]):
        total = Fraction(0)
        for start in range(0, len(first), 32):
            some = [total, *first[start : start + 32]]
            unit = Fraction(2) ** max(top(max(map(abs, some))) - 26, -149)
            total = cut(sum((math.trunc(one / unit) * unit for one in some), Fraction(0)))
        yield total


def test_sums_that_are_cut_off_are_inside_the_wider_bounds() -> None:
    rng, outside = np.random.default_rng(2), 0
    for k, spread in ((1, 0), (2, 3), (7, 3), (40, 12), (70, 60)):
        for case in range(12):
            powers = rng.integers(-spread, spread + 1, (2, k))
            x, w = np.ldexp(1 + rng.random((2, k)), powers).astype(np.float32)
            if case % 2:  # each term is cut off as much as it can be, all to one side
                x, w = np.nextafter(x, np.float32(0)), np.exp2(np.floor(np.log2(w)))
                w[1:] = np.ldexp(w[1:], -24)
            if case % 3 == 2:
                x = np.ldexp(x, -74)
                w = np.ldexp(w, -74)
            products = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, w, strict=True)]
            for sums in (cut_sums(products, rng), cut_sums(products[::-1], rng)):
                for total in sums:
                    ends = [
                        [Fraction(float(end.item())) for end in
                         float_product_bounds(x[None], w[:, None], F64, how)[:2]]
                        for how in ("nearest", "any")
                    ]  # fmt: skip
                    (least, most), (low, high) = ends
                    assert low <= total <= high
                    outside += not least <= total <= most
    assert outside > 50


def test_bounds_by_hand() -> None:
    # Every product is 1 + 2**-24, a tie that rounds to 1: n times 2**-24 is reached but for A > n.
    x, w = np.float32([1 + 2.0**-12]), np.float32([1 + 2.0**-12])
    exact = (1 + Fraction(1, 2**12)) ** 2
    (low,), (high,), _ = (one[0] for one in float_product_bounds(x[None], w[:, None], F64))
    radius = exact / 2**24 + Fraction(1, 2**150)
    assert bits(low) == rounded(exact - radius, "f64")
    assert bits(high) == rounded(exact + radius, "f64")
    assert low <= np.float64(x[0] * w[0]) <= high
    # A product of the smallest numbers may vanish, or become the smallest one.
    tiny = np.float32([[2.0**-75]])
    low, high, _ = float_product_bounds(tiny, tiny, F32)
    assert (low.item(), high.item()) == (0.0, 2.0**-149)


def test_overflow_by_hand() -> None:
    """What the positive numbers give, and the negative ones: Inf, both, NaN, or none."""
    inf, nan = math.inf, math.nan
    most = 2.0**127 * (1 - 2.0**-23)
    for numbers, middle, beyond in (
        ([2.0**127, most, -(2.0**127)], most, inf),
        ([2.0**127, -most, -(2.0**127)], -most, -inf),
        ([2.0**127, most, -(2.0**127), -most], 0, nan),
        ([2.0**126, most / 2, -(2.0**127)], -(2.0**103), None),
        ([2.0**127, 2.0**127, 2.0**127], inf, inf),
        # Two products: 1 + 2**-23 times the positive one is 2**128 - 2**104 - 3 * 2**81, or
        # 2**128 - 2**82; 2**128 - 2**103 is enough.
        ([2.0**128 - 3 * 2.0**104, -(2.0**127)], 2.0**127 - 3 * 2.0**104, None),
        ([2.0**128 - 2.0**105, -(2.0**127)], 2.0**127 - 2.0**105, inf),
        ([3 * 2.0**104 - 2.0**128, 2.0**127], 3 * 2.0**104 - 2.0**127, None),
        ([2.0**105 - 2.0**128, 2.0**127], 2.0**105 - 2.0**127, -inf),
        ([-inf, -(2.0**127), 2.0**127], -inf, -inf),
        ([-inf, most, 2.0**127], -inf, nan),
        ([nan, most, 2.0**127], nan, None),
    ):
        x = np.array([numbers], np.float32)
        low, high, overflow = float_product_bounds(x, np.ones((len(numbers), 1)), F32)
        bounds = [end.item() for end in (low, high, overflow)]
        assert np.isnan(middle) or low <= middle <= high
        assert np.isfinite(bounds[:2]).all() == np.isfinite(middle)
        np.testing.assert_equal(bounds[2], bounds[0] if beyond is None else beyond)


def test_nothing_to_add_and_no_outputs() -> None:
    for m, k, n in ((2, 0, 3), (0, 4, 3), (2, 4, 0)):
        got = float_product(np.ones((m, k)), np.ones((k, n)), F32)
        assert got.shape == (m, n)
        assert not got.view(U32).any() or k
        low, high, overflow = float_product_bounds(np.ones((m, k)), np.ones((k, n)), F32)
        assert low.shape == high.shape == overflow.shape == (m, n)
