"""Floats as integers: every bit trick against exact fractions."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence
from hypothesis import given
from hypothesis import strategies as st

from mxref.bits.floats import (
    BF16,
    F16,
    F32,
    F64,
    LAYOUTS,
    FloatLayout,
    Parts,
    Stochastic,
    bits_of,
    compose,
    floats_from,
    floor_log2,
    layout_of,
    round_to_code,
    split,
    to_odd,
)
from mxref.policy.choices import Rounding

SMALL = FloatLayout("small", 4, 7)  # bias 7, emin -6: 12 bits, few enough to try all of them
SMALL_BIAS, SMALL_EMIN = 7, -6

KNOWN = "float64, float32, float16 or bfloat16"


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def log2_floor(x: Fraction) -> int:
    """floor(log2 x) of a dyadic fraction above zero."""
    return x.numerator.bit_length() - x.denominator.bit_length()


def ieee_value(magnitude: int, exponent_bits: int, mantissa_bits: int) -> Fraction:
    """The value of a finite IEEE 754 magnitude pattern."""
    bias = 2 ** (exponent_bits - 1) - 1
    exponent, fraction = divmod(magnitude, 2**mantissa_bits)
    if exponent:
        return power(exponent - bias) * (1 + Fraction(fraction, 2**mantissa_bits))
    return power(1 - bias) * Fraction(fraction, 2**mantissa_bits)


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
    assert LAYOUTS[layout.name] is layout
    assert layout_of(dtype) is layout


@pytest.mark.parametrize(("layout", "dtype"), [(SMALL, "u2"), (FloatLayout("key", 8, 8), "u4")])
def test_dtype_of_an_odd_width(layout: FloatLayout, dtype: str) -> None:
    assert layout.uint == np.dtype(dtype)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(">f8", "f64"), ("<f4", "f32"), (">f4", "f32"), (">f2", "f16"), (float, "f64")],
)
def test_layout_of_any_byte_order(dtype: Any, name: str) -> None:
    assert layout_of(dtype) is LAYOUTS[name]


@pytest.mark.parametrize(
    ("dtype", "shown"),
    [
        (np.int32, "int32"),
        (bool, "bool"),
        (np.complex64, "complex64"),
        (ml_dtypes.float8_e4m3fn, "float8_e4m3fn"),
        ("no such", "'no such'"),
        (3, "3"),
        (None, "None"),  # which NumPy reads as float64
    ],
)
def test_layout_of_another_type(dtype: Any, shown: str) -> None:
    assert sentence(TypeError, lambda: layout_of(dtype)) == f"dtype must be {KNOWN}, got {shown}"
    assert sentence(TypeError, lambda: layout_of(dtype, "out")) == (
        f"out must be {KNOWN}, got {shown}"
    )


# Bit patterns of arrays.

PATTERNS = [0x3F800000, 0xC0490FDB, 0x00000001, 0x80000000, 0x7F800001, 0xFF800000]


def sample() -> np.ndarray:
    return np.array(PATTERNS, np.uint32).view(np.float32)


@pytest.mark.parametrize(
    ("values", "shape", "expected"),
    [
        (sample(), (6,), PATTERNS),
        (sample().byteswap().view(">f4"), (6,), PATTERNS),
        (sample()[::-1], (6,), PATTERNS[::-1]),
        (sample()[1::2], (3,), PATTERNS[1::2]),
        (sample()[5:0:-2], (3,), PATTERNS[5:0:-2]),
        (sample().byteswap().view(">f4")[::-3], (2,), PATTERNS[::-3]),
        (sample().reshape(2, 3), (2, 3), PATTERNS),
        (np.asfortranarray(sample().reshape(2, 3)), (2, 3), PATTERNS),
        (sample().reshape(3, 2).T, (2, 3), [PATTERNS[i] for i in (0, 2, 4, 1, 3, 5)]),
        (np.broadcast_to(sample()[:1], (2, 2)), (2, 2), PATTERNS[:1] * 4),
        (sample()[1], (), PATTERNS[1:2]),
        (sample()[1:2].reshape(()), (), PATTERNS[1:2]),
        (sample()[1:2].byteswap().view(">f4").reshape(()), (), PATTERNS[1:2]),
        (sample()[:0], (0,), []),
        (np.zeros((3, 0), np.float32), (3, 0), []),
    ],
)
def test_bits_of_float32(values: np.ndarray, shape: tuple[int, ...], expected: list[int]) -> None:
    bits, layout = bits_of(values)
    assert layout is F32
    assert bits.dtype == np.uint32
    assert bits.dtype.isnative
    assert bits.shape == shape
    assert bits.ravel().tolist() == expected


@pytest.mark.parametrize("byte_order", ["<", ">"])
@pytest.mark.parametrize(
    ("kind", "layout", "patterns"),
    [
        ("f2", F16, [0x3C00, 0x0001, 0xFE01]),
        ("f8", F64, [0x3FF0000000000000, 0x0000000000000001, 0xFFF0000000000001]),
    ],
)
def test_bits_of_either_byte_order(
    byte_order: str, kind: str, layout: FloatLayout, patterns: list[int]
) -> None:
    raw = b"".join(
        p.to_bytes(int(kind[1]), "big" if byte_order == ">" else "little") for p in patterns
    )
    bits, found = bits_of(np.frombuffer(raw, byte_order + kind))
    assert found is layout
    assert bits.tolist() == patterns


def test_bits_of_bfloat16() -> None:
    bits, layout = bits_of(np.array([0x3F80, 0xFFC1], np.uint16).view(ml_dtypes.bfloat16))
    assert layout is BF16
    assert (bits.tolist(), bits.dtype) == ([0x3F80, 0xFFC1], np.uint16)


@pytest.mark.parametrize(
    ("values", "shape", "expected"),
    [
        (1.0, (), [0x3FF0000000000000]),
        ([-0.0, 0.1], (2,), [0x8000000000000000, 0x3FB999999999999A]),
        ([[1.0], [2.0]], (2, 1), [0x3FF0000000000000, 0x4000000000000000]),
        ((1, 2.0), (2,), [0x3FF0000000000000, 0x4000000000000000]),
        ([], (0,), []),
    ],
)
def test_python_floats_are_float64(
    values: Any, shape: tuple[int, ...], expected: list[int]
) -> None:
    bits, layout = bits_of(values)
    assert layout is F64
    assert (bits.shape, bits.ravel().tolist()) == (shape, expected)


def test_bits_of_a_read_only_array() -> None:
    values = sample()
    values.flags.writeable = False
    assert bits_of(values)[0].tolist() == PATTERNS


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            1,
            f"values must be {KNOWN}, got int64: "
            "convert explicitly, for example values.astype(numpy.float32)",
        ),
        (
            np.zeros(2, np.uint8),
            f"values must be {KNOWN}, got uint8: "
            "convert explicitly, for example values.astype(numpy.float32)",
        ),
        (
            [True, False],
            f"values must be {KNOWN}, got bool: "
            "convert explicitly, for example values.astype(numpy.float32)",
        ),
        (
            np.array([1.0, 2.0], object),
            f"values must be {KNOWN}, got object: "
            "convert explicitly, for example values.astype(numpy.float32)",
        ),
        (
            None,
            f"values must be {KNOWN}, got object: "
            "convert explicitly, for example values.astype(numpy.float32)",
        ),
        (1 + 2j, f"values dtype must be {KNOWN}, got complex128"),
        ("1.0", f"values dtype must be {KNOWN}, got <U3"),
        (np.array([b"x"]), f"values dtype must be {KNOWN}, got |S1"),
        (np.zeros(1, "M8[s]"), f"values dtype must be {KNOWN}, got datetime64[s]"),
        (np.zeros(1, ml_dtypes.float8_e5m2), f"values dtype must be {KNOWN}, got float8_e5m2"),
        (
            np.ma.masked_less(np.float32([1.0, -1.0]), 0),
            "values must not be masked: use .filled(...) to say what masked means",
        ),
        (np.ma.masked, "values must not be masked: use .filled(...) to say what masked means"),
    ],
    ids=repr,
)
def test_bits_of_what_is_no_float(values: Any, text: str) -> None:
    assert sentence(TypeError, lambda: bits_of(values)) == text


def test_the_refusal_names_the_parameter() -> None:
    assert sentence(TypeError, lambda: bits_of([1], "amax")) == (
        f"amax must be {KNOWN}, got int64: "
        "convert explicitly, for example amax.astype(numpy.float32)"
    )


def test_bits_of_a_ragged_list() -> None:
    text = sentence(TypeError, lambda: bits_of([[1.0, 2.0], [3.0]]))
    assert text.startswith("values must be a rectangular array of floats: ")


@pytest.mark.skipif(np.longdouble().itemsize == 8, reason="longdouble is float64 on this machine")
def test_bits_of_longdouble() -> None:
    name = np.dtype(np.longdouble).name
    assert sentence(TypeError, lambda: bits_of(np.zeros(1, np.longdouble))) == (
        f"values dtype must be {KNOWN}, got {name}"
    )


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
    # The exact value of every finite magnitude; 0 included.
    for magnitude in range(layout.inf_bits):
        value = int(parts.significand[magnitude]) * power(int(parts.exponent[magnitude]))
        assert value == ieee_value(magnitude, layout.exponent_bits, layout.mantissa_bits)


@pytest.mark.parametrize("layout", [F16, BF16], ids=lambda x: x.name)
def test_compose_of_split_is_the_pattern(layout: FloatLayout) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    back = compose(split(bits, layout), layout)
    is_nan = bits % (1 << 15) > layout.inf_bits
    assert back.dtype == np.uint16
    assert back[~is_nan].tolist() == bits[~is_nan].tolist()
    # One NaN, with the sign of the pattern.
    assert set(back[: 1 << 15][is_nan[: 1 << 15]].tolist()) == {layout.nan_bits}
    assert set(back[1 << 15 :][is_nan[1 << 15 :]].tolist()) == {layout.nan_bits | layout.sign_bit}


@pytest.mark.sampled(3)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_compose_of_split_is_the_pattern_for_wide_floats(patterns: list[int]) -> None:
    for layout in (F32, F64):
        bits = np.array([p % (1 << layout.width) for p in patterns], layout.uint)
        want = [
            b & layout.sign_bit | layout.nan_bits if b % layout.sign_bit > layout.inf_bits else b
            for b in bits.tolist()
        ]
        assert compose(split(bits, layout), layout).tolist() == want


def parts_of_number(n: int, e: int, *, negative: bool = False) -> Parts:
    return Parts.finite(np.array([negative]), np.array([n]), np.array([e]))


def rounded(x: Fraction, layout: FloatLayout) -> Fraction | float:
    """A non-negative number to the nearest float, ties to even, by Python's `round`."""
    if x == 0:
        return x
    quantum = power(max(log2_floor(x), layout.emin) - layout.mantissa_bits)
    result = round(x / quantum) * quantum
    return math.inf if result >= power(layout.bias + 1) else result


