"""Exact products against the slow twin, and intervals against float32 sums in many orders."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from math import inf, nan
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from designed_dots import LENGTH, block_format, blocks_of, exact_rows, random_rows, rows_of
from helpers import SOURCES, sentence
from shares import Share
from tables import codes, rows

import mxref
from mxref.exact import dot as slow
from mxref.formats import catalog
from mxref.formats.catalog import ELEMENT_FORMATS, ElementFormat, element_format
from mxref.products import exact_sums
from mxref.products.dot import exact_in_every_order
from mxref.products.intervals import Bounds
from mxref.products.operand import operand

PAIRS = list(itertools.product(ELEMENT_FORMATS, repeat=2))
ANY = {
    **ELEMENT_FORMATS,
    **{n: f for n, f in catalog.OTHER_FORMATS.items() if isinstance(f, ElementFormat)},
}
E4M3 = "mxfp8_e4m3"
Rows = list[tuple[list[int], list[int]]]


def one_row(text: str, format: str, scales: str = "7f", size: int = 32) -> mxref.Blocks:
    """Codes in blocks of a size, each with its scale."""
    some, fmt = codes(text), block_format(element_format(format), size)
    return mxref.Blocks(some, codes(scales), fmt, 0, (len(some),))


def bits(array: np.ndarray) -> np.ndarray:
    found: np.ndarray = array.view(f"u{array.itemsize}")
    return found


def compare(a: Rows, b: Rows, x: ElementFormat, y: ElementFormat, floats: list[str]) -> int:
    """Compare all products of two sets of rows with the slow twin, and count them."""
    left, right = exact_rows(a, x), exact_rows(b, y)
    for name in floats:
        got = bits(mxref.matmul(blocks_of(a, x), blocks_of(b, y).T, SOURCES[name]))
        want = [[slow.dot(p, q, name) for q in right] for p in left]
        wrong = np.argwhere(got != np.array(want, got.dtype))
        assert not len(wrong), (x.name, y.name, name, [(a[m], b[n]) for m, n in wrong[:1]])
    return len(a) * len(b)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_n26_random_dots(x: str, y: str, share: Share) -> None:
    draws = np.random.default_rng([PAIRS.index((x, y)), 26])
    size = 36 if not share.complete else 226
    count = 0
    for length, spread in ((32, 3), (40, 127)):
        a, b = (random_rows(ANY[n], size, length, spread, draws) for n in (x, y))
        count += compare(a, b, ANY[x], ANY[y], ["f32"])
    assert count == 2 * size**2


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_n26_n27_n28_designed_dots(x: str, y: str) -> None:
    a, b = rows_of(ANY[x]), rows_of(ANY[y])
    assert compare(a, b, ANY[x], ANY[y], [*SOURCES]) > 1500
    left, right = exact_rows(a, ANY[x]), exact_rows(b, ANY[y])
    free = exact_in_every_order(blocks_of(a, ANY[x]), blocks_of(b, ANY[y]).T)
    want = [[slow.exact_in_every_order(p, q) for q in right] for p in left]
    assert free.tolist() == want
    assert 200 < np.count_nonzero(free) < free.size - 200
    for name, rounding in (("f32", "nearest"), ("f32", "any"), ("f64", "nearest"), ("bf16", "any")):
        ends = bounds(a, b, x, y, SOURCES[name], rounding)
        pairs = [[slow.dot_bounds(p, q, name, rounding) for q in right] for p in left]
        for got, want in zip(ends, np.moveaxis(np.array(pairs, np.uint64), 2, 0), strict=True):
            assert np.array_equal(bits(got), want)


def bounds(a: Rows, b: Rows, x: str, y: str, dtype: Any, rounding: Any) -> Any:
    return mxref.matmul_bounds(
        blocks_of(a, ANY[x]), blocks_of(b, ANY[y]).T, dtype, rounding=rounding
    )


@pytest.mark.sampled(28)
@pytest.mark.parametrize(("x", "y"), list(itertools.product(ANY, repeat=2)))
def test_formats_of_other_standards(x: str, y: str) -> None:
    draws = np.random.default_rng([len(x), len(y)])
    for length, spread in ((5, 0), (64, 30)):
        a, b = (random_rows(ANY[n], 17, length, spread, draws) for n in (x, y))
        compare(a, b, ANY[x], ANY[y], ["f32", "f64"])


def test_sums_of_runs_are_exact_in_float64() -> None:
    """No part of a product has a sum of magnitudes beyond 2**53 units, and the parts add up."""
    from mxref.products.run_products import _tables, integers

    for x, y in itertools.product(ANY.values(), repeat=2):
        parts, other = _tables(x, y, 32)
        counts, unit = integers(x)
        assert np.array_equal(sum(parts), np.ldexp(counts.astype(float), unit))
        assert len(parts) == 1 or max(x.exponent_bits, y.exponent_bits) == 5
        for part in parts:
            sizes = [np.abs(each[each != 0]) for each in (part, other)]
            units = [min(n & -n for n in map(int, np.ldexp(each, 60))) for each in sizes]
            assert 32 * sizes[0].max() * sizes[1].max() <= 2.0**53 * units[0] * units[1] / 2.0**120


# Where the sums alone do not say to what they round.

LOST = [
    # Exponents of powers of two and signs, the sum in float64, and whether integers are asked.
    ((200, 50, -100, 50), (1, 1, 1, -1), 2.0**200, True),
    ((200, 147, -100), (1, 1, 1), 2.0**200 + 2.0**148, True),  # a tie and a little more
    ((200, 147, -100), (1, 1, -1), 2.0**200, True),
    ((200, 50, -100, -50, 200), (1, 1, 1, -1, -1), 2.0**50, True),
    ((200, 50, -100, 200, 50), (1, 1, 1, -1, -1), 2.0**-100, True),
    ((0, -8, -30, -100), (1, 1, 1, 1), 1 + 2.0**-8 + 2.0**-30, False),
]


@pytest.mark.parametrize(("exponents", "signs", "float64", "counted"), LOST)
@pytest.mark.parametrize("format", ["e4m3", "e5m2", "int8"])
def test_integers_decide_what_float64_loses(
    exponents: tuple[int, ...],
    signs: tuple[int, ...],
    float64: float,
    counted: bool,
    format: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each block has one product, of ones, so the scales have the exponents."""
    one, minus = {"e4m3": (0x38, 0xB8), "e5m2": (0x3C, 0xBC), "int8": (0x40, 0xC0)}[format]
    first = [code for sign in signs for code in ([one if sign > 0 else minus] + [0] * 31)]
    second = ([one] + [0] * 31) * len(signs)
    scales = [127 + (e + 1) // 2 for e in exponents], [127 + e // 2 for e in exponents]
    a, b = ([(s, c)] for s, c in zip(scales, (first, second), strict=True))
    asked = Mock(wraps=exact_sums.rounded_integer)
    monkeypatch.setattr(exact_sums, "rounded_integer", asked)
    fmt = element_format(format)
    compare(a, b, fmt, fmt, [*SOURCES])
    assert asked.called is counted
    assert mxref.matmul(blocks_of(a, fmt), blocks_of(b, fmt).T, "f8") == float64


@pytest.mark.parametrize(("types", "sa", "ca", "sb", "cb", "want"), rows("exact", "dots"))
def test_n28_n27_n26_cases_by_hand(
    types: str, sa: str, ca: str, sb: str, cb: str, want: str
) -> None:
    format, float = types.split()
    a, b = (one_row(ca, format, sa, 3), one_row(cb, format, sb, 3))
    assert int(bits(mxref.matmul(a, b, SOURCES[float]))[()]) == int(want, 16)


@pytest.mark.parametrize(("float", "a", "b", "rounding", "want"), rows("exact", "dots_beyond"))
def test_n43_sums_beyond_float32(float: str, a: str, b: str, rounding: Any, want: str) -> None:
    sides = one_row(a, "e4m3", "fe"), one_row(b, "e4m3")
    for one, other in (sides, sides[::-1]):
        ends = mxref.matmul_bounds(one, other, SOURCES[float], rounding=rounding)
        assert [int(bits(end)[()]) for end in ends] == codes(want)


# Intervals hold every order.


def orders(
    products: np.ndarray, count: int, draws: np.random.Generator, add: Callable[..., Any]
) -> Iterator[np.ndarray]:
    """Sums of the rows of products in random orders and trees."""
    for number in range(count):
        terms = list(products[draws.permutation(len(products))])
        if number % 3 == 0:  # one after the other
            total = terms[0]
            for term in terms[1:]:
                total = add(total, term)
            yield total
            continue
        while len(terms) > 1:  # neighbours, or any two
            if number % 3 == 1:
                pairs = zip(terms[::2], terms[1::2], strict=False)
                terms = [add(*pair) for pair in pairs] + terms[len(terms) // 2 * 2 :]
            else:
                first, second = (terms.pop(draws.integers(len(terms))) for _ in range(2))
                terms.append(add(first, second))
        yield terms[0]


def toward_zero(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x + y truncated to float32: TwoSum says on which side of the sum the exact one is."""
    total = x + y
    other = total - x
    error = (x - (total - other)) + (y - other)
    beyond = np.isfinite(total) & (np.sign(error) == -np.sign(total)) & (error != 0)
    found: np.ndarray = np.where(beyond, np.nextafter(total, np.float32(0)), total)
    return found


def inside(value: np.ndarray, ends: list[np.ndarray]) -> np.ndarray:
    """What `Bounds.hold` says, here by float arithmetic."""
    low, high, overflow, value = (end.astype(np.float64) for end in (*ends, value))
    found: np.ndarray = (low <= value) & (value <= high) | (value == overflow)
    found |= np.isnan(overflow) & ~np.isfinite(value) & (~np.isnan(low) | np.isnan(value))
    assert np.array_equal(found, Bounds(*ends).hold(value.astype(ends[0].dtype)))
    return found


def columns(rows: Rows, fmt: ElementFormat) -> np.ndarray:
    values: np.ndarray = blocks_of(rows, fmt).dequantize(np.float64)
    return values


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_n43_no_order_leaves_the_interval(x: str, y: str, share: Share) -> None:
    draws = np.random.default_rng([PAIRS.index((x, y)), 43])
    a, b = rows_of(ANY[x]), rows_of(ANY[y])
    with np.errstate(all="ignore"):
        left, right = columns(a, ANY[x]), columns(b, ANY[y])
        products = (left[:, np.newaxis] * right).astype(np.float32).reshape(-1, LENGTH).T
        nearest, other, half = (
            [end.reshape(-1) for end in bounds(a, b, x, y, dtype, rounding)]
            for dtype, rounding in (
                (np.float32, "nearest"),
                (np.float32, "any"),
                (SOURCES["bf16"], "nearest"),
            )
        )
        free = exact_in_every_order(blocks_of(a, ANY[x]), blocks_of(b, ANY[y]).T).reshape(-1)
        exact = mxref.matmul(blocks_of(a, ANY[x]), blocks_of(b, ANY[y]).T).reshape(-1)
        # Zeros come last, so that what has few products is added up in few steps.
        products = np.take_along_axis(products, np.argsort(products == 0, 0, "stable"), 0)
        few = np.count_nonzero(products, axis=0) <= 8
        for some, length in ((few, 8), (~few, LENGTH)):
            terms = np.ascontiguousarray(products[:length, some])
            for total in orders(terms, 1000 if share.complete else 12, draws, np.add):
                assert inside(total, [end[some] for end in nearest]).all()
                in_half = total.astype(SOURCES["bf16"])
                assert inside(in_half, [end[some] for end in half]).all()
                same = (total == exact[some]) | (np.isnan(total) & np.isnan(exact[some]))
                assert same[free[some]].all()
            for total in orders(terms, 40 if share.complete else 4, draws, toward_zero):
                assert inside(total, [end[some] for end in other]).all()


def every_sum(products: np.ndarray) -> np.ndarray:
    """All float32 sums of a few products, in every order and tree; NaN is one number."""
    sums = [products[:0]]
    for some in range(1, 1 << len(products)):
        found = [products[[some.bit_length() - 1]]] if some & (some - 1) == 0 else []
        part = (some - 1) & some
        while part:
            if part < some ^ part:
                found.append(np.add.outer(sums[part], sums[some ^ part]).reshape(-1))
            part = (part - 1) & some
        sums.append(np.unique(np.concatenate(found)))
    return sums[-1]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(4))
def test_n43_sums_beyond_float32_in_every_order(seed: int) -> None:
    """Few products of 2**119 to 2**129: all sums are allowed, and nearly all that is allowed is."""
    draws = np.random.default_rng([128, seed])
    special = np.array([np.inf, -np.inf, np.nan], np.float32)
    kinds: Counter[tuple[bool, ...]] = Counter()
    wide = 0
    for _ in range(120):
        count, width = int(draws.integers(2, 7)), int(draws.choice([1, 8, 30]))
        minus = draws.random(count) < draws.choice([0, 0.2, 0.5])
        codes = draws.integers(0x39 - width, 0x39, count), np.where(minus, 0xB8, 0x38)
        scales = 254, 127 + int(draws.integers(-2, 2))
        left, right = (
            mxref.Blocks(some, [scale], E4M3, 0, (count,))
            for some, scale in zip(codes, scales, strict=True)
        )
        bounds, other = (mxref.matmul_bounds(left, right, rounding=r) for r in ("nearest", "any"))
        products = left.dequantize(np.float64) * right.dequantize(np.float64)
        with np.errstate(all="ignore"):
            sums = every_sum(products.astype(np.float32))
        assert bounds.hold(sums).all(), (products, bounds)
        assert other.hold(sums).all(), (products, other)
        reached = [bool((sums == special[0]).any()), bool((sums == special[1]).any())]
        reached += [bool(np.isnan(sums).any()), bool(np.isfinite(sums).any())]
        kinds[tuple(reached)] += 1
        wide += bounds.hold(special).tolist() != reached[:3]
        # Where every sum is infinite, the largest number is not allowed; nor is 0.
        if not reached[3]:
            wrong = np.float32([0, np.finfo(np.float32).max, np.finfo(np.float32).min])
            wide += int(bounds.hold(wrong).any())
    assert len(kinds) >= 6
    assert wide <= 6


@pytest.mark.parametrize(("scales", "a", "b", "format", "free"), rows("exact", "any_order"))
def test_n43_sums_that_no_order_changes(
    scales: str, a: str, b: str, format: str, free: str
) -> None:
    fmt = element_format(format)
    pairs = zip(codes(scales), (codes(a), codes(b)), strict=True)
    sides = [blocks_of([([scale], some)], fmt) for scale, some in pairs]
    for left, right in (sides, sides[::-1]):
        assert exact_in_every_order(left, right.T).tolist() == [[free == "exact"]]


def test_n27_special_values_of_a_matrix() -> None:
    """A NaN spoils its row or its column, an infinity what it meets."""
    e5m2 = catalog.BLOCK_FORMATS["mxfp8_e5m2"]
    codes = np.full((4, 64), 0x3C, np.uint8)
    codes[1, 40], codes[2, 3], codes[3, 3] = 0x7F, 0x7C, 0xFC
    a = mxref.Blocks(codes, np.full((4, 2), 127), e5m2, 1, (4, 64))
    other = np.full((5, 64), 0x3C, np.uint8)
    scales = np.full((5, 2), 127)
    scales[1, 1] = 255
    other[1, 32:] = 0
    other[2, 3], other[3, 3], other[4, 50] = 0x80, 0xBC, 0xFC
    b = mxref.Blocks(other, scales, e5m2, 1, (5, 64)).T
    n, i = np.nan, np.inf
    want = [[64, n, 63, 62, -i], [n] * 5, [i, n, n, -i, n], [-i, n, n, i, -i]]
    for dtype in SOURCES.values():
        got = mxref.matmul(a, b, dtype)
        np.testing.assert_array_equal(got.astype(np.float64), want)
        nan = bits(np.array(np.nan, dtype))
        assert (bits(got)[np.isnan(want)] == nan).all()  # positive, and quiet
        low, high, _ = mxref.matmul_bounds(a, b, dtype)
        assert np.isnan(low).tolist() == np.isnan(high).tolist() == np.isnan(want).tolist()
        infinite = np.isinf(want)
        assert np.array_equal(low[infinite].astype(np.float64), np.array(want)[infinite])


#: Ends and overflow, and the special values that they allow, by name.
KINDS = {
    "no overflow": ((1, 2, 1), ""),
    "other numbers": ((-4, -3, -4), ""),
    "upwards": ((1, 2, inf), "inf"),
    "downwards": ((1, 2, -inf), "-inf"),
    "both ways": ((1, 2, nan), "inf -inf nan"),
    "infinite": ((inf, inf, inf), "inf"),
    "not a number": ((nan, nan, nan), "nan"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_joined_bounds_allow_what_either_allows_and_what_is_between(source: str) -> None:
    def held(bounds: Bounds, numbers: list[float]) -> list[float]:
        found = [bounds.hold(np.array([x], SOURCES[source]))[0] for x in numbers]
        return [x for x, is_held in zip(numbers, found, strict=True) if is_held]

    for (a, some), (b, others) in itertools.product(KINDS.values(), repeat=2):
        pair = [Bounds(*(np.array([x], SOURCES[source]) for x in ends)) for ends in (a, b)]
        joined = pair[0].joined(pair[1])
        low, high = np.fmin(a[0], b[0]), np.fmax(a[1], b[1])
        numbers = [-5, -4, -3.5, -3, 0, 1, 1.5, 2, 3]
        assert held(joined, numbers) == [x for x in numbers if low <= x <= high], (a, b)
        special = [inf, -inf, nan]
        union = {*some.split(), *others.split()}
        found = set(map(str, held(joined, special)))
        assert found >= union, (a, b)
        if len(union) < 2 and ("nan" not in union or some == others):
            assert found == union, (a, b)


# Shapes, axes, memory, threads.

X = np.random.default_rng(5).standard_normal((7, 70)).astype(np.float32)
W = np.random.default_rng(6).standard_normal((9, 70)).astype(np.float32)


def exactly(x: mxref.Blocks, w: mxref.Blocks) -> np.ndarray:
    """The product of small matrices in integers: float64 holds these sums."""
    return x.dequantize(np.float64) @ w.dequantize(np.float64)


@pytest.mark.parametrize("size", [1, 5, 16, 32, 64, 70, 100, 128])
@pytest.mark.parametrize("tail", ["zero_padded", "short"])
def test_block_sizes_and_tails(size: int, tail: Any) -> None:
    a = mxref.quantize(X, "mxfp4_e2m1", axis=1, block_size=size, tail=tail)
    b = mxref.quantize(W, "mxint8", axis=1, block_size=size, tail=tail)
    found = mxref.matmul(a, b.T, np.float64)
    assert np.array_equal(found, exactly(a, b.T))
    if size in (32, 64):
        other = mxref.quantize(W, "mxint8", axis=1, block_size=96 - size)
        assert np.array_equal(mxref.matmul(a, other.T, np.float64), exactly(a, other.T))


def test_runs_of_long_blocks() -> None:
    for size, run in ((5, 5), (32, 32), (33, 11), (37, 1), (64, 32), (100, 25), (4096, 32)):
        blocks = mxref.quantize(X, "mxfp8_e4m3", axis=1, block_size=size)
        found = operand(blocks, 1)
        assert (found.run, found.length) == (run, 70)
        assert found.codes.shape == (7, -(-70 // run) * run)
        assert found.scales.shape == (7, -(-70 // run))
        each = found.scales.repeat(run, axis=1)[:, :70]
        assert np.array_equal(each, blocks.scale_codes.repeat(size, axis=1)[:, :70])
        assert not found.codes[:, 70:].any()


def test_codes_of_the_padding_are_not_read() -> None:
    fmt, scale = catalog.BLOCK_FORMATS["mxfp8_e4m3"], np.full((1, 1), 127, np.uint8)
    for code in (0x38, 0x7F):
        codes = np.full((1, 32), code, np.uint8)
        codes[:, :20] = 0x38
        side = mxref.Blocks(codes, scale, fmt, 1, (1, 20))
        assert mxref.matmul(side, side.T) == 20


def test_axes_transposes_slices_and_memory() -> None:
    a = mxref.quantize(X, "mxfp8_e4m3", axis=1)
    b = mxref.quantize(W, "mxfp6_e3m2", axis=1).T
    want = mxref.matmul(a, b)
    assert want.shape == (7, 9)
    assert np.array_equal(mxref.matmul(b.T, a.T), want.T)
    columns = mxref.quantize(np.asfortranarray(X.T), "mxfp8_e4m3", axis=0)
    assert np.array_equal(mxref.matmul(columns.T, b), want)
    assert np.array_equal(mxref.matmul(a[2:5], b[:, ::2]), want[2:5, ::2])
    first, second = (
        mxref.matmul(a[:, part], b[part], np.float64) for part in (slice(32), slice(32, None))
    )
    assert np.array_equal((first + second).astype(np.float32), want)


def test_one_axis_is_a_row_or_a_column() -> None:
    a = mxref.quantize(X, "mxfp8_e4m3", axis=1)
    b = mxref.quantize(W, "mxfp8_e4m3", axis=1).T
    want = mxref.matmul(a, b)
    dot = mxref.matmul(a[1], b[:, 2])
    assert (dot.shape, dot) == ((), want[1, 2])
    assert np.array_equal(mxref.matmul(a, b[:, 2]), want[:, 2])
    assert np.array_equal(mxref.matmul(a[1], b), want[1])
    assert [end.shape for end in mxref.matmul_bounds(a[1], b)] == [(9,)] * 3


@pytest.mark.parametrize("shape", [(0, 32, 3), (2, 32, 0), (2, 0, 3), (0, 0, 0)])
def test_empty_matrices(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a = mxref.quantize(np.ones((m, k), np.float32), "mxfp8_e4m3", axis=1)
    b = mxref.quantize(np.ones((k, n), np.float32), "mxfp8_e4m3", axis=0)
    for found in (mxref.matmul(a, b), *mxref.matmul_bounds(a, b)):
        assert found.shape == (m, n)
        assert found.tobytes() == np.full((m, n), k, np.float32).tobytes()
    assert exact_in_every_order(a, b).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", SOURCES.values())
def test_out_and_threads(dtype: Any) -> None:
    draws = np.random.default_rng(8)
    a = mxref.quantize(draws.standard_normal((300, 96)), "mxfp8_e5m2", axis=1)
    b = mxref.quantize(draws.standard_normal((96, 310)), "mxfp8_e4m3", axis=0)
    want, out = mxref.matmul(a, b, dtype), np.empty((300, 310), dtype)
    assert mxref.matmul(a, b, dtype, out=out, threads=2) is not None
    assert bits(out).tobytes() == bits(want).tobytes()
    some = slice(100, 140), slice(120, 160)
    assert np.array_equal(bits(mxref.matmul(a[some[0]], b[:, some[1]], dtype)), bits(want)[some])


def test_a_very_long_row_has_no_bounds() -> None:
    fmt = block_format(element_format("e2m1"), 1 << 20)
    length = 1 << 22
    row = mxref.Blocks(np.zeros(length, np.uint8), np.zeros(4, np.uint8), fmt, 0, (length,))
    assert sentence(ValueError, lambda: mxref.matmul_bounds(row, row)) == (
        f"a must have fewer than 2**22 elements in a row, got {length}"
    )
