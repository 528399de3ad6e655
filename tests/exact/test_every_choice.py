"""Every member of every choice of the slow twin against hand-typed codes and published tables.

Expectations are typed from the texts, from measured behaviour of published implementations, or
worked out by hand; formats and stochastic roundings are checked against formulas in Fraction.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from helpers import ROUNDINGS

from mxref.exact import (
    decode,
    decode_scale,
    dequantize,
    encode,
    encode_scale,
    quantize,
    shared_scale,
    value,
)

Choices = dict[str, Any]
STOCHASTIC = ("stochastic_a", "stochastic_b", "stochastic_c")
OVERFLOWS = ("saturate", "nonsaturating", "nonsaturating_ieee", "propagate")
PLUS_NAN, MINUS_NAN = 0x7FC00000, 0xFFC00000
PLUS_INF, MINUS_INF = 0x7F800000, 0xFF800000


def f32(number: float) -> int:
    return int.from_bytes(struct.pack("<f", number), "little")


def f64(number: float) -> int:
    return int.from_bytes(struct.pack("<d", number), "little")


# --- formats -----------------------------------------------------------------------------------

# name: bits, sign bits, exponent bits, mantissa bits, bias, NaN codes, Inf codes, maximum
SHAPES: dict[str, tuple[int, int, int, int, int, set[int], set[int], str]] = {
    "e4m3fnuz": (8, 1, 4, 3, 8, {0x80}, set(), "240"),
    "e5m2fnuz": (8, 1, 5, 2, 16, {0x80}, set(), "57344"),
    "e4m3b11fnuz": (8, 1, 4, 3, 11, {0x80}, set(), "30"),
    "e3m4": (8, 1, 3, 4, 3, {*range(0x71, 0x80), *range(0xF1, 0x100)}, {0x70, 0xF0}, "31/2"),
    "e4m3_ieee": (8, 1, 4, 3, 7, {*range(0x79, 0x80), *range(0xF9, 0x100)}, {0x78, 0xF8}, "240"),
    "e1m2": (4, 1, 1, 2, 1, set(), set(), "7/4"),
    "binary8p3": (8, 1, 5, 2, 16, {0x80}, {0x7F, 0xFF}, "49152"),
    "binary8p4": (8, 1, 4, 3, 8, {0x80}, {0x7F, 0xFF}, "224"),
    "ue4m3": (7, 0, 4, 3, 7, {0x7F}, set(), "448"),
    "ue5m3": (8, 0, 5, 3, 15, {0xFF}, set(), "114688"),
    "binary8p1uf": (8, 0, 8, 0, 128, {0xFF}, set(), str(2**126)),
    "binary8p3ue": (8, 0, 6, 2, 32, {0xFF}, {0xFE}, str(5 * 2**29)),
    "binary8p4ue": (8, 0, 5, 3, 16, {0xFF}, {0xFE}, "53248"),
}


def formula(code: int, format: str) -> Fraction:
    _, signs, exponents, m, bias, *_ = SHAPES[format]
    field = code >> m & (1 << exponents) - 1
    fraction = Fraction(code & (1 << m) - 1, 1 << m)
    number = (1 + fraction) * Fraction(2) ** (field - bias)
    if field == 0:
        number = fraction * Fraction(2) ** (1 - bias)
    return -number if signs and code >> exponents + m else number


def float_value(bits: int) -> float:
    number: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return number


@pytest.mark.parametrize("format", SHAPES)
def test_every_code_of_the_further_formats(format: str) -> None:
    bits, signs, exponents, m, _, nans, infinities, maximum = SHAPES[format]
    assert bits == signs + exponents + m
    finite = []
    for code in range(2**bits):
        if code in nans | infinities:
            with pytest.raises(ValueError, match="finite"):
                value(code, format)
            sign = 2**63 * (signs and code in infinities and code >> 7)
            special = 0x7FF8000000000000 if code in nans else 0x7FF0000000000000
            assert decode(code, format, "f64") == special + sign
        else:
            assert value(code, format) == formula(code, format)
            assert Fraction(float_value(decode(code, format, "f64"))) == formula(code, format)
            finite.append(value(code, format))
    assert max(finite) == Fraction(maximum)
    assert min(finite) == (-Fraction(maximum) if signs else 0)
    minus_zero = 0x8000000000000000 if format in ("e3m4", "e4m3_ieee", "e1m2") else None
    assert (decode(1 << bits - 1, format, "f64") == minus_zero) == (minus_zero is not None)
    with pytest.raises(ValueError, match="code must be"):
        value(2**bits, format)


@pytest.mark.parametrize("format", SHAPES)
def test_decode_then_encode_of_the_further_formats(format: str) -> None:
    bits, signs, *_, nans, infinities, _ = SHAPES[format]
    top_nan = {"e3m4": 0x7F, "e4m3_ieee": 0x7F}.get(format, 0x80 if signs else 2**bits - 1)
    for code in range(2**bits):
        back = encode(decode(code, format, "f64"), "f64", format, "to_odd", "nonsaturating")
        assert back == (top_nan if code in nans else code)
        direct = encode(code, format, format, "to_odd", "nonsaturating")
        assert direct == back
        if not signs and code not in nans:
            minus = decode(code, format, "f64") + 2**63
            kept = encode(minus, "f64", format, "toward_negative", "propagate")
            assert kept == code, code in infinities


@pytest.mark.parametrize("format", SHAPES)
def test_rounding_into_the_further_formats(format: str) -> None:
    """Halfway and a third of the way between neighbours, the virtual one above the maximum too."""
    bits, signs, *_, nans, infinities, _ = SHAPES[format]
    codes = [c for c in range(2 ** (bits - signs)) if c not in nans | infinities]
    numbers = [formula(c, format) for c in codes]
    after = 2 * numbers[-1] - numbers[-2]
    for code, (low, high) in zip(codes, pairwise([*numbers, after]), strict=True):
        up = min(code + 1, codes[-1])
        middle = f64(float((low + high) / 2))
        third = f64(float(low + (high - low) / 4))
        even, odd = (code, up) if code % 2 == 0 else (up, code)
        want = [even, up, code, code, up, code, odd]
        assert [encode(middle, "f64", format, r) for r in ROUNDINGS] == want
        want = [code, code, code, code, up, code, odd]
        assert [encode(third, "f64", format, r) for r in ROUNDINGS] == want


@pytest.mark.parametrize(
    ("format", "zeros", "underflow", "infinities", "nan"),
    [
        ("e4m3fnuz", [0x00, 0x00], 0x00, [0x80, 0x80], 0x80),
        ("e5m2fnuz", [0x00, 0x00], 0x00, [0x80, 0x80], 0x80),
        ("e3m4", [0x00, 0x80], 0x80, [0x70, 0xF0], 0x7F),
        ("e4m3_ieee", [0x00, 0x80], 0x80, [0x78, 0xF8], 0x7F),
        ("e1m2", [0x0, 0x8], 0x8, [0x7, 0xF], 0x7),
        ("binary8p3", [0x00, 0x00], 0x00, [0x7F, 0xFF], 0x80),
        ("binary8p4", [0x00, 0x00], 0x00, [0x7F, 0xFF], 0x80),
        ("ue4m3", [0x00, 0x00], 0x00, [0x7F, 0x7F], 0x7F),
        ("ue5m3", [0x00, 0x00], 0x00, [0xFF, 0xFF], 0xFF),
    ],
)
def test_special_values_of_the_further_formats(
    format: str, zeros: list[int], underflow: int, infinities: list[int], nan: int
) -> None:
    assert [encode(x, "f32", format) for x in (0, 0x80000000)] == zeros
    assert encode(f32(-1e-30), "f32", format) == underflow
    for numbers in ((PLUS_INF, MINUS_INF), (f32(1e30), f32(-1e30))):
        assert [encode(x, "f32", format, overflow="nonsaturating") for x in numbers] == infinities
    assert [encode(x, "f32", format) for x in (PLUS_NAN, MINUS_NAN)] == [nan, nan]


@pytest.mark.parametrize(
    ("format", "expected"),
    [  # 127 - floor(log2(maximum))
        ("e4m3fnuz", 120),
        ("e5m2fnuz", 112),
        ("e3m4", 124),
        ("e4m3_ieee", 120),
        ("e1m2", 127),
        ("binary8p3", 112),
        ("binary8p4", 120),
    ],
)
def test_blocks_of_the_further_formats(format: str, expected: int) -> None:
    assert shared_scale(0x3F800000, "f32", format) == expected
    scale, codes = quantize([f32(1.0), f32(-0.5)], "f32", format)
    assert scale == expected
    back = [dequantize(scale, code, format) for code in codes]
    assert back == [f32(1.0), f32(-0.5)]


# --- overflow, clamp -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "format", "saturate", "ieee", "propagate"),
    [  # ieee: in the order of ROUNDINGS
        (1e30, "e5m2", 0x7B, [0x7C, 0x7C, 0x7C, 0x7B, 0x7C, 0x7B, 0x7B], 0x7B),
        (-1e30, "e5m2", 0xFB, [0xFC, 0xFC, 0xFC, 0xFB, 0xFB, 0xFC, 0xFB], 0xFB),
        (1e30, "e4m3", 0x7E, [0x7F, 0x7F, 0x7F, 0x7E, 0x7F, 0x7E, 0x7E], 0x7E),
        (-1e30, "e4m3", 0xFE, [0x7F, 0x7F, 0x7F, 0xFE, 0xFE, 0x7F, 0xFE], 0xFE),
        (449.0, "e4m3", 0x7E, [0x7E, 0x7E, 0x7E, 0x7E, 0x7F, 0x7E, 0x7E], 0x7E),
        (-464.0, "e4m3", 0xFE, [0xFE, 0x7F, 0xFE, 0xFE, 0xFE, 0x7F, 0xFE], 0xFE),
        (1e30, "e2m1", 0x7, [0x7] * 7, 0x7),
        (-1e30, "int8", 0x81, [0x81] * 7, 0x81),
        (1e30, "e4m3fnuz", 0x7F, [0x80, 0x80, 0x80, 0x7F, 0x80, 0x7F, 0x7F], 0x7F),
        (-1e30, "binary8p4", 0xFE, [0xFF, 0xFF, 0xFF, 0xFE, 0xFE, 0xFF, 0xFE], 0xFE),
        (-1e30, "ue4m3", 0x7E, [0x7F, 0x7F, 0x7F, 0x7E, 0x7F, 0x7E, 0x7E], 0x7E),
        (float("inf"), "e5m2", 0x7B, [0x7C] * 7, 0x7C),
        (float("-inf"), "e5m2", 0xFB, [0xFC] * 7, 0xFC),
        (float("inf"), "e4m3", 0x7E, [0x7F] * 7, 0x7F),
        (float("-inf"), "e4m3", 0xFE, [0x7F] * 7, 0x7F),
        (float("-inf"), "e3m2", 0x3F, [0x3F] * 7, 0x3F),
        (float("-inf"), "e5m2fnuz", 0xFF, [0x80] * 7, 0x80),
        (float("-inf"), "binary8p3", 0xFE, [0xFF] * 7, 0xFF),
    ],
)
def test_overflow(
    number: float, format: str, saturate: int, ieee: list[int], propagate: int
) -> None:
    got = {o: [encode(f32(number), "f32", format, r, o) for r in ROUNDINGS] for o in OVERFLOWS}
    assert got["saturate"] == [saturate] * 7
    assert got["nonsaturating_ieee"] == ieee
    assert got["propagate"] == [propagate] * 7


def test_nonsaturating_is_literal_where_ieee_is_not() -> None:
    for rounding in ROUNDINGS:
        assert encode(f32(1e30), "f32", "e4m3", rounding, "nonsaturating") == 0x7F
        assert encode(f32(-1e30), "f32", "e5m2", rounding, "nonsaturating") == 0xFC


@pytest.mark.parametrize(
    ("number", "format", "overflow", "after", "before"),
    [
        (448.0, "e4m3", "nonsaturating", [0x7E] * 7, [0x7E] * 7),
        (449.0, "e4m3", "nonsaturating", [0x7E, 0x7E, 0x7E, 0x7E, 0x7F, 0x7E, 0x7F], [0x7F] * 7),
        (447.0, "e4m3", "nonsaturating", [0x7E, 0x7E, 0x7E, 0x7D, 0x7E, 0x7D, 0x7D], None),
        (449.0, "e4m3", "saturate", [0x7E] * 7, [0x7E] * 7),
        (449.0, "e4m3", "propagate", [0x7E] * 7, [0x7E] * 7),
        (
            -57345.0,
            "e5m2",
            "nonsaturating_ieee",
            [0xFB, 0xFB, 0xFB, 0xFB, 0xFB, 0xFC, 0xFB],
            [0xFC, 0xFC, 0xFC, 0xFB, 0xFB, 0xFC, 0xFB],
        ),
        (
            225.0,
            "binary8p4",
            "nonsaturating",
            [0x7E, 0x7E, 0x7E, 0x7E, 0x7F, 0x7E, 0x7F],
            [0x7F] * 7,
        ),
        (480.0, "e4m3", "nonsaturating", [0x7F] * 7, [0x7F] * 7),
        (6.5, "e2m1", "nonsaturating", [0x7] * 7, [0x7] * 7),
    ],
)
def test_clamp(
    number: float, format: str, overflow: str, after: list[int], before: list[int] | None
) -> None:
    def row(clamp: str) -> list[int]:
        return [encode(f32(number), "f32", format, r, overflow, clamp=clamp) for r in ROUNDINGS]

    assert row("after_rounding") == after
    assert row("before_rounding") == (after if before is None else before)


def test_clamp_before_stochastic_rounding() -> None:
    def codes(number: float, clamp: str) -> list[int]:
        how = ("f32", "e4m3", "stochastic_a", "nonsaturating")
        chosen: Choices = {"clamp": clamp, "random_width": 2}
        return [encode(f32(number), *how, random_bits=r, **chosen) for r in range(4)]

    assert codes(456.0, "after_rounding") == [0x7E, 0x7E, 0x7E, 0x7F]  # a quarter of the way to 480
    assert codes(456.0, "before_rounding") == [0x7F] * 4
    assert codes(448.0, "before_rounding") == [0x7E] * 4
    assert codes(480.0, "after_rounding") == [0x7F] * 4


# --- NaN, zeros, INT8 ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "positive", "signed", "negative", "quiet"),
    [  # the codes for +NaN and -NaN
        ("e4m3", [0x7F, 0x7F], [0x7F, 0xFF], [0xFF, 0xFF], [0x7F, 0xFF]),
        ("e5m2", [0x7F, 0x7F], [0x7F, 0xFF], [0xFF, 0xFF], [0x7E, 0xFE]),
        ("e3m4", [0x7F, 0x7F], [0x7F, 0xFF], [0xFF, 0xFF], [0x78, 0xF8]),
        ("e4m3_ieee", [0x7F, 0x7F], [0x7F, 0xFF], [0xFF, 0xFF], [0x7C, 0xFC]),
        ("e4m3fnuz", [0x80, 0x80], [0x80, 0x80], [0x80, 0x80], [0x80, 0x80]),
        ("binary8p3", [0x80, 0x80], [0x80, 0x80], [0x80, 0x80], [0x80, 0x80]),
        ("ue4m3", [0x7F, 0x7F], [0x7F, 0x7F], [0x7F, 0x7F], [0x7F, 0x7F]),
        ("ue5m3", [0xFF, 0xFF], [0xFF, 0xFF], [0xFF, 0xFF], [0xFF, 0xFF]),
        ("e2m1", [0x7, 0x7], [0x7, 0x7], [0x7, 0x7], [0x7, 0x7]),
    ],
)
def test_nan(
    format: str, positive: list[int], signed: list[int], negative: list[int], quiet: list[int]
) -> None:
    members = ("positive", "signed", "negative", "signed_quiet")
    got = [[encode(x, "f32", format, nan=m) for x in (PLUS_NAN, MINUS_NAN)] for m in members]
    assert got == [positive, signed, negative, quiet]


def test_nan_made_by_overflow() -> None:
    def row(nan: str) -> list[int]:
        numbers = (f32(1e9), f32(-1e9), PLUS_INF, MINUS_INF)
        return [encode(x, "f32", "e4m3", overflow="nonsaturating", nan=nan) for x in numbers]

    assert row("positive") == [0x7F, 0x7F, 0x7F, 0x7F]
    assert row("signed") == [0x7F, 0xFF, 0x7F, 0xFF]
    assert row("negative") == [0xFF, 0xFF, 0xFF, 0xFF]  # gfloat
    assert row("signed_quiet") == [0x7F, 0xFF, 0x7F, 0xFF]  # ml_dtypes
    # E5M2 has an Inf, so no NaN is made there.
    assert encode(f32(-1e9), "f32", "e5m2", overflow="nonsaturating", nan="negative") == 0xFC


@pytest.mark.parametrize(
    ("member", "e2m1", "e3m2", "int8", "e4m3"),
    [  # the codes for +NaN and -NaN
        ("max", [0x7, 0x7], [0x1F, 0x1F], [0x7F, 0x7F], [0x7F, 0x7F]),
        ("signed_max", [0x7, 0xF], [0x1F, 0x3F], [0x7F, 0x81], [0x7F, 0x7F]),
        ("zero", [0x0, 0x0], [0x00, 0x00], [0x00, 0x00], [0x7F, 0x7F]),
        ("signed_zero", [0x0, 0x8], [0x00, 0x20], [0x00, 0x00], [0x7F, 0x7F]),
        ("opposite_zero", [0x8, 0x0], [0x20, 0x00], [0x00, 0x00], [0x7F, 0x7F]),  # ml_dtypes
    ],
)
def test_nan_to_finite(
    member: str, e2m1: list[int], e3m2: list[int], int8: list[int], e4m3: list[int]
) -> None:
    for format, expected in (("e2m1", e2m1), ("e3m2", e3m2), ("int8", int8), ("e4m3", e4m3)):
        for zero_sign in ("kept", "dropped"):  # of inputs that are zeros, not of these
            got = [
                encode(x, "f32", format, nan_to_finite=member, zero_sign=zero_sign)
                for x in (PLUS_NAN, MINUS_NAN)
            ]
            assert got == expected


def test_nan_to_finite_error() -> None:
    assert encode(PLUS_NAN, "f32", "e4m3", nan_to_finite="error") == 0x7F
    assert encode(PLUS_INF, "f32", "e2m1", nan_to_finite="error") == 0x7
    for format in ("e2m1", "e2m3", "e3m2", "int8", "e1m2"):
        with pytest.raises(ValueError, match="NaN"):
            encode(PLUS_NAN, "f32", format, nan_to_finite="error")
    block = [PLUS_NAN, f32(1.0)]
    assert quantize(block, "f32", "e2m1", nan_to_finite="error") == (0xFF, [0, 0])
    with pytest.raises(ValueError, match="NaN"):
        quantize(block, "f32", "e2m1", nan_to_finite="error", block_nan="ignore")


@pytest.mark.parametrize(
    ("zero_sign", "underflow_sign", "expected"),
    [  # -0, the tie -0.25, -1e-30; towards negative too, where the last two are no zeros
        ("kept", "kept", [0x8, 0x8, 0x8]),
        ("dropped", "kept", [0x0, 0x8, 0x8]),  # compressed-tensors FP4
        ("kept", "dropped", [0x8, 0x0, 0x0]),  # MLIR
        ("dropped", "dropped", [0x0, 0x0, 0x0]),
    ],
)
def test_signs_of_zero(zero_sign: str, underflow_sign: str, expected: list[int]) -> None:
    signs: Choices = {"zero_sign": zero_sign, "underflow_sign": underflow_sign}
    numbers = [f32(-0.0), f32(-0.25), f32(-1e-30)]
    for format, extra in (("e2m1", 0), ("e4m3", 7)):
        scaled = [numbers[0], f32(-(2.0**-10)) if extra else numbers[1], numbers[2]]
        for rounding in ("ties_to_even", "toward_zero", "toward_positive", "ties_to_zero"):
            got = [encode(x, "f32", format, rounding, **signs) for x in scaled]
            assert got == [e << 4 if extra else e for e in expected]
        got = [encode(x, "f32", format, "toward_negative", **signs) for x in scaled]
        minus = 0x80 if extra else 0x8
        assert got == [minus if expected[0] else 0, minus + 1, minus + 1]
    assert encode(0x80000000, "f32", "int8", zero_sign=zero_sign) == 0
    assert encode(f32(-1.0), "f32", "e2m1", **signs) == 0xA


def test_subnormal_inputs() -> None:
    smallest_normal, subnormal = 0x0400, 0x03FF  # of f16: 2**-14 and just below
    assert encode(subnormal, "f16", "e5m2") == 0x04
    assert encode(subnormal, "f16", "e5m2", subnormal_inputs="flushed") == 0x00
    assert encode(smallest_normal, "f16", "e5m2", subnormal_inputs="flushed") == 0x04
    assert encode(subnormal + 0x8000, "f16", "e5m2", subnormal_inputs="flushed") == 0x80
    # A zero of its sign, which zero_sign and not underflow_sign decides.
    for zero_sign, underflow_sign, code in (("dropped", "kept", 0x00), ("kept", "dropped", 0x80)):
        signs: Choices = {"zero_sign": zero_sign, "underflow_sign": underflow_sign}
        negative = (subnormal + 0x8000, "f16", "e5m2", "toward_negative")
        assert encode(*negative, subnormal_inputs="flushed", **signs) == code
    # E4M3 code 07 is the largest subnormal of that source, 08 its smallest normal number.
    row = [encode(c, "e4m3", "e5m2", subnormal_inputs="flushed") for c in (0x07, 0x08, 0x87)]
    assert row == [0x00, 0x24, 0x80]
    assert encode(0x01, "e4m3", "e5m2") == 0x18  # 2**-9
    # Neither integers nor INT8 have subnormals.
    assert encode(0x01, "i8", "e4m3", subnormal_inputs="flushed") == 0x38
    assert encode(0x01, "int8", "e4m3", subnormal_inputs="flushed") == 0x08
    # amax does not see them either: a block of subnormals is a block of zeros.
    block = [0x80000001, 0x00000000]
    assert quantize(block, "f32", "int8", "toward_negative", zero_block="one") == (0, [0xFF, 0x00])
    flushed = quantize(block, "f32", "e4m3", zero_block="one", subnormal_inputs="flushed")
    assert flushed == (127, [0x80, 0x00])


@pytest.mark.parametrize(
    ("sixty_fourths", "symmetric", "full"),
    [
        (-127.0, [0x81] * 7, [0x81] * 7),
        (-127.5, [0x81] * 7, [0x80, 0x80, 0x81, 0x81, 0x81, 0x80, 0x81]),
        (-128.0, [0x81] * 7, [0x80] * 7),
        (-128.25, [0x81] * 7, [0x80] * 7),
        (-500.0, [0x81] * 7, [0x80] * 7),
        (float("-inf"), [0x81] * 7, [0x80] * 7),
        (127.5, [0x7F] * 7, [0x7F] * 7),
        (128.0, [0x7F] * 7, [0x7F] * 7),
        (float("inf"), [0x7F] * 7, [0x7F] * 7),
        (-126.5, [0x82, 0x81, 0x82, 0x82, 0x82, 0x81, 0x81], None),
    ],
)
def test_int8_range(sixty_fourths: float, symmetric: list[int], full: list[int] | None) -> None:
    x_bits = f32(sixty_fourths / 64)
    for clamp in ("after_rounding", "before_rounding"):
        for int8_range, want in (("symmetric", symmetric), ("full", full or symmetric)):
            got = [
                encode(x_bits, "f32", "int8", r, clamp=clamp, int8_range=int8_range)
                for r in ROUNDINGS
            ]
            assert got == want
    assert encode(x_bits, "f32", "e2m1", int8_range="full") == encode(x_bits, "f32", "e2m1")


def test_int8_range_full_of_a_negative_nan() -> None:
    for x_bits, code in ((MINUS_NAN, 0x80), (PLUS_NAN, 0x7F)):
        got = encode(x_bits, "f32", "int8", nan_to_finite="signed_max", int8_range="full")
        assert got == code


# --- pre_rounding --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x_bits", "source", "expected"),
    [  # E4M3 codes under none, float32, bfloat16, float16; 1.0625 is the tie of 38 and 39
        (f64(1.0625 + 2.0**-40), "f64", [0x39, 0x38, 0x38, 0x38]),
        (f64(1.0625 + 2.0**-20), "f64", [0x39, 0x39, 0x38, 0x38]),
        (f64(1.0625 + 2.0**-10), "f64", [0x39, 0x39, 0x38, 0x39]),
        (f32(1.0625 + 2.0**-20), "f32", [0x39, 0x39, 0x38, 0x38]),
        (0x3C41, "f16", [0x39, 0x39, 0x38, 0x39]),  # 1.0625 + 2**-10
        (0x3F89, "bf16", [0x39, 0x39, 0x39, 0x39]),  # 1.0625 + 2**-7
        (f64(-1.0625 - 2.0**-40), "f64", [0xB9, 0xB8, 0xB8, 0xB8]),
        (273, "i16", [0x79, 0x79, 0x78, 0x79]),  # 272 is the tie of 256 and 288
        (2**16 - 273, "i16", [0xF9, 0xF9, 0xF8, 0xF9]),
        (0xFFF8000000000000, "f64", [0x7F, 0x7F, 0x7F, 0x7F]),
    ],
)
def test_pre_rounding(x_bits: int, source: str, expected: list[int]) -> None:
    types = ("none", "float32", "bfloat16", "float16")
    assert [encode(x_bits, source, "e4m3", pre_rounding=t) for t in types] == expected


def test_pre_rounding_beyond_the_type_gives_inf() -> None:
    def code(x_bits: int, source: str, pre_rounding: str) -> int:
        return encode(x_bits, source, "e5m2", overflow="propagate", pre_rounding=pre_rounding)

    assert code(f32(65519.996), "f32", "float16") == 0x7B
    assert code(f32(65520.0), "f32", "none") == 0x7B
    assert code(f32(65520.0), "f32", "float16") == 0x7C
    assert code(f32(-65520.0), "f32", "float16") == 0xFC
    assert code(0x4780, "bf16", "float16") == 0x7C  # 65536: fewer fraction bits, wider exponent
    assert code(65520, "u16", "float16") == 0x7C
    assert code(65519, "u16", "float16") == 0x7B
    assert code(f64(1e39), "f64", "float32") == 0x7C
    assert code(f64(1e39), "f64", "bfloat16") == 0x7C
    assert code(f64(3e38), "f64", "float32") == 0x7B


def test_pre_rounding_keeps_the_sign_of_nan_and_comes_before_flushing() -> None:
    got = encode(0xFFF8000000000001, "f64", "e5m2", nan="signed", pre_rounding="float16")
    assert got == 0xFF

    def flushed(x_bits: int, source: str, pre_rounding: str) -> int:
        return encode(x_bits, source, "e5m2", pre_rounding=pre_rounding, subnormal_inputs="flushed")

    assert flushed(0x3800, "bf16", "none") == 0x02  # 2**-15
    assert flushed(0x3800, "bf16", "float16") == 0x00  # a subnormal number of float16
    assert flushed(0x0200, "f16", "none") == 0x00  # 2**-15 in float16
    assert flushed(0x0200, "f16", "float32") == 0x00  # not widened, so still subnormal
    assert flushed(0x0200, "f16", "bfloat16") == 0x02  # rounded to bfloat16, and normal there


def test_pre_rounding_of_blocks() -> None:
    almost_8 = f32(7.9999995)
    assert quantize([almost_8], "f32", "e2m1") == (127, [0x7])
    assert quantize([almost_8], "f32", "e2m1", pre_rounding="bfloat16") == (128, [0x6])
    block = [f32(70000.0), f32(1.0)]
    assert quantize(block, "f32", "e2m1", pre_rounding="float16") == (0xFF, [0, 0])
    got = quantize(block, "f32", "e2m1", pre_rounding="float16", block_inf="ignore")
    assert got == (125, [0x7, 0x6])


# --- stochastic rounding -------------------------------------------------------------------------


def share_by_definition(nu: Fraction, width: int, rounding: str) -> Fraction:
    """Return the share of round-ups over all random bits, by P3109's three definitions."""
    scaled = nu * 2**width
    count = {
        "stochastic_a": scaled.__floor__(),
        "stochastic_b": (scaled + Fraction(1, 2)).__floor__(),
        "stochastic_c": round(scaled),  # of a Fraction, ties to even
    }[rounding]
    return Fraction(count, 2**width)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rounding", STOCHASTIC)
