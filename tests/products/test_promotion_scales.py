"""Sums that are promoted with scales of their blocks, against the twin and by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from plain_rows import drawn, words

from mxref import ADDERS, mma
from mxref.exact.adder_steps import UNITS, multiplied

E4M3 = ml_dtypes.float8_e4m3fn
SCALINGS = ("product_fma", "in_turn_fma", "in_turn")
#: Patterns of float32 that scales may have: any near 1, ends, zeros, Inf and NaN.
ODD = (0, 1 << 31, 1, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xBF800000)


def some_scales(state: np.random.Generator, shape: tuple[int, int], *, odd: bool) -> Any:
    found = np.ldexp(1 + state.random(shape), state.integers(-12, 12, shape)).astype(np.float32)
    if odd:
        strange = state.choice(np.array(ODD, np.uint32), shape).view(np.float32)
        found = np.where(state.random(shape) < 0.3, strange, found)
    return found


def twin(a: Any, b: Any, c: Any, unit: Any, scales: tuple[Any, Any]) -> Any:
    sa, sb = (one.view(np.uint32) for one in scales)
    return np.array(
        [
            [
                multiplied(
                    words(a)[i].tolist(),
                    words(b)[:, j].tolist(),
                    int(c.view(np.uint32)[i, j]),
                    "e4m3",
                    "e4m3",
                    unit,
                    (sa[i].tolist(), sb[:, j].tolist()),
                )
                for j in range(b.shape[1])
            ]
            for i in range(a.shape[0])
        ],
        np.uint32,
    ).view(np.float32)


def same(x: Any, y: Any) -> bool:
    both = np.isnan(x) & np.isnan(y)
    return bool((both | (x.view(np.uint32) == y.view(np.uint32))).all())


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("k", [1, 64, 100, 250])
def test_every_way_is_the_twins(k: int, scaling: str, odd: bool) -> None:
    """Promotions of 64 products: whole parts, and a short last one."""
    state = np.random.default_rng([k, SCALINGS.index(scaling), odd])
    adder = dataclasses.replace(ADDERS["hopper_fp8"], promotion=64, scaling=scaling)
    unit = UNITS["hopper_fp8"]._replace(promotion=64, scaled=scaling)
    parts = -(-k // 64)
    a, b = drawn(state, "e4m3", (12, k)), drawn(state, "e4m3", (9, k)).T
    c = some_scales(state, (12, 9), odd=odd) * np.float32(-1)
    scales = some_scales(state, (12, parts), odd=odd), some_scales(state, (parts, 9), odd=odd)
    assert same(mma(a, b, c, adder=adder, scales=scales), twin(a, b, c, unit, scales))


@pytest.mark.parametrize("name", ["deepgemm_fp8", "deepseek_v3_fp8"])
def test_the_kernels_are_the_twins(name: str) -> None:
    state = np.random.default_rng([*name.encode()])
    a, b = drawn(state, "e4m3", (6, 300)), drawn(state, "e4m3", (5, 300)).T
    scales = some_scales(state, (6, 3), odd=False), some_scales(state, (3, 5), odd=False)
    c = np.zeros((6, 5), np.float32)
    found = mma(a, b, adder=name, scales=scales)
    assert same(found, twin(a, b, c, name, scales))
    many = mma(a, b, adder=name, scales=scales, threads=2)
    assert same(found, many)


def test_by_hand() -> None:
    """A sum of 3 under the float32 numbers nearest to 1/3 and 5/3; 3 times 1/3 is rounded to 1."""
    third, more = np.float32(1) / np.float32(3), np.float32(5) / np.float32(3)
    a, b = np.array([[3]], E4M3), np.array([[1]], E4M3)
    scales = np.array([[third]]), np.array([[more]])
    adder = dataclasses.replace(ADDERS["hopper_fp8"], promotion=32)
    got = {
        how: mma(
            a, b, np.float32([[-1.5]]), adder=dataclasses.replace(adder, scaling=how), scales=scales
        ).item()
        for how in SCALINGS
    }
    product = float(np.float32(float(third) * float(more)))
    assert got["product_fma"] == float(np.float32(product * 3 - 1.5))
    assert got["in_turn_fma"] == got["in_turn"] == float(more) - 1.5
    assert got["product_fma"] != got["in_turn"]
    # Under 5/3 twice the product of both is rounded once more where it is not fused.
    scales = np.array([[more]]), np.array([[more]])
    fused, apart = (
        mma(
            a, b, np.float32([[-8]]), adder=dataclasses.replace(adder, scaling=how), scales=scales
        ).item()
        for how in SCALINGS[1:]
    )
    five = float(np.float32(3 * float(more)))
    assert fused == float(np.float32(five * float(more) - 8))
    assert apart == float(np.float32(float(np.float32(five * float(more))) - 8))
    assert fused != apart


def test_a_negative_sum_that_underflows_is_minus_zero() -> None:
    tiny = np.array([[2.0**-149]], np.float32)
    a, b = np.array([[-1]], E4M3), np.array([[2.0**-9]], E4M3)
    found = mma(a, b, adder="deepgemm_fp8", scales=(tiny, np.ones((1, 1), np.float32)))
    assert found.view(np.uint32).item() == 0x80000000
