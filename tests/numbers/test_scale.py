"""Scales: hand values, and every power of two with its neighbours in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import INFINITY, QUIET_NAN, ROUNDINGS, SOURCES, WIDTH, sentence
from hypothesis import given
from hypothesis import strategies as st

import mxref
from mxref import exact
from mxref.bits.floats import F64
from mxref.formats.catalog import E4M3, INT8, ElementFormat
from mxref.numbers.scale_steps import FLUSHED, NAN_BLOCK, scale_codes
from mxref.policy.choices import Overflow
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule

EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}

P = 2.0  # P**n is an exact power of two


def floats(bits: list[int], source: str) -> np.ndarray:
    return np.array(bits, f"u{WIDTH[source] // 8}").view(SOURCES[source])


def bits_of(values: np.ndarray) -> list[int]:
    bits: list[int] = values.view(f"u{values.dtype.itemsize}").ravel().tolist()
    return bits


def log2_floor(x: Fraction) -> int:
    """floor(log2 x) of a dyadic fraction above zero, in integers."""
    return x.numerator.bit_length() - x.denominator.bit_length()


def edges(source: str) -> np.ndarray:
    """Every power of two of a source and its neighbours."""
    fraction_bits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[source]
    top = INFINITY[source]
    powers = [field << fraction_bits for field in range(1, top >> fraction_bits)]
    powers += [1 << bit for bit in range(fraction_bits)]
    near = {bits + step for bits in powers for step in (-1, 0, 1)} | {top - 1}
    return floats(sorted(bits for bits in near if 0 < bits < top), source)


# encode_scale


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (1.0, 127),
        (1.5, 127),
        (1.9999999, 127),
        (2.0, 128),
        (-4.0, 129),
        (3.0e38, 254),
        (P**127, 254),
        (P**-126, 1),
        (1.5 * P**-127, 0),
        (P**-127, 0),
        (P**-128, 0),
        (P**-149, 0),
        (-(P**-149), 0),
        (0.0, 0),
        (-0.0, 0),
        (math.inf, 255),
        (-math.inf, 255),
        (math.nan, 255),
    ],
)
def test_encode_scale(value: float, code: int) -> None:
    assert mxref.encode_scale(np.float32([value])).tolist() == [code]
    assert mxref.encode_scale(value) == code


@pytest.mark.parametrize("source", SOURCES)
def test_encode_scale_of_the_four_float_types(source: str) -> None:
    x = np.array([1.0, 1.5, 0.25, -3.0]).astype(SOURCES[source])
    assert mxref.encode_scale(x).tolist() == [127, 127, 125, 128]
    # The smallest subnormal and the largest number.
    ends = mxref.encode_scale(floats([1, INFINITY[source] - 1], source))
    assert ends.tolist() == ([103, 142] if source == "f16" else [0, 254])


@pytest.mark.parametrize(
    ("value", "toward_zero", "toward_positive"),
    [
        (P**128, 254, 254),
        (P**127 * (1 + P**-52), 254, 254),
        (P**127 * (1 - P**-53), 253, 254),
        (1e300, 254, 254),
        (P**-126 * (1 + P**-52), 1, 2),
        (P**-127 * (1 + P**-52), 0, 1),
        (P**-127 * (1 - P**-53), 0, 0),
        (P**-200, 0, 0),
        (P**-1074, 0, 0),
        (1 - P**-53, 126, 127),
        (1 + P**-52, 127, 128),
    ],
)
def test_encode_scale_of_float64(value: float, toward_zero: int, toward_positive: int) -> None:
    assert mxref.encode_scale([value, -value]).tolist() == [toward_zero] * 2
    codes = mxref.encode_scale([value, -value], scale_rounding="toward_positive")
    assert codes.tolist() == [toward_positive] * 2


@pytest.mark.parametrize("source", SOURCES)
def test_encode_scale_of_no_number(source: str) -> None:
    inf, sign = INFINITY[source], 1 << WIDTH[source] - 1
    patterns = [inf, inf | sign, QUIET_NAN[source], inf + 1, sign - 1, 2 * sign - 1]
    for rounding in ROUNDINGS:
        codes = mxref.encode_scale(floats(patterns, source), scale_rounding=rounding)
        assert codes.tolist() == [0xFF] * 6


@pytest.mark.parametrize("source", SOURCES)
def test_encode_scale_around_every_power_of_two(source: str) -> None:
    values = edges(source)
    numbers = [Fraction(x) for x in values.astype(np.float64).tolist()]
    below = [min(max(log2_floor(x), -127), 127) + 127 for x in numbers]
    assert mxref.encode_scale(values).tolist() == below
    assert mxref.encode_scale(-values).tolist() == below
    least = [log2_floor(x) + (x != Fraction(2) ** log2_floor(x)) for x in numbers]  # x <= 2**k
    above = [min(max(k, -127), 127) + 127 for k in least]
    assert mxref.encode_scale(values, scale_rounding="toward_positive").tolist() == above


@pytest.mark.parametrize("k", [-127, -126, -2, -1, 0, 1, 2, 125, 126])
def test_roundings_between_two_powers_of_two(k: int) -> None:
    low, high = k + 127, k + 128
    even, odd = (low, high) if low % 2 == 0 else (high, low)
    tie = 1.5 * P**k
    x = [P**k, tie * (1 - P**-50), tie, tie * (1 + P**-50), P ** (k + 1)]
    nearest = {"ties_to_even": even, "ties_to_away": high, "ties_to_zero": low}
    for rounding, on_tie in nearest.items():
        want = [low, low, on_tie, high, high]
        assert mxref.encode_scale(x, scale_rounding=rounding).tolist() == want
    directed = {"toward_zero": low, "toward_negative": low, "toward_positive": high, "to_odd": odd}
    for rounding, between in directed.items():
        want = [low, between, between, between, high]
        for values in (x, [-v for v in x]):  # of the magnitude
            assert mxref.encode_scale(values, scale_rounding=rounding).tolist() == want


def test_beyond_the_largest_scale_every_rounding_gives_fe() -> None:
    for rounding in ROUNDINGS:
        x = [1.25 * P**127, 1.5 * P**127, 1.75 * P**127, P**128, P**1000]
        assert mxref.encode_scale(x, scale_rounding=rounding).tolist() == [0xFE] * 5
        below = [P**-128, 1.5 * P**-128, 1.75 * P**-128, P**-1000, 0.0]
        assert mxref.encode_scale(below, scale_rounding=rounding).tolist() == [0] * 5


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_encode_scale_of_integers(kind: str) -> None:
    limits = np.iinfo(kind)
    ends = {limits.min, limits.max} | {s * 2**b for b in range(64) for s in (1, -1)}
    near = {n + step for n in ends | {0, 3} for step in (-1, 0, 1)}
    numbers = sorted(n for n in near if limits.min <= n <= limits.max)
    for byte_order in "<>":
        values = np.array(numbers, byte_order + kind)
        before = values.tobytes()
        down = [127 + abs(n).bit_length() - 1 if n else 0 for n in numbers]
        assert mxref.encode_scale(values).tolist() == down
        up = [127 + (abs(n) - 1).bit_length() if n else 0 for n in numbers]
        assert mxref.encode_scale(values, scale_rounding="toward_positive").tolist() == up
        assert values.tobytes() == before
    for n, code in zip(numbers, down, strict=True):
        scalar = mxref.encode_scale(values.dtype.newbyteorder("=").type(n))
        assert (scalar.shape, scalar.dtype, int(scalar)) == ((), np.uint8, code)


@pytest.mark.parametrize("k", [52, 53, 54, 60, 62])
def test_encode_scale_of_an_integer_that_float64_cannot_hold(k: int) -> None:
    tie = 3 << k - 1  # 1.5 * 2**k
    numbers = [2**k - 1, 2**k, 2**k + 1, tie - 1, tie, tie + 1, 2 ** (k + 1) - 1]
    low, high = 127 + k, 128 + k
    for sign in (1, -1):
        x = np.array([sign * n for n in numbers], np.int64)
        for rounding, want in (
            ("toward_zero", [low - 1, low, low, low, low, low, low]),
            ("toward_positive", [low, low, high, high, high, high, high]),
            ("ties_to_zero", [low, low, low, low, low, high, high]),
            ("ties_to_away", [low, low, low, low, high, high, high]),
        ):
            assert mxref.encode_scale(x, scale_rounding=rounding).tolist() == want
        # Rounded twice where the policy says so.
        codes = mxref.encode_scale(x, scale_rounding="toward_positive", pre_rounding="float32")
        assert codes.tolist() == [low, low, low, high, high, high, high]
    assert mxref.encode_scale(np.array([2**64 - 1, 2**63 + 1], np.uint64)).tolist() == [190, 190]


@pytest.mark.parametrize(
    "dtype",
    [
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3,
        ml_dtypes.float8_e3m4,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float6_e3m2fn,
        ml_dtypes.float6_e2m3fn,
        ml_dtypes.float4_e2m1fn,
    ],
)
def test_encode_scale_of_small_floats(dtype: Any) -> None:
    count = {"6": 64, "4": 16}.get(np.dtype(dtype).name[5], 256)
    small = np.arange(count, dtype=np.uint8).view(dtype)
    wide = small.astype(np.float64)
    for rounding in ROUNDINGS:
        want = mxref.encode_scale(wide, scale_rounding=rounding).tolist()
        assert mxref.encode_scale(small, scale_rounding=rounding).tolist() == want
    scalar = mxref.encode_scale(small[-1])
    assert (scalar.shape, int(scalar)) == ((), int(mxref.encode_scale(wide[-1])))


# decode_scale


@pytest.mark.parametrize("source", ["bf16", "f32", "f64"])
def test_decode_scale_is_exact(source: str) -> None:
    values = mxref.decode_scale(np.arange(255), SOURCES[source])
    assert values.dtype == np.dtype(SOURCES[source])
    numbers = [Fraction(x) for x in values.astype(np.float64).tolist()]
    assert numbers == [Fraction(2) ** (code - 127) for code in range(255)]


def test_decode_scale_to_float16() -> None:
    values = mxref.decode_scale(np.arange(255), np.float16)
    bits = bits_of(values)
    assert bits[:103] == [0] * 103  # 2**-25 is a tie, and 0 is even
    assert bits[103:113] == [1 << i for i in range(10)]
    assert bits[113:143] == [field << 10 for field in range(1, 31)]
    assert bits[143:] == [0x7C00] * 112


@pytest.mark.parametrize("source", SOURCES)
def test_decode_scale_of_ff_is_the_quiet_nan(source: str) -> None:
    assert bits_of(mxref.decode_scale([0xFF], SOURCES[source])) == [QUIET_NAN[source]]


def test_decode_scale_of_code_00_is_no_zero() -> None:
    assert bits_of(mxref.decode_scale([0x00, 0x01, 0xFE])) == [0x00400000, 0x00800000, 0x7F000000]


@pytest.mark.parametrize("source", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_encode_of_decode_is_the_code(rounding: str, source: str) -> None:
    scales = mxref.decode_scale(np.arange(256), SOURCES[source])
    assert mxref.encode_scale(scales, scale_rounding=rounding).tolist() == list(range(256))


def test_decode_scale_under_other_meanings_of_00_and_ff() -> None:
    codes = [0x00, 0x01, 0xFE, 0xFF]
    read = [P**-127, P**-126, P**127, P**128]
    found = mxref.decode_scale(codes, np.float64, scale_ff="power")
    assert found.tolist() == read
    for dtype in (np.float32, ml_dtypes.bfloat16, np.float16):
        assert mxref.decode_scale(codes, dtype, scale_ff="power")[3] == math.inf
    assert mxref.decode_scale(codes, np.float64, scale_ff="inf").tolist() == [*read[:3], math.inf]
    zero = mxref.decode_scale(codes, np.float64, scale_00="zero", scale_ff="power")
    assert zero.tolist() == [0.0, *read[1:]]


# shared_scale


@pytest.mark.parametrize(
    ("amax", "format", "code"),
    [
        (1.0, "e5m2", 112),
        (1.0, "e4m3", 119),
        (1.0, "e3m2", 123),
        (1.0, "e2m3", 125),
        (1.0, "e2m1", 125),
        (1.0, "int8", 127),
        (1.9999999, "e4m3", 119),
        (2.0, "e4m3", 120),
        (448.0, "e4m3", 127),
        (511.0, "e4m3", 127),
        (512.0, "e4m3", 128),
        (57344.0, "e5m2", 127),
        (6.0, "e2m1", 127),
        (7.999, "e2m1", 127),
        (P**-126, "e2m1", 0),
        (P**-125, "e2m1", 0),
        (P**-124, "e2m1", 1),
        (P**-127, "int8", 0),
        (P**-126, "int8", 1),
        (P**-149, "e5m2", 0),
        (3.0e38, "int8", 254),
        (3.0e38, "e2m1", 252),
        (3.0e38, "e5m2", 239),
        (0.0, "e4m3", 0),
        (math.inf, "e4m3", 255),
        (math.nan, "e4m3", 255),
    ],
)
def test_shared_scale(amax: float, format: str, code: int) -> None:
    assert mxref.shared_scale(np.float32([amax]), format).tolist() == [code]
    assert mxref.shared_scale(np.float32(amax), format, "floor") == code
    rule: Any = ScaleRule.FLOOR
    assert mxref.shared_scale(amax, format, rule) == code


@pytest.mark.parametrize("policy", ["ocp", "ocp+scale_rule=rceil", mxref.Policy()], ids=str)
def test_a_policy_is_no_rule(policy: Any) -> None:
    text = sentence(ValueError, lambda: mxref.shared_scale(1.0, "e4m3", policy))
    assert text.startswith("rule must be a scale rule, got ")
    assert text.endswith(": pass a policy as policy=")
    got = mxref.shared_scale(np.float32([465.0]), "e4m3", policy="ocp+scale_rule=rceil")
    assert got.tolist() == [128]


@pytest.mark.parametrize(
    ("amax", "format", "code"),
    [
        (P**127, "int8", 254),
        (P**128, "int8", 254),
        (P**136 * (1 - P**-53), "e4m3", 254),
        (P**135 * (1 - P**-53), "e4m3", 253),
        (1.7e308, "e5m2", 254),
        (P**-112 * (1 - P**-53), "e5m2", 0),
        (P**-111 * (1 - P**-53), "e5m2", 0),
        (P**-111, "e5m2", 1),
        (P**-1074, "int8", 0),
        (1 - P**-53, "e4m3", 118),
    ],
)
def test_shared_scale_of_float64(amax: float, format: str, code: int) -> None:
    assert mxref.shared_scale(amax, format) == code


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("format", EMAX)
def test_floor_around_every_power_of_two(format: str, source: str) -> None:
    values = edges(source)
    exponents = [log2_floor(Fraction(x)) for x in values.astype(np.float64).tolist()]
    want = [min(max(k - EMAX[format], -127), 127) + 127 for k in exponents]
    assert mxref.shared_scale(values, format).tolist() == want


@pytest.mark.parametrize("rule", ScaleRule, ids=lambda rule: rule.value)
def test_int8_with_an_emax_of_one(rule: ScaleRule) -> None:
    """Rules that count from emax give half the scale, those that look at 127/64 the same one."""
    halved = rule.value.startswith(("floor", "ceil", "even")) or rule.value.endswith("_power")
    amax = np.float32([1.0, 1.25, 1.40625, 1.4375, 1.953125, 2.0])
    usual = mxref.shared_scale(amax, "int8", rule)
    found = mxref.shared_scale(amax, "int8", rule, int8_emax="one")
    assert found.tolist() == (usual - halved).tolist()
    bits = amax.view(np.uint32).tolist()
    assert found.tolist() == [
        exact.shared_scale(b, "f32", "int8", rule.value, int8_emax="one") for b in bits
    ]
    assert mxref.shared_scale(amax, "e4m3", rule, int8_emax="one").tolist() == (
        mxref.shared_scale(amax, "e4m3", rule).tolist()
    )


@pytest.mark.parametrize(
    ("choices", "codes", "nan", "flushed"),
    [  # of amax 0, 2**-149, 1, 2**127 and 2**128 in INT8, whose scale is the binade of amax
        ({}, [0, 0, 127, 254, 254], "00000", "00000"),
        (
            {"scale_overflow": "nan", "scale_underflow": "nan"},
            [0, 255, 127, 254, 255],
            "01001",
            "00000",
        ),
        (
            {"scale_overflow": "wrap", "scale_underflow": "wrap"},
            [0, 234, 127, 254, 255],
            "00000",
            "00000",
        ),
        (
            {"scale_overflow": "wrap", "scale_underflow": "nan"},
            [0, 255, 127, 254, 255],
            "01000",
            "00000",
        ),
        ({"scale_underflow": "flush"}, [0, 0, 127, 254, 254], "00000", "01000"),
        ({"scale_underflow": "flush_subnormal"}, [0, 0, 127, 254, 254], "00000", "01000"),
        ({"zero_block": "nan"}, [255, 0, 127, 254, 254], "10000", "00000"),
        ({"zero_block": "minus_emax"}, [127, 0, 127, 254, 254], "00000", "00000"),
        (
            {"zero_block": "minus_emax", "int8_emax": "one"},
            [126, 0, 126, 253, 254],
            "00000",
            "00000",
        ),
    ],
)
def test_scale_codes_that_make_nan_blocks_and_zeros(
    choices: dict[str, str], codes: list[int], nan: str, flushed: str
) -> None:
    amax = np.array([0, P**-149, 1, P**127, P**128]).view(np.uint64)
    found = scale_codes(amax, F64, INT8, Policy().replace(**choices).scale)
    assert found.codes.tolist() == codes
    assert found.is_nan.tolist() == [digit == "1" for digit in nan]
    assert found.flushed.tolist() == [digit == "1" for digit in flushed]
    flags = found.is_nan * NAN_BLOCK | found.flushed * FLUSHED
    assert found.words().tolist() == (codes | flags).tolist()


@pytest.mark.parametrize(
    "fmt",
    [E4M3, ElementFormat("e6m1", 6, 1, 31), ElementFormat("e5m2", 5, 2, 1)],
    ids=lambda fmt: str(fmt.max_normal),
)
def test_the_reciprocal_of_any_largest_number(fmt: ElementFormat) -> None:
    """NumPy's float32 arithmetic is the witness; the largest numbers are 448, 2**33 and others."""
    largest = np.float32(fmt.max_normal)
    near = largest.view(np.uint32) + (np.arange(-8, 9)[:, np.newaxis] << [0, 20]).astype(np.uint32)
    amax = near.view(np.float32)
    scaled, exponent = np.frexp(amax * (np.float32(1) / largest))
    want = exponent - (scaled == 0.5) + 127  # the smallest power of two that is not below it
    assert (mxref.shared_scale(amax, fmt, "rceil_reciprocal") == want).all()