@pytest.mark.parametrize(
    ("layout", "number", "pattern"),
    [
        (F16, 1 + power(-11), 0x3C00),  # a tie, to even
        (F16, 1 + 3 * power(-11), 0x3C02),  # a tie, to even
        (F16, 1 + power(-11) + power(-40), 0x3C01),
        (F16, 1 + power(-10) + power(-11) - power(-40), 0x3C01),
        (F16, 2 - power(-12), 0x4000),  # a carry into the exponent
        (F16, 65504 + Fraction(16) - power(-20), 0x7BFF),
        (F16, Fraction(65504 + 16), 0x7C00),  # halfway to 2**16
        (F16, power(200), 0x7C00),
        (F16, power(-25), 0x0000),
        (F16, power(-25) + power(-70), 0x0001),
        (F16, 3 * power(-25), 0x0002),
        (F16, power(-14) - power(-25), 0x0400),  # from the subnormals to the smallest normal
        (BF16, 1 + power(-8), 0x3F80),
        (BF16, 1 + power(-8) + power(-50), 0x3F81),
        (BF16, power(-134), 0x0000),
        (BF16, 3 * power(-134), 0x0002),
        (F32, 1 + power(-24), 0x3F800000),
        (F32, 1 + power(-24) + power(-52), 0x3F800001),
        (F32, power(-150), 0x00000000),
        (F32, power(-150) + power(-200), 0x00000001),
        (F32, power(128) - power(103), 0x7F800000),
        (F32, power(128) - power(103) - power(80), 0x7F7FFFFF),
        (F64, power(-1074), 0x0000000000000001),
        (F64, power(-1075), 0x0000000000000000),
        (F64, power(1024), 0x7FF0000000000000),
        # So far beyond the type that its codes, were there any, would not fit into 64 bits.
        (F64, power(1025), 0x7FF0000000000000),
        (F64, power(2046) + power(2040), 0x7FF0000000000000),
        (F64, power(5000), 0x7FF0000000000000),
        (F32, power(5000), 0x7F800000),
        (F16, power(5000), 0x7C00),
        (BF16, power(129), 0x7F80),
    ],
)
def test_compose_rounds_to_nearest_even(
    layout: FloatLayout, number: Fraction, pattern: int
) -> None:
    e = 1 - number.denominator.bit_length()
    n = number.numerator
    while n % 2 == 0 and n >= 2**53:
        n, e = n // 2, e + 1
    assert n * power(e) == number
    assert compose(parts_of_number(n, e), layout).tolist() == [pattern]
    negative = compose(parts_of_number(n, e, negative=True), layout)
    assert negative.tolist() == [pattern | layout.sign_bit]