@pytest.mark.parametrize("format", ["e2m1", "e4m3", "e5m2fnuz", "int8"])
def test_share_of_round_ups(format: str, rounding: str) -> None:
    codes = {"e2m1": range(8), "e4m3": range(0x7F), "e5m2fnuz": range(0x80), "int8": range(0x80)}
    tested = [c for c in codes[format][:-1] if c < 12 or c % 17 == 0]
    moved = 0
    for code in tested:
        low, high = value(code, format), value(code + 1, format)
        for part in (0, 1, 4, 8, 12, 20, 24, 31, 32, 33, 40, 63):
            number = low + (high - low) * Fraction(part, 64)
            for sign in (0, 1):
                x_bits = f64(float(number)) + (sign << 63)
                down, up = (
                    encode(decode(c, format, "f64") + (sign << 63), "f64", format)
                    for c in (code, code + 1)
                )
                for width in range(1, 7):
                    got = [
                        encode(x_bits, "f64", format, rounding, random_bits=r, random_width=width)
                        for r in range(2**width)
                    ]
                    assert got == sorted(got, key=[down, up].index)  # more bits, more round-ups
                    share = Fraction(got.count(up), 2**width) if up != down else Fraction(0)
                    assert share == share_by_definition(Fraction(part, 64), width, rounding)
                    moved += share != 0
    assert moved > len(tested)