def test_quirks_by_hand() -> None:
    below = np.float32([1023.99994, 1023.9, 1024.0])  # log2 of the first is 10 in float32
    assert mxref.shared_scale(below, "int8", "floor_log2_float32").tolist() == [137, 136, 137]
    assert mxref.shared_scale(below, "int8", "floor_exponent_field").tolist() == [136, 136, 137]
    # float32 makes it 0, whose exponent field is that of 2**-127, and whose logarithm is -inf.
    vanished = np.float64([P**-1000])
    wrapped = {
        rule: mxref.shared_scale(vanished, "e4m3", rule, scale_underflow="wrap").item()
        for rule in ("floor", "floor_exponent_field", "floor_log2_float32", "rceil_reciprocal")
    }
    assert wrapped["floor"] == (-1000 - 8 + 127) % 256
    assert wrapped["floor_exponent_field"] == (-127 - 8 + 127) % 256
    bits = vanished.view(np.uint64).item()
    assert wrapped == {
        rule: exact.shared_scale(bits, "f64", "e4m3", rule, scale_underflow="wrap")
        for rule in wrapped
    }
    # 448.0001 is beyond the largest number, but not by enough to show in a product of float32.
    near = np.float32([448.0, 448.00003, 448.0001])
    assert mxref.shared_scale(near, "e4m3", "rceil").tolist() == [127, 128, 128]
    for rule in ScaleRule:
        found = mxref.shared_scale(near, "e4m3", rule).tolist()
        words = near.view(np.uint32).tolist()
        assert found == [exact.shared_scale(word, "f32", "e4m3", rule.value) for word in words]