@given(st.integers(0, 2**53 - 1), st.integers(-1100, 1100), st.sampled_from(list(LAYOUTS)))
def test_compose_of_any_number(n: int, e: int, name: str) -> None:
    layout = LAYOUTS[name]
    e = max(e, 4 * layout.emin)  # most of them where the layout has numbers
    got = int(compose(parts_of_number(n, e), layout)[0])
    want = rounded(n * power(e), layout)
    if want == math.inf:
        assert got == layout.inf_bits
    else:
        assert got < layout.inf_bits
        assert ieee_value(got, layout.exponent_bits, layout.mantissa_bits) == want


@given(st.integers(0, 0x7BFF), st.integers(0, 0x7BFF))
def test_compose_of_a_sum_of_two_float16(a: int, b: int) -> None:
    total = ieee_value(a, 5, 10) + ieee_value(b, 5, 10)
    n = int(total * power(24))  # in units of the smallest subnormal
    got = int(compose(parts_of_number(n, -24), F16)[0])
    want = rounded(total, F16)
    assert (math.inf if got == 0x7C00 else ieee_value(got, 5, 10)) == want


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
    assert compose(parts, F16).tolist() == [[0xBE00, 0x0000]]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=lambda x: x.name)
def test_floats_from_patterns(layout: FloatLayout) -> None:
    one = layout.bias << layout.mantissa_bits
    values = floats_from(np.array([one, one | layout.sign_bit, layout.inf_bits]), layout)
    assert values.dtype == layout.dtype
    assert values.astype(np.float64).tolist() == [1.0, -1.0, math.inf]