@pytest.mark.parametrize("rounding", STOCHASTIC)
def test_exact_numbers_never_move(rounding: str) -> None:
    for code in range(0x7F):
        x_bits = decode(code, "e4m3", "f32")
        for width in (1, 5, 32):
            for r in (0, 2**width - 1):
                assert (
                    encode(x_bits, "f32", "e4m3", rounding, random_bits=r, random_width=width)
                    == code
                )


def test_stochastic_a_without_bits_is_truncation() -> None:
    for bits in range(0, 2**16, 7):
        for overflow in OVERFLOWS:
            got = encode(bits, "f16", "e4m3", "stochastic_a", overflow, random_width=8)
            want = encode(bits, "f16", "e4m3", "toward_zero", overflow)
            # IEEE overflow stops at the maximum for toward_zero, a direction to zero.
            if overflow == "nonsaturating_ieee":
                want = encode(bits, "f16", "e4m3", "toward_zero", "nonsaturating")
            assert got == want


@pytest.mark.parametrize(
    ("rounding", "first_up"),
    [  # nu is 5.5 / 16 with 4 bits
        ("stochastic_a", 11),  # floor 5: up from R = 11
        ("stochastic_b", 10),  # 11 + 2R + 1 >= 32: from R = 10
        ("stochastic_c", 10),  # 5.5 to the even 6: from R = 10
    ],
)
def test_stochastic_by_hand(rounding: str, first_up: int) -> None:
    x_bits = f32(4 + 2 * 5.5 / 16)  # between 4 and 6
    for sign in (0, 1):
        got = [
            encode(x_bits + (sign << 31), "f32", "e2m1", rounding, random_bits=r, random_width=4)
            for r in range(16)
        ]
        assert got == [6 + 8 * sign] * first_up + [7 + 8 * sign] * (16 - first_up)


