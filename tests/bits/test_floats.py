"""Floats as integers: every bit trick against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence
from hypothesis import given
from hypothesis import strategies as st
from refused import assert_says, refusals

from mxref.bits import floats, keys
from mxref.bits.floats import BF16, F16, F32, F64, LAYOUTS, FloatLayout, Parts, compose, split
from mxref.policy.choices import Rounding

KNOWN = "float64, float32, float16 or bfloat16"


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def log2_floor(x: Fraction) -> int:
    """floor(log2 x) of a dyadic fraction above zero."""
    return x.numerator.bit_length() - x.denominator.bit_length()


def ieee_value(magnitude: int, layout: FloatLayout) -> Fraction:
    """The value of a finite IEEE 754 magnitude pattern."""
    bias = 2 ** (layout.exponent_bits - 1) - 1
    exponent, fraction = divmod(magnitude, 2**layout.mantissa_bits)
    if exponent:
        return power(exponent - bias) * (1 + Fraction(fraction, 2**layout.mantissa_bits))
    return power(1 - bias) * Fraction(fraction, 2**layout.mantissa_bits)


# Layouts.


@pytest.mark.parametrize(
    ("layout", "width", "bias", "emin", "sign", "inf", "nan", "dtype"),
    [
        (F16, 16, 15, -14, 0x8000, 0x7C00, 0x7E00, np.float16),
        (BF16, 16, 127, -126, 0x8000, 0x7F80, 0x7FC0, ml_dtypes.bfloat16),
        (F32, 32, 127, -126, 0x80000000, 0x7F800000, 0x7FC00000, np.float32),
        (F64, 64, 1023, -1022, 1 << 63, 0x7FF << 52, 0xFFF << 51, np.float64),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_layouts(
    layout: FloatLayout, width: int, bias: int, emin: int, sign: int, inf: int, nan: int, dtype: Any
) -> None:
    assert (layout.width, layout.bias, layout.emin) == (width, bias, emin)
    assert (layout.sign_bit, layout.inf_bits, layout.nan_bits) == (sign, inf, nan)
    assert (layout.dtype, layout.uint.itemsize * 8) == (np.dtype(dtype), width)
    assert LAYOUTS[layout.name] is floats.layout_of(dtype) is layout
    values = floats.floats_from(np.array([bias << layout.mantissa_bits, inf | sign]), layout)
    assert (values.dtype, values.tolist()) == (layout.dtype, [1.0, -math.inf])


# Bit patterns of arrays.

PATTERNS = [0x3F800000, 0xC0490FDB, 0x00000001, 0x80000000, 0x7F800001, 0xFF800000]
SAMPLE = np.array(PATTERNS, np.uint32).view(np.float32)
SAMPLE.flags.writeable = False
SWAPPED = SAMPLE.byteswap().view(">f4")


@pytest.mark.parametrize(
    ("values", "shape", "expected"),
    [
        (SAMPLE, (6,), PATTERNS),
        (SWAPPED, (6,), PATTERNS),
        (SAMPLE[5:0:-2], (3,), PATTERNS[5:0:-2]),
        (SWAPPED[::-3], (2,), PATTERNS[::-3]),
        (SAMPLE.reshape(3, 2).T, (2, 3), [PATTERNS[i] for i in (0, 2, 4, 1, 3, 5)]),
        (np.broadcast_to(SAMPLE[:1], (2, 2)), (2, 2), PATTERNS[:1] * 4),
        (SAMPLE[1], (), PATTERNS[1:2]),
        (SWAPPED[1:2].reshape(()), (), PATTERNS[1:2]),
        (np.zeros((3, 0), np.float32), (3, 0), []),
    ],
)
def test_bits_of_float32(values: np.ndarray, shape: tuple[int, ...], expected: list[int]) -> None:
    bits, layout = floats.bits_of(values)
    assert layout is F32
    assert bits.dtype == np.uint32
    assert bits.dtype.isnative
    assert (bits.shape, bits.ravel().tolist()) == (shape, expected)


@pytest.mark.parametrize(
    ("values", "layout", "shape", "expected"),
    [
        (np.uint16([0x3F80, 0xFFC1]).view(ml_dtypes.bfloat16), BF16, (2,), [0x3F80, 0xFFC1]),
        (np.uint16([0x3C00, 0xFE01]).view("<f2"), F16, (2,), [0x3C00, 0xFE01]),
        (np.uint16([0x003C, 0x01FE]).view(">f2"), F16, (2,), [0x3C00, 0xFE01]),
        (np.array([0xF03F], np.uint64).view(">f8"), F64, (1,), [0x3FF0 << 48]),
        # Numbers of Python are float64.
        (1.0, F64, (), [0x3FF0 << 48]),
        ([-0.0, 0.1], F64, (2,), [0x8000000000000000, 0x3FB999999999999A]),
        ([[1], [2.0]], F64, (2, 1), [0x3FF0 << 48, 0x4000 << 48]),
        ([], F64, (0,), []),
    ],
)
def test_bits_of_other_types(
    values: Any, layout: FloatLayout, shape: tuple[int, ...], expected: list[int]
) -> None:
    bits, found = floats.bits_of(values)
    assert found is layout
    assert (bits.dtype, bits.shape) == (layout.uint, shape)
    assert bits.ravel().tolist() == expected


@pytest.mark.parametrize(("call", "kind", "text"), refusals("bits"))
def test_what_is_no_float(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)


@pytest.mark.skipif(np.longdouble().itemsize <= 8, reason="there it is float64")
def test_bits_of_longdouble() -> None:
    text = sentence(TypeError, lambda: floats.bits_of(np.zeros(1, np.longdouble)))
    assert text == f"values dtype must be {KNOWN}, got {np.dtype(np.longdouble).name}"


# Integer parts.


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout", [F16, BF16], ids=lambda x: x.name)
def test_split_of_every_16_bit_pattern(layout: FloatLayout) -> None:
    parts = split(np.arange(1 << 16, dtype=np.uint16), layout)
    for bits in range(1 << 16):
        negative, magnitude = divmod(bits, 1 << 15)
        assert bool(parts.negative[bits]) == bool(negative)
        assert bool(parts.is_inf[bits]) == (magnitude == layout.inf_bits)
        assert bool(parts.is_nan[bits]) == (magnitude > layout.inf_bits)
        subnormal = 0 < magnitude < 1 << layout.mantissa_bits
        assert bool(parts.is_subnormal[bits]) == subnormal
        if magnitude < layout.inf_bits:
            value = int(parts.significand[bits]) * power(int(parts.exponent[bits]))
            assert value == ieee_value(magnitude, layout)


def composed(bits: int, layout: FloatLayout) -> int:
    """The pattern, or the one NaN with its sign."""
    is_nan = bits % layout.sign_bit > layout.inf_bits
    return bits & layout.sign_bit | layout.nan_bits if is_nan else bits


@pytest.mark.parametrize("layout", [F16, BF16], ids=lambda x: x.name)
def test_compose_of_split_is_the_pattern(layout: FloatLayout) -> None:
    back = compose(split(np.arange(1 << 16, dtype=np.uint16), layout), layout)
    assert back.dtype == np.uint16
    assert back.tolist() == [composed(bits, layout) for bits in range(1 << 16)]


@pytest.mark.sampled(3)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_compose_of_split_is_the_pattern_for_wide_floats(patterns: list[int]) -> None:
    for layout in (F32, F64):
        bits = np.array([p % (1 << layout.width) for p in patterns], layout.uint)
        want = [composed(b, layout) for b in bits.tolist()]
        assert compose(split(bits, layout), layout).tolist() == want


def nearest(x: Fraction, layout: FloatLayout) -> Fraction | float:
    """A non-negative number to the nearest float, ties to even, by Python's `round`."""
    if x == 0:
        return x
    quantum = power(max(log2_floor(x), layout.emin) - layout.mantissa_bits)
    result = round(x / quantum) * quantum
    return math.inf if result >= power(layout.bias + 1) else result


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda x: x.name)
def test_compose_rounds_once_to_nearest_even(layout: FloatLayout) -> None:
    """Floats, ties and what lies beside them, at both ends of the exponents and far beyond."""
    m = layout.mantissa_bits
    wholes = {
        n + step for n in (0, 2, 1 << m, 2 << m) for step in (-2, -1, 0, 1, 2) if n + step > 0
    }
    rests = {0: {0}} | {d: {0, 1, half := 1 << d - 1, half - 1, half + 1} for d in (2, 5, 40)}
    numbers = {whole << d | rest for whole in wholes for d in rests for rest in rests[d]}
    numbers = {n for n in numbers if n < 2**53} | {0, 2**53 - 1, 2**52 + 1}
    places = [layout.emin - m, layout.bias - m, 0, layout.bias, 2 * layout.bias, 5000]
    exponents = {e - d + step for e in places for d in (0, 2, 5, 40) for step in (-2, -1, 0, 1, 2)}
    n, e = np.array([(n, e) for n in sorted(numbers) for e in sorted(exponents)]).T
    for negative in (False, True):
        parts = Parts.finite(np.full(n.shape, negative), n, e)
        got = compose(parts, layout).tolist()
        for i, pattern in enumerate(got):
            magnitude = pattern - negative * layout.sign_bit
            value = math.inf if magnitude == layout.inf_bits else ieee_value(magnitude, layout)
            assert value == nearest(int(n[i]) * power(int(e[i])), layout), (n[i], e[i])