# floor(log2 n).


def test_floor_log2_around_every_power_of_two() -> None:
    numbers = sorted({2**k + d for k in range(54) for d in (-1, 0, 1) if 1 <= 2**k + d < 2**53})
    assert numbers[-1] == 2**53 - 1
    got = floor_log2(np.array(numbers))
    assert got.dtype == np.int64
    assert got.tolist() == [n.bit_length() - 1 for n in numbers]


def test_floor_log2_of_zero_and_of_a_scalar() -> None:
    assert floor_log2(np.array([0, 0, 5])).tolist() == [0, 0, 2]
    assert floor_log2(np.array(8)) == 3


# Rounding, and rounding to odd first.

TARGETS = [  # fraction bits and exponent of the smallest normal number
    (1, 0),
    (2, -2),
    (3, SMALL_EMIN + 1),
    (3, SMALL_EMIN),
    (2, SMALL_EMIN - 2),  # the source's subnormals are normal numbers of the target
    (0, -1),
]


@cache
def target_values(mantissa_bits: int, emin: int) -> list[Fraction]:
    """The numbers of a target from 0 past the largest number of SMALL, in the order of codes."""
    values: list[Fraction] = []
    while not values or values[-1] < power(SMALL_BIAS + 2):
        field, fraction = divmod(len(values), 2**mantissa_bits)
        part = Fraction(fraction, 2**mantissa_bits)
        values.append(power(emin) * part if field == 0 else power(emin + field - 1) * (1 + part))
    return values