def test_stochastic_c_ties_to_even_where_b_does_not() -> None:
    x_bits = f32(4 + 2 * 4.5 / 16)  # 4.5 to 4 in c, to 5 in b
    got = [
        [encode(x_bits, "f32", "e2m1", r, random_bits=11, random_width=4) for r in STOCHASTIC],
        [encode(x_bits, "f32", "e2m1", r, random_bits=12, random_width=4) for r in STOCHASTIC],
    ]
    assert got == [[6, 7, 6], [7, 7, 7]]


def test_stochastic_with_32_bits_far_below_the_smallest_number() -> None:
    tiny = f64(2.0**-21 * (1 + 2.0**-52))  # nu is 2**-20 (1 + 2**-52) of 0.5: 4096 in 2**32
    for rounding in STOCHASTIC:
        for r, code in ((2**32 - 4097, 0), (2**32 - 4096, 1)):
            got = encode(tiny, "f64", "e2m1", rounding, random_bits=r, random_width=32)
            assert got == code
        least = encode(1, "f64", "e2m1", rounding, random_bits=2**32 - 1, random_width=32)
        assert least == 0


def test_stochastic_blocks_take_one_draw_for_each_number() -> None:
    block = [f32(4.0), f32(5.0), f32(-5.0), f32(5.0)]
    got = quantize(block, "f32", "e2m1", "stochastic_a", random_bits=[3, 1, 2, 3], random_width=2)
    assert got == (127, [6, 6, 15, 7])
    for draws, message in (
        (None, "random_bits must be as many"),
        ([0] * 3, "random_bits must be as many"),
        ([0, 0, 0, 4], "random_bits must be .* 0x3; got 4"),
    ):
        with pytest.raises(ValueError, match=message):
            quantize(block, "f32", "e2m1", "stochastic_b", random_bits=draws, random_width=2)


# --- sources -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x_bits", "source", "format", "expected"),
    [
        (0x80, "i8", "e4m3", 0xF0),  # -128
        (0x7F, "i8", "e4m3", 0x70),  # 127 to 128
        (0xFF, "u8", "e4m3", 0x78),  # 255 to 256
        (0xFF, "i8", "e2m1", 0xA),  # -1
        (0, "i32", "e4m3", 0x00),
        (272, "u16", "e4m3", 0x78),  # the tie of 256 and 288
        (273, "u16", "e4m3", 0x79),
        (0xFFFF, "u16", "e5m2", 0x7B),
        (61439, "i32", "e5m2", 0x7B),
        (2**32 - 5, "i32", "e2m1", 0xE),  # -5, the tie of 4 and 6
        (2**63, "i64", "e5m2", 0xFB),  # -2**63
        (2**64 - 1, "u64", "e4m3", 0x7E),
        (2**64 - 1, "i64", "e4m3", 0xB8),
        (1, "u32", "int8", 0x40),
        (3, "u64", "ue5m3", 0x84),  # 3 = 1.5 * 2
        (0x38, "e4m3", "e2m1", 0x2),  # 1
        (0x89, "e4m3", "e5m2", 0xA4),  # -1.125 * 2**-6, the tie of 1 and 1.25
        (0x8B, "e4m3", "e5m2", 0xA6),  # -1.375 * 2**-6, the tie of 1.25 and 1.5
        (0xC0, "int8", "e2m1", 0xA),  # -1
        (0x80, "int8", "e2m1", 0xC),  # -2
        (0x7F, "e4m3fnuz", "e4m3", 0x77),  # 240
        (0x80, "e4m3fnuz", "e5m2", 0x7F),
        (0xFC, "e5m2", "e4m3", 0xFE),  # -Inf
        (0x7F, "binary8p4", "e5m2", 0x7B),  # Inf
        (0xF, "e2m1", "e2m3", 0x3C),  # -6
        (0x7E, "ue4m3", "e4m3", 0x7E),
    ],
)
def test_sources(x_bits: int, source: str, format: str, expected: int) -> None:
    assert encode(x_bits, source, format) == expected


