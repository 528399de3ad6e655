"""Products with alpha, beta, C and a bias: against the slow twin, by hand, and in their bounds."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import SOURCES
from two_level_rows import FINITE, SPECIAL, drawn_blocks, slow_rows

import mxref
from mxref.exact.dot import exact_dot
from mxref.exact.epilogue import exact_epilogue, stepped_epilogue
from mxref.exact.format_table import FLOATS
from mxref.exact.patterns import float_reader
from mxref.products.epilogue import EPILOGUES

FORMATS = ("mxfp8_e4m3", "infinities", "nvfp4", "fp4_e8m0", "tiles")
ALPHAS = (1, 0, -1.5, 0.1, 3, float(np.float32(1 / 3)), 2.0**-140, -(2.0**120))
BETAS = (0, 1, -1, 0.25, float(np.float32(0.7)), 1e-300)
F32 = float_reader(FLOATS["f32"])


def bits(array: Any) -> Any:
    return array.view(f"u{array.itemsize}")


def floats(draws: Any, shape: Any, dtype: Any, *, special: bool) -> Any:
    """Numbers of many sizes, those of products among them."""
    found = draws.standard_normal(shape) * 2.0 ** draws.choice(
        [-140, -20, -3, 0, 3, 20, 120], shape
    )
    if special:
        found[draws.random(shape) < 0.1] = draws.choice([np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        return found.astype(dtype)


def cases(seed: int, *, special: bool, scales: Any = FINITE) -> Any:
    """Both operands, and what is given beside them."""
    draws = np.random.default_rng(seed)
    for number, (alpha, beta) in enumerate(itertools.product(ALPHAS, BETAS)):
        name, width = FORMATS[number % len(FORMATS)], (1, 16, 37, 64)[number % 4]
        one, other = scales[number % len(scales)], FINITE[-number % len(FINITE)]
        a = drawn_blocks(name, (3, width), draws, one, special, 8)
        b = drawn_blocks(name, (5, width), draws, other, special, 8)
        dtype = (np.float32, np.float64, SOURCES["bf16"])[number % 3]
        c = floats(draws, (3, 5), dtype, special=special)
        bias = floats(draws, 5, dtype, special=special) if number % 2 else None
        yield a, b, {"alpha": alpha, "beta": beta, "c": c, "bias": bias}


def number(value: Any) -> Any:
    reader = float_reader(FLOATS["f64"])
    return reader(int(np.float64(value).view(np.uint64)))


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("source", SOURCES)
def test_exact_epilogues_equal_the_slow_twin(source: str, special: bool) -> None:
    for a, b, more in cases(len(source) + special, special=special, scales=(*FINITE, *SPECIAL)):
        found = bits(mxref.matmul(a, b.T, SOURCES[source], **more))
        factors = Fraction(more["alpha"]), Fraction(more["beta"])
        want = [
            [
                exact_epilogue(exact_dot(x, y), *factors, number(c), number(bias), target=source)
                for y, c, bias in zip(slow_rows(b), row, bias_of(more), strict=True)
            ]
            for x, row in zip(slow_rows(a), more["c"], strict=True)
        ]
        assert found.tolist() == want, more


def bias_of(more: Any) -> Any:
    return np.zeros(5) if more["bias"] is None else more["bias"]


@pytest.mark.parametrize("how", EPILOGUES)
@pytest.mark.parametrize("source", ["f32", "bf16", "f64"])
def test_steps_of_float32_equal_the_slow_twin(source: str, how: str) -> None:
    for special in (False, True):
        for a, b, more in list(cases(7, special=special))[special::2]:
            sums = bits(mxref.matmul(a, b.T, accumulation="sequential"))
            found = mxref.matmul(
                a, b.T, SOURCES[source], accumulation="sequential", epilogue=how, **more
            )
            factors = Fraction(more["alpha"]), Fraction(more["beta"])
            want = [
                [
                    stepped_epilogue(total, *factors, number(c), number(bias), how, source)
                    for total, c, bias in zip(some, row, bias_of(more), strict=True)
                ]
                for some, row in zip(sums.tolist(), more["c"], strict=True)
            ]
            assert bits(found).tolist() == want, more
            if how != "rounded":
                bounds = mxref.matmul_bounds(a, b.T, SOURCES[source], **more)
                assert bounds.hold(found).all(), more


def test_bounds_are_tight_where_every_order_is_exact() -> None:
    """Then they are what the three ways of float32 give of one sum."""
    a = mxref.quantize(np.float32([[1, 2, -3], [4, 0.5, 1]]), "mxfp8_e4m3", axis=1)
    more: Any = {"alpha": -0.3, "beta": 0.7, "c": np.float32([[1, 2], [1e-3, 4]]), "bias": [1, 1e8]}
    ends = mxref.matmul_bounds(a, a.T, **more)
    every = [
        mxref.matmul(a, a.T, accumulation="pairwise", epilogue=how, **more)
        for how in ("source_first", "sum_first", "separate")
    ]
    assert np.array_equal(ends.lo, np.min(every, axis=0))
    assert np.array_equal(ends.hi, np.max(every, axis=0))
    assert np.array_equal(ends.overflow, ends.lo)


def test_sums_that_overflow_meet_infinities() -> None:
    """Of products that are beyond float32 in both directions no order is certain."""
    big = np.float32(2.0**100)
    a = mxref.quantize(np.float32([[big, big]]), "mxfp8_e4m3", axis=1)
    b = mxref.quantize(np.float32([[big, -big]]), "mxfp8_e4m3", axis=1)
    ends = mxref.matmul_bounds(a, b.T, bias=[np.inf])
    assert ends.hold(np.float32([[np.inf]])).all()
    assert ends.hold(np.float32([[np.nan]])).all()
    assert not ends.hold(np.float32([[0]])).any()
    assert mxref.matmul(a, b.T, bias=[np.inf]) == np.inf


def test_beta_zero_does_not_read_c() -> None:
    """As BLAS has it."""
    a = mxref.quantize(np.ones((2, 4), np.float32), "mxfp4_e2m1", axis=1)
    nan = np.full((2, 2), np.nan, np.float32)
    assert (mxref.matmul(a, a.T, beta=0, c=nan) == 4).all()
    assert np.isnan(mxref.matmul(a, a.T, c=nan)).all()
    how: Any = "by_block"
    assert (mxref.matmul(a, a.T, beta=0, c=nan, accumulation=how) == 4).all()


def test_n52_there_is_one_rounding() -> None:
    """By hand, in bfloat16: 5 + 2**-7 times 3/4 is just above 3.7539, a tie of 3.75 and 3.7656."""
    a = mxref.quantize(np.float32([[1, 1]]), "mxfp8_e4m3", axis=1)
    b = mxref.quantize(np.float32([[5, 2.0**-7]]), "mxfp8_e5m2", axis=1)
    more: Any = {"dtype": SOURCES["bf16"], "alpha": 0.75, "bias": [2.0**-9]}
    # 3.755859375 + 0.001953125 = 3.7578125 is the tie, and 3.75 is even; a bit more is above it.
    assert mxref.matmul(a, b.T, **more) == 3.75
    assert mxref.matmul(a, b.T, **(more | {"bias": [2.0**-9 + 2.0**-40]})) == 3.765625
    # Of the rounded sum, 5, alpha makes 3.75, which the bias does not change.
    how: Any = {"accumulation": "sequential", "epilogue": "rounded", "bias": [2.0**-9 + 2.0**-40]}
    assert mxref.matmul(a, b.T, **(more | how)) == 3.75


def test_parts_threads_and_vectors() -> None:
    """The rows of a thread have their own C; a row and a column have their own shapes."""
    draws = np.random.default_rng(3)
    x, w = draws.standard_normal((150, 40)), draws.standard_normal((140, 40))
    a, b = (mxref.quantize(np.float32(one), "mxfp8_e4m3", axis=1) for one in (x, w))
    c, bias = np.float32(draws.standard_normal((150, 140))), np.float32(draws.standard_normal(140))
    more: Any = {"alpha": 0.5, "beta": 2, "c": c, "bias": bias}
    whole = mxref.matmul(a, b.T, **more)
    assert np.array_equal(mxref.matmul(a, b.T, threads=4, **more), whole)
    row = mxref.quantize(np.float32(x[149]), "mxfp8_e4m3")
    assert np.array_equal(mxref.matmul(row, b.T, **(more | {"c": c[149]})), whole[149])
    column = mxref.quantize(np.float32(w[9]), "mxfp8_e4m3")
    found = mxref.matmul(a, column, **(more | {"c": c[:, 9], "bias": bias[9]}))
    assert np.array_equal(found, whole[:, 9])
    one = mxref.matmul(row, column, **(more | {"c": c[149, 9], "bias": bias[9]}))
    assert one.shape == ()
    assert one == whole[149, 9]