def test_compose_of_infinity_and_nan() -> None:
    signs = np.array([False, True, False, True])
    some = np.array([5, 5, 5, 5])
    inf, no = np.array([True, True, False, False]), np.zeros(4, bool)
    parts = Parts(signs, some, some, inf, ~inf, no)
    assert compose(parts, F16).tolist() == [0x7C00, 0xFC00, 0x7E00, 0xFE00]


def test_finite_parts_are_nothing_else() -> None:
    parts = Parts.finite(np.array([[True, False]]), np.array([[3, 0]]), np.array([[-1, 5]]))
    for flags in (parts.is_inf, parts.is_nan, parts.is_subnormal):
        assert (flags.shape, flags.dtype, flags.any()) == ((1, 2), np.bool_, False)


def test_floor_log2_around_every_power_of_two() -> None:
    numbers = sorted({2**k + d for k in range(54) for d in (-1, 0, 1) if 0 <= 2**k + d < 2**53})
    got = floats.floor_log2(np.array(numbers))
    assert got.dtype == np.int64
    assert got.tolist() == [max(n.bit_length() - 1, 0) for n in numbers]
    assert floats.floor_log2(np.array(8)) == 3


# Rounding to odd, and codes.


@pytest.mark.parametrize("drop", range(1, 8))
def test_an_odd_key_is_the_number_rounded_to_odd(drop: int) -> None:
    halves = [divmod(bits, 1 << drop) for bits in range(1 << 12)]
    want = [kept | (dropped != 0) for kept, dropped in halves]
    assert floats.to_odd(np.arange(1 << 12, dtype=np.uint16), drop).tolist() == want