def nearest(code: int, to_low: Fraction, to_high: Fraction, on_tie: int) -> int:
    return on_tie if to_low == to_high else code + (to_high < to_low)


def rounded_code(x: Fraction, rounding: Rounding, mantissa_bits: int, emin: int) -> int:
    """The magnitude code that a signed number rounds to, from the values themselves."""
    values = target_values(mantissa_bits, emin)
    low = bisect_right(values, abs(x)) - 1
    to_low, to_high = abs(x) - values[low], values[low + 1] - abs(x)
    if to_low == 0:
        return low
    high = low + 1
    even, odd = (low, high) if low % 2 == 0 else (high, low)
    return {
        Rounding.TIES_TO_EVEN: nearest(low, to_low, to_high, even),
        Rounding.TIES_TO_AWAY: nearest(low, to_low, to_high, high),
        Rounding.TIES_TO_ZERO: nearest(low, to_low, to_high, low),
        Rounding.TOWARD_ZERO: low,
        Rounding.TOWARD_POSITIVE: high if x > 0 else low,
        Rounding.TOWARD_NEGATIVE: low if x > 0 else high,
        Rounding.TO_ODD: odd,
    }[rounding]


def codes_from(
    bits: np.ndarray, layout: FloatLayout, rounding: Rounding, mantissa_bits: int, emin: int
) -> list[int]:
    parts = split(bits, layout)
    codes = round_to_code(
        parts.significand,
        parts.exponent,
        parts.negative,
        mantissa_bits,
        emin,
        rounding.increments(),
    )
    return codes.tolist()


def small_finite() -> np.ndarray:
    """Every finite pattern of SMALL."""
    bits = np.arange(1 << SMALL.width, dtype=np.uint16)
    return bits[bits % SMALL.sign_bit < SMALL.inf_bits]


@cache
def small_values() -> list[Fraction]:
    signs = [-1 if bits & SMALL.sign_bit else 1 for bits in small_finite().tolist()]
    magnitudes = [ieee_value(bits % SMALL.sign_bit, 4, 7) for bits in small_finite().tolist()]
    return [sign * value for sign, value in zip(signs, magnitudes, strict=True)]


def key_layout(keep: int) -> tuple[FloatLayout, int]:
    keep = min(keep, SMALL.mantissa_bits)
    return FloatLayout("key", SMALL.exponent_bits, keep), SMALL.mantissa_bits - keep


DETERMINISTIC = [rounding for rounding in Rounding if not rounding.stochastic]


def test_three_roundings_are_stochastic() -> None:
    names = {"stochastic_a", "stochastic_b", "stochastic_c"}
    assert {r.value for r in Rounding} - {r.value for r in DETERMINISTIC} == names
    assert len(DETERMINISTIC) == 7


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rounding", DETERMINISTIC, ids=lambda r: r.value)
@pytest.mark.parametrize(("mantissa_bits", "emin"), TARGETS)
def test_roundings_and_their_to_odd(mantissa_bits: int, emin: int, rounding: Rounding) -> None:
    bits = small_finite()
    want = [rounded_code(x, rounding, mantissa_bits, emin) for x in small_values()]
    assert codes_from(bits, SMALL, rounding, mantissa_bits, emin) == want
    short, drop = key_layout(mantissa_bits + 2 + max(0, SMALL_EMIN - emin))
    assert drop > 0
    assert codes_from(to_odd(bits, drop), short, rounding, mantissa_bits, emin) == want


@pytest.mark.parametrize("rounding", ["ties_to_even", "ties_to_away", "ties_to_zero"])
def test_an_odd_key_one_bit_shorter_is_not_enough(rounding: str) -> None:
    bits = small_finite()
    short, drop = key_layout(2 + 1)
    whole = codes_from(bits, SMALL, Rounding(rounding), 2, -2)
    assert codes_from(to_odd(bits, drop), short, Rounding(rounding), 2, -2) != whole


@pytest.mark.parametrize("drop", range(1, 8))
def test_an_odd_key_is_the_number_rounded_to_odd(drop: int) -> None:
    halves = [divmod(bits, 1 << drop) for bits in range(1 << SMALL.width)]
    want = [kept | (dropped != 0) for kept, dropped in halves]
    assert to_odd(np.arange(1 << SMALL.width, dtype=np.uint16), drop).tolist() == want