def test_signed_nan_of_an_element_source() -> None:
    assert [encode(x, "e4m3", "e5m2", nan="signed") for x in (0x7F, 0xFF)] == [0x7F, 0xFF]
    got = [encode(x, "e5m2", "e2m1", nan_to_finite="signed_max") for x in (0x7D, 0xFD)]
    assert got == [0x7, 0xF]


def test_blocks_of_integers_and_of_codes() -> None:
    # -2**63 is 4 * 2**61; 2**59 is the tie of 0 and 0.5 there.
    block = [2**63, 2**59, 2**59 + 1, 2**64 - 2**59 - 1, 1]
    assert quantize(block, "i64", "e2m1") == (188, [0xE, 0x0, 0x1, 0x9, 0x0])
    assert quantize(block[:1], "u64", "e2m1") == (188, [0x6])
    assert quantize([7, 0xFF], "i8", "e2m1") == (127, [0x7, 0xA])
    assert quantize([0x7E, 0x01], "e4m3", "int8") == (135, [0x70, 0x00])  # 448 / 256 = 112 / 64
    assert quantize([0x7F, 0x38], "e4m3", "e2m1") == (0xFF, [0, 0])
    assert shared_scale(0x80, "i8", "e2m1") == 132
    assert encode_scale(0x80, "i8") == 134
    assert encode_scale(0x39, "e4m3", "toward_positive") == 128
    for width in (8, 16, 32, 64):
        with pytest.raises(ValueError, match="x_bits must be"):
            encode(2**width, f"i{width}", "e4m3")


# --- scales --------------------------------------------------------------------------------------

# The rows of section 2 of the survey of implementations, float32 bits to E8M0.
E8M0_INPUTS = (
    0x00000000,  # +0
    0x80000000,  # -0
    0xBF800000,  # -1
    0x00000001,  # 2**-149
    0x00400000,  # 2**-127
    0x0040A3D7,  # 1.01 * 2**-127
    0x00600000,  # 1.5 * 2**-127
    0x3FB504F8,  # 1.4142...
    0x3FC00000,  # 1.5
    0x40400000,  # 3
    0x7F400000,  # 1.5 * 2**127
    0x7F800000,  # Inf
    0x7FC00000,  # NaN
    0xFFC00000,  # -NaN
)
CUDA_NOSAT = {"scale_overflow": "nan", "scale_of_inf": "nan"}
CUDA_SAT = {"scale_overflow": "clamp", "scale_of_inf": "largest"}
ONNX_NOSAT = {"tiny_scale": "always_up", "scale_overflow": "nan", "scale_of_inf": "nan"}
ONNX_SAT = {**ONNX_NOSAT, "scale_overflow": "clamp"}
FLAVOURS: dict[str, tuple[str, dict[str, str], tuple[int, ...]]] = {
    "cuda_rn_nosat": (
        "ties_to_away",
        CUDA_NOSAT,
        (0, 0, 127, 0, 0, 0, 1, 127, 128, 129, 255, 255, 255, 255),
    ),
    "cuda_rn_sat": (
        "ties_to_away",
        CUDA_SAT,
        (0, 0, 127, 0, 0, 0, 1, 127, 128, 129, 254, 254, 255, 255),
    ),
    "cuda_rz_nosat": (
        "toward_zero",
        CUDA_NOSAT,
        (0, 0, 127, 0, 0, 0, 0, 127, 127, 128, 254, 255, 255, 255),
    ),
    "cuda_rz_sat": (
        "toward_zero",
        CUDA_SAT,
        (0, 0, 127, 0, 0, 0, 0, 127, 127, 128, 254, 254, 255, 255),
    ),
    "cuda_rp_nosat": (
        "toward_positive",
        CUDA_NOSAT,
        (0, 0, 127, 0, 0, 1, 1, 128, 128, 129, 255, 255, 255, 255),
    ),
    "cuda_rp_sat": (
        "toward_positive",
        CUDA_SAT,
        (0, 0, 127, 0, 0, 1, 1, 128, 128, 129, 254, 254, 255, 255),
    ),
    "cutlass": (
        "toward_positive",
        {"scale_overflow": "clamp", "scale_of_inf": "nan"},
        (0, 0, 127, 0, 0, 1, 1, 128, 128, 129, 254, 255, 255, 255),
    ),
    "ml_dtypes": (
        "ties_to_away",
        {
            "tiny_scale": "as_if_zero",
            "scale_of_zero": "nan",
            "scale_of_negative": "nan",
            "scale_overflow": "nan",
            "pre_rounding": "float32",
        },
        (255, 255, 255, 0, 0, 1, 1, 127, 128, 129, 255, 255, 255, 255),
    ),
    "torch": (
        "ties_to_away",
        {"tiny_scale": "as_if_zero", "scale_overflow": "nan", "pre_rounding": "float32"},
        (0, 0, 127, 0, 0, 1, 1, 127, 128, 129, 255, 255, 255, 255),
    ),
    "onnx_nearest_nosat": (
        "ties_to_away",
        ONNX_NOSAT,
        (0, 0, 127, 0, 0, 1, 1, 127, 128, 129, 255, 255, 255, 255),
    ),
    "onnx_nearest_sat": (
        "ties_to_away",
        ONNX_SAT,
        (0, 0, 127, 0, 0, 1, 1, 127, 128, 129, 254, 255, 255, 255),
    ),
    "onnx_up_nosat": (
        "toward_positive",
        ONNX_NOSAT,
        (0, 0, 127, 1, 1, 1, 1, 128, 128, 129, 255, 255, 255, 255),
    ),
    "onnx_up_sat": (
        "toward_positive",
        ONNX_SAT,
        (0, 0, 127, 1, 1, 1, 1, 128, 128, 129, 254, 255, 255, 255),
    ),
    "onnx_down": (
        "toward_zero",
        ONNX_SAT,
        (0, 0, 127, 0, 0, 0, 0, 127, 127, 128, 254, 255, 255, 255),
    ),
    "openvino": (
        "ties_to_even",
        {
            "tiny_scale": "as_if_zero",
            "scale_of_negative": "code_00",
            "scale_overflow": "clamp",
            "scale_of_inf": "largest",
        },
        (0, 0, 0, 0, 0, 1, 1, 127, 128, 128, 254, 254, 255, 0),
    ),
    "ck_mlir": ("toward_zero", {}, (0, 0, 127, 0, 0, 0, 0, 127, 127, 128, 254, 255, 255, 255)),
}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_published_flavours_of_encode_scale(flavour: str) -> None:
    rounding, choices, expected = FLAVOURS[flavour]
    got = tuple(encode_scale(x, "f32", rounding, **choices) for x in E8M0_INPUTS)
    assert got == expected


def test_double_rounding_of_published_flavours() -> None:
    almost = f64(1.4999999999986358)
    assert encode_scale(almost, "f64", "ties_to_away", **CUDA_NOSAT) == 127
    rounding, choices, _ = FLAVOURS["ml_dtypes"]
    assert encode_scale(almost, "f64", rounding, **choices) == 128
    assert encode_scale(f64(1e-300), "f64", rounding, **choices) == 255  # flushes to 0
    assert encode_scale(f64(-1e-300), "f64", rounding, **choices) == 255
    rounding, choices, _ = FLAVOURS["torch"]
    assert encode_scale(almost, "f64", rounding, **choices) == 128
    assert encode_scale(f64(1e-300), "f64", rounding, **choices) == 0
    assert encode_scale(f64(1e39), "f64", pre_rounding="float32", scale_of_inf="largest") == 254
    assert encode_scale(f64(1e39), "f64", scale_overflow="nan", scale_of_inf="largest") == 255


@pytest.mark.parametrize(
    ("member", "expected"),
    [  # -0, -1.5, -Inf, -NaN, -2**-149
        ("magnitude", [0, 127, 254, 255, 0]),
        ("nan", [0, 255, 255, 255, 255]),
        ("code_00", [0, 0, 0, 0, 0]),
        ("code_00_if_finite", [0, 0, 255, 255, 0]),
    ],
)
def test_scale_of_negative(member: str, expected: list[int]) -> None:
    inputs = (0x80000000, 0xBFC00000, MINUS_INF, MINUS_NAN, 0x80000001)
    got = [encode_scale(x, "f32", scale_of_negative=member, scale_of_inf="largest") for x in inputs]
    assert got == expected
    assert [encode_scale(x - 2**31, "f32", scale_of_negative=member) for x in inputs] == [
        0,
        127,
        255,
        255,
        0,
    ]
    zero = encode_scale(0x80000000, "f32", scale_of_zero="nan", scale_of_negative=member)
    assert zero == (0 if member.startswith("code_00") else 255)