@pytest.mark.parametrize("rule", ScaleRule, ids=lambda rule: rule.value)
@pytest.mark.parametrize("source", SOURCES)
def test_shared_scale_of_zero_and_of_no_number(source: str, rule: ScaleRule) -> None:
    inf, sign = INFINITY[source], 1 << WIDTH[source] - 1
    patterns = [0, sign, inf, QUIET_NAN[source], inf + 1, QUIET_NAN[source] | sign, 2 * sign - 1]
    codes = mxref.shared_scale(floats(patterns, source), "e2m1", rule)
    assert codes.tolist() == [0, 0, 255, 255, 255, 255, 255]


@given(st.lists(st.integers(0, 0x7F800000), min_size=2), st.sampled_from(list(EMAX)))
def test_a_larger_amax_has_no_smaller_scale(bits: list[int], format: str) -> None:
    codes = mxref.shared_scale(floats(sorted(bits), "f32"), format).tolist()
    assert codes == sorted(codes)


@pytest.mark.parametrize(
    ("amax", "shown"),
    [
        (np.float32([1.0, -1.0, -2.0]), "-1.0"),
        (-1.5, "-1.5"),
        (np.float16(-2.0), "-2.0"),
        (np.array([-3.0], ml_dtypes.bfloat16), "-3.0"),
        (np.array([[2.0], [-0.5]], ">f4"), "-0.5"),
        (np.float32([-np.inf]), "-inf"),
        ([-5e-324], "-5e-324"),
    ],
    ids=str,
)
def test_a_negative_amax(amax: Any, shown: str) -> None:
    assert sentence(ValueError, lambda: mxref.shared_scale(amax, "e4m3")) == (
        f"amax must not be negative, since it is a largest magnitude: got {shown}"
    )