@pytest.mark.parametrize("drop", range(7))
def test_an_odd_key_keeps_infinity_and_nan(drop: int) -> None:
    short = FloatLayout("key", SMALL.exponent_bits, SMALL.mantissa_bits - drop)
    bits = np.arange(1 << SMALL.width, dtype=np.uint16)
    whole, key = split(bits, SMALL), split(to_odd(bits, drop), short)
    assert key.is_inf.tolist() == whole.is_inf.tolist()
    assert key.is_nan.tolist() == whole.is_nan.tolist()
    assert key.negative.tolist() == whole.negative.tolist()


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
    assert to_odd(np.array([bits], np.uint64), drop).tolist() == [key]


def test_a_shift_of_more_than_62_bits_still_leaves_a_sticky_bit() -> None:
    numbers, exponents = np.array([1, 2**53 - 1]), np.array([-2000, -2000])
    for rounding, want in (("toward_positive", [1, 1]), ("ties_to_even", [0, 0])):
        increments = Rounding(rounding).increments()
        positive = np.array([False, False])
        assert round_to_code(numbers, exponents, positive, 3, -6, increments).tolist() == want


def test_codes_of_a_format_without_subnormals_start_at_its_smallest_number() -> None:
    # Powers of two from 2**-3 on, as in E8M0: below them the codes are negative.
    numbers, exponents = np.array([1, 1, 3, 1, 1]), np.array([-3, -2, -2, 0, -4])
    positive = np.zeros(5, bool)
    increments = Rounding.TOWARD_ZERO.increments()
    codes = round_to_code(numbers, exponents, positive, 0, -3, increments, first_code=1)
    assert codes.tolist() == [0, 1, 2, 3, -1]


# Random bits.


def goes_up(variant: str, nu: Fraction, width: int, r: int) -> bool:
    """The definitions of P3109, on the part that is cut off as a fraction of a unit."""
    if variant == "a":
        return math.floor(nu * 2**width) + r >= 2**width
    if variant == "b":
        return math.floor(nu * 2 ** (width + 1)) + 2 * r + 1 >= 2 ** (width + 1)
    return round(nu * 2**width) + r >= 2**width


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("variant", ["a", "b", "c"])
def test_increments_of_random_bits(variant: str, width: int) -> None:
    cases = [
        (rest, drop, r) for drop in range(8) for rest in range(1 << drop) for r in range(1 << width)
    ]
    rests, drops, bits = np.array(cases).T
    got = Stochastic(variant, bits, width).increments(rests, drops)
    want = [goes_up(variant, Fraction(rest, 1 << drop), width, r) for rest, drop, r in cases]
    assert got.tolist() == want
    # What needs no bits below the unit is exact.
    none = np.zeros(1 << width, np.int64)
    some = Stochastic(variant, np.arange(1 << width), width)
    assert not some.increments(none, none - 3).any()


@pytest.mark.parametrize("variant", ["a", "b", "c"])
@pytest.mark.parametrize("width", [1, 24, 31, 32])
def test_random_bits_of_any_width_beside_any_number(width: int, variant: str) -> None:
    top = (1 << width) - 1
    cases = [
        (n, e, r)
        for n in (0, 1, 2**31 + 1, 2**32 - 1, 2**52, 2**52 + 1, 2**53 - 1)
        for e in (-90, -70, -62, -61, -56, -53, -52, -40, -33, -9, 0, 2)
        for r in {0, 1, top >> 1, top - 1, top}
    ]
    n, e, r = np.array(cases).T
    draw = Stochastic(variant, r, width)
    codes = round_to_code(n, e, np.zeros(len(n), bool), 3, SMALL_EMIN, draw).tolist()
    for (significand, exponent, bits), code in zip(cases, codes, strict=True):
        x = significand * power(exponent)
        # Codes count the multiples of their unit in the last place.
        k = max(log2_floor(x), SMALL_EMIN) if x else SMALL_EMIN
        units = x / power(k - 3)
        low = math.floor(units)
        up = goes_up(variant, units - low, width, bits)
        assert code == (k - SMALL_EMIN) * 8 + low + up, (significand, exponent, bits)