@pytest.mark.parametrize(
    ("tiny_scale", "x_bits", "expected"),
    [  # in the order of ROUNDINGS
        ("exact", 0x00000001, [0, 0, 0, 0, 0, 0, 0]),
        ("exact", 0x003FFFFF, [0, 0, 0, 0, 0, 0, 0]),
        ("exact", 0x00400000, [0, 0, 0, 0, 0, 0, 0]),
        ("exact", 0x00400001, [0, 0, 0, 0, 1, 0, 1]),
        ("exact", 0x00600000, [0, 1, 0, 0, 1, 0, 1]),
        ("exact", 0x00600001, [1, 1, 1, 0, 1, 0, 1]),
        ("as_if_zero", 0x00000001, [0, 0, 0, 0, 0, 0, 0]),
        ("as_if_zero", 0x00400000, [0, 0, 0, 0, 0, 0, 0]),
        ("as_if_zero", 0x00400001, [1, 1, 1, 0, 1, 0, 1]),
        ("as_if_zero", 0x007FFFFF, [1, 1, 1, 0, 1, 0, 1]),
        ("always_up", 0x00000001, [0, 0, 0, 0, 1, 0, 0]),
        ("always_up", 0x00400000, [0, 0, 0, 0, 1, 0, 0]),
        ("always_up", 0x00400001, [1, 1, 1, 0, 1, 0, 1]),
        ("always_up", 0x00000000, [0, 0, 0, 0, 0, 0, 0]),
        ("always_up", 0x00800000, [1, 1, 1, 1, 1, 1, 1]),
        ("as_if_zero", 0x00C00000, [2, 2, 1, 1, 2, 1, 1]),  # 1.5 * 2**-126
    ],
)
def test_tiny_scale(tiny_scale: str, x_bits: int, expected: list[int]) -> None:
    assert [encode_scale(x_bits, "f32", r, tiny_scale=tiny_scale) for r in ROUNDINGS] == expected


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("code_00", 0x00), ("code_01", 0x01), ("one", 0x7F), ("minus_emax", 0x7D), ("nan", 0xFF)],
)
def test_zero_block(choice: str, expected: int) -> None:
    assert shared_scale(0x80000000, "f32", "e2m1", zero_block=choice) == expected
    codes = [0x0, 0x0] if choice == "nan" else [0x0, 0x8]
    assert quantize([0, 0x80000000], "f32", "e2m1", zero_block=choice) == (expected, codes)
    assert shared_scale(0x3F800000, "f32", "e2m1", zero_block=choice) == 125
    # Nothing is left for amax.
    got = quantize([PLUS_NAN], "f32", "e4m3", zero_block=choice, block_nan="ignore")
    assert got == (119 if choice == "minus_emax" else expected, [0 if choice == "nan" else 0x7F])


@pytest.mark.parametrize(
    ("amax", "format", "rule", "clamp", "nan", "wrap"),
    [
        (2.0**200, "e2m1", "floor", (0xFE, [0x7]), (0xFF, [0]), (69, [0x7])),  # 325 - 256
        (2.0**130, "e2m1", "floor", (0xFE, [0x7]), (0xFF, [0]), (0xFF, [0x6])),  # 4 * 2**128
        (2.0**129, "e2m1", "floor", (0xFE, [0x6])) + ((0xFE, [0x6]),) * 2,
        (2.0**129, "e4m3", "floor", (248, [0x78])) + ((248, [0x78]),) * 2,
        (2.0**128 - 2.0**104, "int8", "even", (0xFE, [0x7F]), (0xFF, [0]), (0xFF, [0x40])),
        (2.0**128 - 2.0**104, "int8", "floor", (0xFE, [0x7F])) + ((0xFE, [0x7F]),) * 2,
    ],
)
def test_scale_overflow(
    amax: float,
    format: str,
    rule: str,
    clamp: tuple[int, list[int]],
    nan: tuple[int, list[int]],
    wrap: tuple[int, list[int]],
) -> None:
    for member, expected in (("clamp", clamp), ("nan", nan), ("wrap", wrap)):
        got = quantize([f64(amax)], "f64", format, rule=rule, scale_overflow=member)
        assert got == expected
        scale = shared_scale(f64(amax), "f64", format, rule, scale_overflow=member)
        assert scale == expected[0]


@pytest.mark.parametrize(
    ("exponent", "format", "rule", "code"),
    [
        (-125, "e2m1", "floor", 0),
        (-126, "e2m1", "floor", 255),  # llama.cpp
        (-149, "e2m1", "floor", 232),
        (-125, "e2m1", "rceil", 0),  # MLX 0.32.4
        (-126, "e2m1", "rceil", 255),
        (-130, "e2m1", "rceil", 251),
        (-140, "e2m1", "rceil", 241),
        (-120, "e4m3", "rceil", 255),
        (-124, "e4m3", "rceil", 251),
        (-130, "e4m3", "rceil", 245),
    ],
)
def test_scale_underflow_wraps_as_published(
    exponent: int, format: str, rule: str, code: int
) -> None:
    amax = f32(2.0**exponent)
    assert shared_scale(amax, "f32", format, rule, scale_underflow="wrap") == code
    got = quantize([amax, amax + 2**31], "f32", format, rule=rule, scale_underflow="wrap")
    if code:
        assert got == (code, [0, 0x8 if format == "e2m1" else 0x80])
    assert shared_scale(amax, "f32", format, rule, scale_underflow="clamp") == 0
    beyond = shared_scale(amax, "f32", format, rule, scale_underflow="nan")
    assert beyond == (0xFF if code else 0)
    assert shared_scale(amax, "f32", format, rule, scale_underflow="flush") == 0


def test_scale_underflow_of_the_elements() -> None:
    block = [f32(2.0**-127), f32(-(2.0**-128)), 0x80000000]  # 1, -0.5 and -0 of 2**-127
    expected = {
        "clamp": (0x00, [0x2, 0x9, 0x8]),
        "nan": (0xFF, [0x0, 0x0, 0x0]),
        "wrap": (0xFE, [0x0, 0x8, 0x8]),
        "flush": (0x00, [0x0, 0x8, 0x8]),
        "flush_subnormal": (0x00, [0x0, 0x8, 0x8]),
    }
    for member, want in expected.items():
        assert quantize(block, "f32", "e2m1", scale_underflow=member) == want
    # Code FE, wrapped from -129, is 2**127, and rounding away from zero shows that it is in use.
    got = quantize(block, "f32", "e2m1", "toward_negative", scale_underflow="wrap")
    assert got == (0xFE, [0x0, 0x9, 0x8])
    got = quantize(block, "f32", "e2m1", "toward_negative", scale_underflow="flush")
    assert got == (0x00, [0x0, 0x8, 0x8])
    # 2**-127 itself is no underflow, and neither is a block of zeros.
    assert quantize([f32(2.0**-125)], "f32", "e2m1", scale_underflow="flush") == (0, [0x6])
    assert quantize([0], "f32", "e2m1", scale_underflow="nan") == (0, [0])


def test_blocks_of_subnormals_are_flushed_by_amax_not_by_scale() -> None:
    """As microxcaling's flush_fp32_subnorms: the scale stays that of the amax."""
    flush = {"scale_underflow": "flush_subnormal"}
    least = f32(2.0**-126)  # its scale underflows in all formats but INT8
    assert quantize([least, 1], "f32", "e2m1", **flush) == (0, [0x4, 0x0])
    assert quantize([least], "f32", "e2m1", scale_underflow="flush") == (0, [0x0])
    assert quantize([least - 1, 0x80000001], "f32", "e2m1", **flush) == (0, [0x0, 0x8])
    assert quantize([least - 1], "f32", "int8", **flush) == (0, [0x00])  # 2**-127 holds it
    assert quantize([least - 1], "f32", "int8", rule="ceil", **flush) == (1, [0x00])
    assert quantize([f64(2.0**-126)], "f64", "e5m2", **flush) == (0, [0x40])
    assert quantize([f64(2.0**-126) - 1], "f64", "e5m2", **flush) == (0, [0x00])
    assert quantize([1], "f16", "e4m3", **flush) == (95, [0x78])  # 2**-24 is normal in float32
    assert shared_scale(least - 1, "f32", "int8", "ceil", **flush) == 1
    assert quantize([0], "f32", "e2m1", zero_block="one", **flush) == (127, [0x0])


def test_flushed_elements_are_zeros_for_zero_sign() -> None:
    block = [f32(-(2.0**-140)), 0x80000000]
    for zero_sign, codes in (("kept", [0x8, 0x8]), ("dropped", [0x0, 0x0])):
        got = quantize(block, "f32", "e2m1", scale_underflow="flush", zero_sign=zero_sign)
        assert got == (0, codes)


def test_amax_type() -> None:
    just_below_7 = 0x40DFFFFF
    for amax_type, code in (("source", 127), ("float32", 127), ("bfloat16", 128), ("float16", 128)):
        assert shared_scale(just_below_7, "f32", "e2m1", "even", amax_type=amax_type) == code
        got = quantize([just_below_7], "f32", "e2m1", rule="even", amax_type=amax_type)
        assert got == (
            code,
            [0x7 if code == 127 else 0x5],
        )  # 3.49.. and not 3.5: only amax is narrowed
    just_below_8 = f64(8.0 - 2.0**-40)
    row = [shared_scale(just_below_8, "f64", "e2m1", amax_type=t) for t in ("source", "float32")]
    assert row == [127, 128]
    # A float16 amax is not widened, and rounded to bfloat16.
    assert [shared_scale(0x47FF, "f16", "e2m1", amax_type=t) for t in ("float32", "bfloat16")] == [
        127,
        128,
    ]