@pytest.mark.parametrize(
    ("rule", "got"),
    [
        ("flor", "'flor' (did you mean 'floor'?)"),
        ("zz", "'zz'"),
        (3, "3"),
        (Overflow.SATURATE, "<Overflow.SATURATE: 'saturate'>"),
    ],
)
def test_an_unknown_rule(rule: Any, got: str) -> None:
    names = ", ".join(member.value for member in ScaleRule)
    assert sentence(ValueError, lambda: mxref.shared_scale([1.0], "e4m3", rule)) == (
        f"scale_rule must be one of {names}, got {got}"
    )


def test_an_unknown_format() -> None:
    assert sentence(ValueError, lambda: mxref.shared_scale([1.0], "e4m2")).startswith(
        "format must be one of e5m2, e4m3, e3m2, e2m3, e2m1, int8, e4m3fnuz, e5m2fnuz, "
        "e4m3b11fnuz, e3m4, e4m3_ieee, e1m2, binary8p3, binary8p4, got 'e4m2'"
    )
    for scale in ("e8m0", "ue4m3"):
        assert sentence(ValueError, lambda name=scale: mxref.shared_scale([1.0], name)) == (
            f"format must be an element format, got the scale format {scale!r}"
        )
    assert sentence(ValueError, lambda: mxref.shared_scale([1.0], "mxint8")) == (
        "format must be an element format, got the block format 'mxint8': use 'int8'"
    )