def test_halves_are_those_of_numbers_rounded_to_odd() -> None:
    upper, lower = np.arange(1 << 16), np.array([0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFF])
    bits = (upper[:, np.newaxis] << 16 | lower).astype(np.uint32)
    top, rest = np.empty((2, *bits.shape), np.uint16)
    keys.halves(bits, np.empty_like(bits), top, rest)
    assert (top == upper[:, np.newaxis]).all()
    for drop, key in ((16, top | rest), (15, 2 * top.astype(int) | rest)):
        kept, dropped = np.divmod(bits.astype(int), 1 << drop)
        assert (key == kept | (dropped != 0)).all()


@pytest.mark.parametrize(
    ("bits", "drop", "key"),
    [
        (0x3FF0000000000001, 47, 0x7FE1),
        (0x3FF0000000000000, 47, 0x7FE0),
        (0xFFFFFFFFFFFFFFFF, 47, 0x1FFFF),
        (0x8000000000000001, 47, 0x10001),
        (0x3FF0000000000001, 0, 0x3FF0000000000001),
    ],
)
def test_odd_keys_of_float64(bits: int, drop: int, key: int) -> None:
    assert floats.to_odd(np.array([bits], np.uint64), drop).tolist() == [key]


def test_a_shift_of_more_than_62_bits_still_leaves_a_sticky_bit() -> None:
    numbers, exponents = np.array([1, 2**53 - 1]), np.array([-2000, -2000])
    for rounding, want in (("toward_positive", [1, 1]), ("ties_to_even", [0, 0])):
        increments = Rounding(rounding).increments()
        positive = np.array([False, False])
        got = floats.round_to_code(numbers, exponents, positive, 3, -6, increments)
        assert got.tolist() == want


def test_codes_of_a_format_without_subnormals_start_at_its_smallest_number() -> None:
    # Powers of two from 2**-3 on, as in E8M0: below them the codes are negative.
    numbers, exponents = np.array([1, 1, 3, 1, 1]), np.array([-3, -2, -2, 0, -4])
    increments, positive = Rounding.TOWARD_ZERO.increments(), np.zeros(5, bool)
    got = floats.round_to_code(numbers, exponents, positive, 0, -3, increments, first_code=1)
    assert got.tolist() == [0, 1, 2, 3, -1]


def goes_up(variant: str, nu: Fraction, width: int, r: int) -> bool:
    """The definitions of P3109, on the part that is cut off as a fraction of a unit."""
    if variant == "a":
        return math.floor(nu * 2**width) + r >= 2**width
    if variant == "b":
        return math.floor(nu * 2 ** (width + 1)) + 2 * r + 1 >= 2 ** (width + 1)
    return round(nu * 2**width) + r >= 2**width


@pytest.mark.parametrize("variant", ["a", "b", "c"])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 24, 31, 32])
def test_random_bits_of_any_width_beside_any_number(width: int, variant: str) -> None:
    """Codes of a target with 3 fraction bits from 2**-6 on, of numbers small and large."""
    m, emin, top = 3, -6, (1 << width) - 1
    numbers = [(n, e) for n in range(65) for e in range(-16, -8)]
    numbers += [
        (n, e)
        for n in (2**31 + 1, 2**32 - 1, 2**52, 2**52 + 1, 2**53 - 1)
        for e in (-90, -70, -62, -61, -56, -53, -52, -40, -33, -9, 0, 2)
    ]
    draws = range(top + 1) if top < 32 else (0, 1, top >> 1, top - 1, top)
    cases = [(n, e, r) for n, e in numbers for r in draws]
    n, e, r = np.array(cases).T
    draw = floats.Stochastic(variant, r, width)
    codes = floats.round_to_code(n, e, np.zeros(len(n), bool), m, emin, draw).tolist()
    for (significand, exponent, bits), code in zip(cases, codes, strict=True):
        x = significand * power(exponent)
        # Codes count the multiples of their unit in the last place.
        k = max(log2_floor(x), emin) if x else emin
        units = x / power(k - m)
        low = math.floor(units)
        up = goes_up(variant, units - low, width, bits)
        assert code == (k - emin) * 8 + low + up, (significand, exponent, bits)