def test_amax_that_overflows_or_vanishes_in_its_type() -> None:
    block = [f32(70000.0), f32(1.0)]
    for scale_overflow, expected in (
        ("clamp", (0xFE, [0x1, 0x1])),
        ("nan", (0xFF, [0x0, 0x0])),
        ("wrap", (0xFF, [0x1, 0x1])),
    ):
        for rule in ("floor", "rceil", "nearest"):
            chosen: Choices = {"amax_type": "float16", "scale_overflow": scale_overflow}
            got = quantize(block, "f32", "e2m1", "toward_positive", rule=rule, **chosen)
            assert got == expected
            assert shared_scale(block[0], "f32", "e2m1", rule, **chosen) == expected[0]
    assert shared_scale(PLUS_INF, "f32", "e2m1", amax_type="float16") == 0xFF
    assert shared_scale(f32(1e-9), "f32", "e2m1", amax_type="float16", zero_block="one") == 127


# --- blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "choices", "expected"),
    [
        ([PLUS_NAN, f32(4.0)], {}, (0xFF, [0, 0])),
        ([PLUS_NAN, f32(4.0)], {"block_nan": "ignore"}, (121, [0x7F, 0x78])),
        ([MINUS_NAN, f32(4.0)], {"block_nan": "ignore", "nan": "signed"}, (121, [0xFF, 0x78])),
        ([PLUS_NAN, PLUS_NAN], {"block_nan": "ignore"}, (0, [0x7F, 0x7F])),
        ([MINUS_INF, f32(4.0)], {}, (0xFF, [0, 0])),
        ([MINUS_INF, f32(4.0)], {"block_inf": "largest_scale"}, (0xFE, [0xFE, 0x00])),
        ([MINUS_INF, f32(4.0)], {"block_inf": "ignore"}, (121, [0xFE, 0x78])),
        (
            [MINUS_INF, f32(4.0)],
            {"block_inf": "ignore", "overflow": "nonsaturating"},
            (121, [0x7F, 0x78]),
        ),
        ([PLUS_INF], {"block_inf": "ignore"}, (0, [0x7E])),
        ([PLUS_INF, PLUS_NAN], {"block_inf": "ignore"}, (0xFF, [0, 0])),
        ([PLUS_INF, PLUS_NAN], {"block_inf": "largest_scale"}, (0xFF, [0, 0])),
        ([PLUS_INF, PLUS_NAN], {"block_nan": "ignore"}, (0xFF, [0, 0])),
        (
            [PLUS_INF, PLUS_NAN],
            {"block_nan": "ignore", "block_inf": "largest_scale"},
            (0xFE, [0x7E, 0x7F]),
        ),
        (
            [PLUS_INF, PLUS_NAN, f32(-4.0)],
            {"block_nan": "ignore", "block_inf": "ignore"},
            (121, [0x7E, 0x7F, 0xF8]),
        ),
        (  # 2**127 is 1 at the largest scale
            [PLUS_INF, f32(2.0**127)],
            {"block_inf": "largest_scale", "scale_overflow": "nan"},
            (0xFE, [0x7E, 0x38]),
        ),
    ],
)
def test_nan_and_inf_in_blocks(
    numbers: list[int], choices: dict[str, str], expected: tuple[int, list[int]]
) -> None:
    assert quantize(numbers, "f32", "e4m3", **choices) == expected  # type: ignore[arg-type]


def test_ignored_nan_in_a_format_without_nan() -> None:
    block = [MINUS_NAN, f32(4.0)]
    for nan_to_finite, code in (("max", 0x7), ("opposite_zero", 0x0), ("signed_zero", 0x8)):
        got = quantize(block, "f32", "e2m1", block_nan="ignore", nan_to_finite=nan_to_finite)
        assert got == (127, [code, 0x6])


# --- decoding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "target", "choices", "expected"),
    [
        (0x00, "f32", {"scale_00": "power"}, 0x00400000),
        (0x00, "f32", {"scale_00": "zero"}, 0x00000000),
        (0x01, "f32", {"scale_00": "zero"}, 0x00800000),
        (0xFF, "f32", {"scale_ff": "nan"}, 0x7FC00000),
        (0xFF, "f32", {"scale_ff": "inf"}, 0x7F800000),
        (0xFF, "f32", {"scale_ff": "power"}, 0x7F800000),
        (0xFF, "f64", {"scale_ff": "inf"}, 0x7FF0000000000000),
        (0xFF, "f64", {"scale_ff": "power"}, 0x47F0000000000000),
        (0xFE, "f64", {"scale_ff": "inf"}, 0x47E0000000000000),
    ],
)
def test_decode_scale(code: int, target: str, choices: dict[str, str], expected: int) -> None:
    assert decode_scale(code, target, **choices) == expected


def test_decoded_zero() -> None:
    assert [decode(0x8, "e2m1", decoded_zero=z) for z in ("kept", "dropped")] == [0x80000000, 0]
    assert decode(0x9, "e2m1", decoded_zero="dropped") == f32(-0.5)
    assert decode(0xFC, "e5m2", decoded_zero="dropped") == MINUS_INF
    for code, kept in ((0x8, 0x80000000), (0x9, 0x80400000)):
        assert dequantize(1, code, "e2m1") == kept
    assert dequantize(1, 0x8, "e2m1", decoded_zero="dropped") == 0
    assert dequantize(1, 0x9, "e2m1", decoded_zero="dropped") == 0x80400000
    assert dequantize(1, 0x9, "e2m1", "f16") == 0x8000  # a product that rounds to zero
    assert dequantize(1, 0x9, "e2m1", "f16", decoded_zero="dropped") == 0x0000


@pytest.mark.parametrize(
    ("scale", "code", "format", "choices", "expected"),
    [
        (0x00, 0x7E, "e4m3", {"scale_00": "zero"}, 0x00000000),
        (0x00, 0xFE, "e4m3", {"scale_00": "zero"}, 0x80000000),
        (0x00, 0xFE, "e4m3", {"scale_00": "zero", "decoded_zero": "dropped"}, 0x00000000),
        (0x00, 0x7F, "e4m3", {"scale_00": "zero"}, 0x7FC00000),
        (0x00, 0x7C, "e5m2", {"scale_00": "zero"}, 0x7FC00000),
        (0x00, 0xFC, "e5m2", {"scale_00": "power"}, 0xFF800000),
        (0xFF, 0x38, "e4m3", {"scale_ff": "inf"}, 0x7F800000),
        (0xFF, 0xB8, "e4m3", {"scale_ff": "inf"}, 0xFF800000),
        (0xFF, 0xB8, "e4m3", {"scale_ff": "inf", "product_overflow": "saturate"}, 0xFF800000),
        (0xFF, 0x80, "e4m3", {"scale_ff": "inf"}, 0x7FC00000),
        (0xFF, 0x7F, "e4m3", {"scale_ff": "inf"}, 0x7FC00000),
        (0xFF, 0xFC, "e5m2", {"scale_ff": "inf"}, 0xFF800000),
        (0xFF, 0x01, "e4m3", {"scale_ff": "power"}, 0x7B000000),  # 2**119
        (0xFF, 0x38, "e4m3", {"scale_ff": "power"}, 0x7F800000),
        (0xFF, 0xB8, "e4m3", {"scale_ff": "power", "product_overflow": "saturate"}, 0xFF7FFFFF),
        (0xFF, 0xB8, "e4m3", {"scale_ff": "power", "product_overflow": "nan"}, 0x7FC00000),
        (0xFF, 0x80, "e4m3", {"scale_ff": "power"}, 0x80000000),
        (0xFF, 0x7C, "e5m2", {"scale_ff": "power", "product_overflow": "saturate"}, 0x7F800000),
        (0xFF, 0x7F, "e4m3", {"scale_ff": "power"}, 0x7FC00000),
    ],
)
def test_dequantize_codes_00_and_ff(
    scale: int, code: int, format: str, choices: dict[str, str], expected: int
) -> None:
    assert dequantize(scale, code, format, **choices) == expected