# Arrays and refusals.


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 1, 2), (0,), (3, 0)])
def test_shapes_and_dtypes(shape: tuple[int, ...]) -> None:
    for dtype in SOURCES.values():
        ones = np.ones(shape, dtype)
        for codes in (mxref.encode_scale(ones), mxref.shared_scale(ones, "int8")):
            assert isinstance(codes, np.ndarray)
            assert (codes.shape, codes.dtype) == (shape, np.uint8)
            assert (codes == 127).all()
        values = mxref.decode_scale(mxref.encode_scale(ones), dtype)
        assert isinstance(values, np.ndarray)
        assert (values.shape, values.dtype) == (shape, np.dtype(dtype))


def test_any_memory_order() -> None:
    x = np.float32([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
    for same in (x, np.asfortranarray(x), x.astype(">f4"), x.astype(">f8")):
        assert mxref.encode_scale(same).tolist() == [[127, 128, 129], [130, 131, 132]]
        assert mxref.shared_scale(same, "e4m3").tolist() == [[119, 120, 121], [122, 123, 124]]
    assert mxref.encode_scale(x[::-1, ::2]).tolist() == [[130, 132], [127, 129]]


def test_inputs_stay_as_they_are() -> None:
    x = floats([0x80000001, 0xFF800000, 0x7F800001], "f32")
    before = x.tobytes()
    codes = mxref.encode_scale(x)
    assert x.tobytes() == before
    assert not np.shares_memory(codes, x)
    values = mxref.decode_scale(codes)
    want = bits_of(values)
    values[:] = 0
    assert bits_of(mxref.decode_scale(codes)) == want


def test_decode_scale_of_every_kind_of_code_array() -> None:
    codes = np.uint8([0x00, 0x7F, 0xFE, 0xFF])
    want = [0x00400000, 0x3F800000, 0x7F000000, 0x7FC00000]
    typed = codes.view(ml_dtypes.float8_e8m0fnu)
    for same in (codes.tolist(), codes.astype(np.int32), codes.astype(">u2"), typed):
        assert bits_of(mxref.decode_scale(same)) == want
    assert bits_of(mxref.decode_scale(typed[::-1])) == want[::-1]
    assert bits_of(mxref.decode_scale(0x7F)) == want[1:2]


def test_decode_scale_of_a_ragged_list() -> None:
    text = sentence(TypeError, lambda: mxref.decode_scale([[1, 2], [3]]))
    assert text.startswith("codes must be a rectangular array of codes: ")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: mxref.encode_scale([True]),
            TypeError,
            "values must be float64, float32, float16 or bfloat16, got bool: "
            "convert explicitly, for example values.astype(numpy.float32)",
        ),
        (
            lambda: mxref.encode_scale([1j]),
            TypeError,
            "values dtype must be float64, float32, float16 or bfloat16, got complex128",
        ),
        (
            lambda: mxref.encode_scale(np.ma.array([1])),
            TypeError,
            "values must not be masked: use .filled(...) to say what masked means",
        ),
        (
            lambda: mxref.decode_scale([1], None),
            TypeError,
            "dtype must be float64, float32, float16 or bfloat16, got None",
        ),
        (
            # The largest magnitude of integers is no integer of their type: that of -128 is 128.
            lambda: mxref.shared_scale([1], "e4m3"),
            TypeError,
            "amax must be float64, float32, float16 or bfloat16, got int64: "
            "convert explicitly, for example amax.astype(numpy.float32)",
        ),
        (
            lambda: mxref.shared_scale(np.zeros(1, ml_dtypes.float8_e5m2), "e4m3"),
            TypeError,
            "amax dtype must be float64, float32, float16 or bfloat16, got float8_e5m2",
        ),
        (
            lambda: mxref.decode_scale([127.0]),
            TypeError,
            "codes must be unsigned integers or float8_e8m0fnu for e8m0, got float64",
        ),
        (
            lambda: mxref.decode_scale(np.zeros(1, ml_dtypes.float8_e5m2)),
            TypeError,
            "codes must be unsigned integers or float8_e8m0fnu for e8m0, got float8_e5m2",
        ),
        (
            lambda: mxref.decode_scale([[1, 256]]),
            ValueError,
            "codes must be in [0, 255] for e8m0, got 256 at index (0, 1)",
        ),
        (
            lambda: mxref.decode_scale([-1]),
            ValueError,
            "codes must be in [0, 255] for e8m0, got -1 at index (0,)",
        ),
        (
            lambda: mxref.decode_scale([1], np.int8),
            TypeError,
            "dtype must be float64, float32, float16 or bfloat16, got int8",
        ),
        (
            lambda: mxref.encode_scale([1.0], rounding="to_odd"),
            ValueError,
            "encode_scale does not read the choice 'rounding', which encode, quantize, linear, "
            "linear_gradients read",
        ),
        (
            lambda: mxref.encode_scale([1.0], "ocp+scale_rule=floor"),
            ValueError,
            "encode_scale does not read the choice 'scale_rule', which shared_scale, quantize, "
            "linear, linear_gradients read",
        ),
    ],
)
def test_refusals(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert sentence(kind, call) == text


def test_encode_scale_of_a_ragged_list() -> None:
    text = sentence(TypeError, lambda: mxref.encode_scale([[1.0, 2.0], [3.0]]))
    assert text.startswith("values must be a rectangular array")


def test_encode_scale_does_not_wrap() -> None:
    with pytest.raises(ValueError, match="wrap"):
        exact.encode_scale(0x4800000000000000, "f64", scale_overflow="wrap")  # 2**129
    assert "scale_overflow" in sentence(
        ValueError, lambda: mxref.encode_scale([P**129], scale_overflow="wrap")
    )