@pytest.mark.parametrize(
    ("scale", "code", "target", "inf", "nan", "saturate"),
    [
        (0xFE, 0x4, "f32", 0x7F800000, 0x7FC00000, 0x7F7FFFFF),  # 2 * 2**127
        (0xFE, 0xF, "f32", 0xFF800000, 0x7FC00000, 0xFF7FFFFF),
        (0xFE, 0x3, "f32", 0x7F400000, 0x7F400000, 0x7F400000),  # 1.5 * 2**127
        (0xFE, 0xF, "bf16", 0xFF80, 0x7FC0, 0xFF7F),
        (0xFE, 0xF, "f64", 0xC808000000000000, 0xC808000000000000, 0xC808000000000000),
        (0x8E, 0x4, "f16", 0x7C00, 0x7E00, 0x7BFF),  # 2 * 2**15
        (0x8E, 0x3, "f16", 0x7A00, 0x7A00, 0x7A00),
        (0xFF, 0x4, "f32", 0x7FC00000, 0x7FC00000, 0x7FC00000),
    ],
)
def test_product_overflow(
    scale: int, code: int, target: str, inf: int, nan: int, saturate: int
) -> None:
    for member, expected in (("inf", inf), ("nan", nan), ("saturate", saturate)):
        assert dequantize(scale, code, "e2m1", target, product_overflow=member) == expected


def test_product_overflow_leaves_inf_elements_alone() -> None:
    for member in ("inf", "nan", "saturate"):
        assert dequantize(0x7F, 0xFC, "e5m2", product_overflow=member) == MINUS_INF


@pytest.mark.parametrize(
    ("scale", "code", "format", "choices", "once", "scale_first"),
    [  # to float16
        (0x66, 0x7, "e2m1", {}, 0x0003, 0x0000),  # 6 * 2**-25: 2**-25 is a tie of 0 and 2**-24
        (0x66, 0xF, "e2m1", {}, 0x8003, 0x8000),
        (0x66, 0xF, "e2m1", {"decoded_zero": "dropped"}, 0x8003, 0x0000),
        (0x67, 0x3, "e2m1", {}, 0x0002, 0x0002),  # 1.5 * 2**-24, a tie
        (0x8F, 0x1, "e2m1", {}, 0x7800, 0x7C00),  # 0.5 * 2**16
        (0x8F, 0x9, "e2m1", {"product_overflow": "saturate"}, 0xF800, 0xFBFF),
        (0x8F, 0x9, "e2m1", {"product_overflow": "nan"}, 0xF800, 0x7E00),
        (0x8F, 0x8, "e2m1", {}, 0x8000, 0x7E00),  # Inf times zero
        (0x8F, 0x8, "e2m1", {"product_overflow": "saturate"}, 0x8000, 0x7E00),
        (0x8F, 0xFC, "e5m2", {"product_overflow": "saturate"}, 0xFC00, 0xFC00),
        (0x66, 0xFC, "e5m2", {}, 0xFC00, 0x7E00),  # Inf times a scale that became zero
        (0xFF, 0x2, "e2m1", {"scale_ff": "power"}, 0x7C00, 0x7C00),
        (0x00, 0x7, "e2m1", {"scale_00": "zero"}, 0x0000, 0x0000),
        (0xFF, 0x2, "e2m1", {}, 0x7E00, 0x7E00),
        (0x8E, 0x3, "e2m1", {}, 0x7A00, 0x7A00),
    ],
)
def test_product_rounding(
    scale: int, code: int, format: str, choices: dict[str, str], once: int, scale_first: int
) -> None:
    got = [
        dequantize(scale, code, format, "f16", product_rounding=p, **choices)
        for p in ("once", "scale_first")
    ]
    assert got == [once, scale_first]


def test_product_rounding_with_scale_ff_as_a_power() -> None:
    kwargs = {"scale_ff": "power", "product_rounding": "scale_first"}
    assert dequantize(0xFF, 0x01, "e4m3", **kwargs) == PLUS_INF  # 2**128 became Inf in float32
    assert dequantize(0xFF, 0x01, "e4m3", "f64", **kwargs) == f64(2.0**119)
    assert dequantize(0xFF, 0x81, "e4m3", product_overflow="saturate", **kwargs) == 0xFF7FFFFF


# --- the defaults, and refusals ------------------------------------------------------------------

DEFAULTS = {
    "clamp": "after_rounding",
    "nan": "positive",
    "nan_to_finite": "max",
    "zero_sign": "kept",
    "underflow_sign": "kept",
    "subnormal_inputs": "kept",
    "int8_range": "symmetric",
    "pre_rounding": "none",
}
SCALE_DEFAULTS = {
    "zero_block": "code_00",
    "scale_overflow": "clamp",
    "scale_underflow": "clamp",
    "amax_type": "source",
}
BLOCK_DEFAULTS = {**DEFAULTS, **SCALE_DEFAULTS, "block_nan": "nan_block", "block_inf": "nan_block"}
CAST_DEFAULTS = {
    "scale_overflow": "clamp",
    "scale_of_zero": "code_00",
    "scale_of_negative": "magnitude",
    "scale_of_inf": "nan",
    "tiny_scale": "exact",
    "pre_rounding": "none",
}
DECODE_DEFAULTS = {"scale_00": "power", "scale_ff": "nan"}
PRODUCT_DEFAULTS = {
    **DECODE_DEFAULTS,
    "product_overflow": "inf",
    "product_rounding": "once",
    "decoded_zero": "kept",
}


def test_defaults_said_or_left_out() -> None:
    for x_bits in (*E8M0_INPUTS, f32(449.0), f32(-449.0), f32(1e30), f32(-2.0)):
        for format in ("e4m3", "e5m2", "e2m1", "int8"):
            for overflow in OVERFLOWS:
                args = (x_bits, "f32", format, "ties_to_even", overflow)
                assert encode(*args, **DEFAULTS) == encode(*args)  # type: ignore[arg-type]
            block = ([x_bits, f32(2.0**-127)], "f32", format)
            assert quantize(*block, **BLOCK_DEFAULTS) == quantize(*block)  # type: ignore[arg-type]
            amax = (x_bits, "f32", format, "rceil")
            assert shared_scale(*amax, **SCALE_DEFAULTS) == shared_scale(*amax)  # type: ignore[arg-type]
        assert encode_scale(x_bits, "f32", **CAST_DEFAULTS) == encode_scale(x_bits, "f32")
    for code in (0x00, 0x01, 0x8F, 0xFE, 0xFF):
        assert decode_scale(code, **DECODE_DEFAULTS) == decode_scale(code)
        assert decode(code, "e5m2", decoded_zero="kept") == decode(code, "e5m2")
        for element in (0x00, 0x80, 0x7C, 0x7B):
            product = (code, element, "e5m2", "f16")
            assert dequantize(*product, **PRODUCT_DEFAULTS) == dequantize(*product)  # type: ignore[arg-type]


CALLS: list[tuple[Callable[..., object], dict[str, str]]] = [
    (lambda **c: encode(0, "f32", "e4m3", **c), DEFAULTS),
    (lambda **c: quantize([0], "f32", "e4m3", **c), BLOCK_DEFAULTS),
    (lambda **c: shared_scale(0, "f32", "e4m3", **c), SCALE_DEFAULTS),
    (lambda **c: encode_scale(0, "f32", **c), CAST_DEFAULTS),
    (lambda **c: decode_scale(0, **c), DECODE_DEFAULTS),
    (lambda **c: dequantize(0, 0, "e4m3", **c), PRODUCT_DEFAULTS),
    (lambda **c: decode(0, "e4m3", **c), {"decoded_zero": "kept"}),
]


@pytest.mark.parametrize(("call", "names"), CALLS)
def test_unknown_members_and_names_are_refused(
    call: Callable[..., object], names: dict[str, str]
) -> None:
    call(**names)
    for name, member in names.items():
        with pytest.raises(ValueError, match=f"^{name} must be one of .*{member}.*; got 'no'$"):
            call(**{name: "no"})
    with pytest.raises(TypeError, match="'clump' is not a choice here"):
        call(clump="after_rounding")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encode(0, "f32", "e4m3", "stochastic"), "rounding must be one of .*stochastic_c"),
        (lambda: encode(0, "f32", "e4m3", overflow="ieee"), "overflow must be one of .*propagate"),
        (lambda: encode(0, "i7", "e4m3"), "source must be one of f16, .*, u64; got 'i7'"),
        (
            lambda: encode(0, "f32", "e4m3", "stochastic_a"),
            "random_width must be .* 1 to 32; got 0",
        ),
        (
            lambda: encode(0, "f32", "e4m3", "stochastic_a", random_width=33),
            "random_width must be .* 1 to 32; got 33",
        ),
        (
            lambda: encode(0, "f32", "e4m3", "stochastic_c", random_bits=4, random_width=2),
            "random_bits must be .* 0 to 0x3; got 4",
        ),
        (
            lambda: encode(0, "f32", "e4m3", "stochastic_c", random_bits=-1, random_width=2),
            "random_bits must be .*; got -1",
        ),
        (lambda: encode_scale(0, "f32", "stochastic_a"), "rounding must be one of .*to_odd; got"),
        (lambda: encode_scale(0, "f32", scale_overflow="wrap"), "encode_scale does not wrap$"),
        (lambda: shared_scale(0, "f32", "ue4m3"), "format must be one of .*; got 'ue4m3'"),
        (lambda: quantize([0], "f32", "ue5m3"), "format must be one of .*; got 'ue5m3'"),
        (lambda: dequantize(0, 0, "ue5m3"), "format must be one of .*; got 'ue5m3'"),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
