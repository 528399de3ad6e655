"""The slow twin against values typed from the standards, hand arithmetic and naive definitions.

Source: OCP MX v1.0 5 and 6.3; OFP8 Rev 1.0 4 and 5.2.1.
"""

from __future__ import annotations

import random
import struct
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import pytest
from helpers import INFINITY, QUIET_NAN, ROUNDINGS, WIDTH

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
from mxref.exact.breakpoints import breakpoints, code_finder
from mxref.exact.choice_table import ELEMENT_CHOICES, settle

SOURCES = ("f16", "bf16", "f32", "f64")
FORMATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")
OVERFLOWS = ("saturate", "nonsaturating")
BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
MAX_CODE = {"e5m2": 0x7B, "e4m3": 0x7E, "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 0x7, "int8": 0x7F}
EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}
AFTER_MAX = {"e5m2": 65536, "e4m3": 480, "e3m2": 32, "e2m3": 8, "e2m1": 8, "int8": 2}

# The non-negative values in the order of their codes, by the rule of OCP MX v1.0 5.3, and last
# the value that would come after the maximum.
BIAS_AND_MANTISSA = {
    "e5m2": (15, 2),
    "e4m3": (7, 3),
    "e3m2": (3, 2),
    "e2m3": (1, 3),
    "e2m1": (1, 1),
}


def naive_value(magnitude_code: int, format: str) -> Fraction:
    if format == "int8":
        return Fraction(magnitude_code, 64)
    bias, m = BIAS_AND_MANTISSA[format]
    exponent, mantissa = divmod(magnitude_code, 1 << m)
    fraction = Fraction(mantissa, 1 << m)
    if exponent > 0:
        return (1 + fraction) * (1 << exponent) / (1 << bias)
    return fraction * 2 / (1 << bias)


VALUES = {
    f: [naive_value(i, f) for i in range(MAX_CODE[f] + 1)] + [Fraction(AFTER_MAX[f])]
    for f in FORMATS
}

POWERS = [Fraction(2) ** e for e in range(-1074, 1024)]  # every power of two of f64


def float_value(bits: int, source: str) -> float:
    if source == "bf16":
        return float_value(bits << 16, "f32")
    form = {"f16": "<e", "f32": "<f", "f64": "<d"}[source]
    number: float = struct.unpack(form, bits.to_bytes(WIDTH[source] // 8, "little"))[0]
    return number


def bits_of(number: float, source: str) -> int:
    if source == "bf16":
        bits = bits_of(number, "f32")
        assert bits % 2**16 == 0, "not a bfloat16 number"
        return bits >> 16
    form = {"f16": "<e", "f32": "<f", "f64": "<d"}[source]
    return int.from_bytes(struct.pack(form, number), "little")


def f32(number: float) -> int:
    return bits_of(number, "f32")


def naive_magnitude_code(
    x: Fraction | int, negative: bool, values: Sequence[Fraction | int], rounding: str
) -> int:
    """Choose among `values`, whose last entry is the one after the maximum; its index overflows."""
    if x >= values[-1]:
        return len(values) - 1
    low = sum(v <= x for v in values) - 1
    to_low, to_high = x - values[low], values[low + 1] - x
    even = low if low % 2 == 0 else low + 1
    odd = low + 1 if low % 2 == 0 else low
    if to_low == 0:
        return low
    directed = {
        "toward_zero": low,
        "toward_positive": low if negative else low + 1,
        "toward_negative": low + 1 if negative else low,
        "to_odd": odd,
    }
    if rounding in directed:
        return directed[rounding]
    if to_low != to_high:
        return low if to_low < to_high else low + 1
    return {"ties_to_even": even, "ties_to_away": low + 1, "ties_to_zero": low}[rounding]


def naive_code(magnitude_code: int, negative: bool, format: str, overflow: str) -> int:
    if magnitude_code > MAX_CODE[format]:
        if overflow == "nonsaturating" and format == "e5m2":
            return 0xFC if negative else 0x7C
        if overflow == "nonsaturating" and format == "e4m3":
            return 0x7F
        magnitude_code = MAX_CODE[format]
    if not negative:
        return magnitude_code
    if format == "int8":
        return (256 - magnitude_code) % 256
    return magnitude_code + (1 << (BITS[format] - 1))


# --- values of codes ---------------------------------------------------------------------------


def test_every_e2m1_code_by_value() -> None:
    magnitudes = ["0", "1/2", "1", "3/2", "2", "3", "4", "6"]
    expected = [Fraction(m) for m in magnitudes] + [-Fraction(m) for m in magnitudes]
    assert [value(code, "e2m1") for code in range(16)] == expected


def test_every_fp6_magnitude_by_value() -> None:
    e2m3 = (
        [i / 8 for i in range(16)] + [2 + i / 4 for i in range(8)] + [4 + i / 2 for i in range(8)]
    )
    assert [value(code, "e2m3") for code in range(32)] == e2m3
    e3m2 = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112]
    e3m2 += [128, 160, 192, 224, 256, 320, 384, 448]
    assert [value(code, "e3m2") * 16 for code in range(32)] == e3m2
    assert [value(code + 32, "e3m2") * -16 for code in range(32)] == e3m2


@pytest.mark.parametrize(
    ("code", "format", "expected"),
    [
        (0x7B, "e5m2", Fraction(57344)),
        (0xFB, "e5m2", Fraction(-57344)),
        (0x04, "e5m2", Fraction(1, 2**14)),
        (0x03, "e5m2", Fraction(3, 2**16)),
        (0x01, "e5m2", Fraction(1, 2**16)),
        (0x80, "e5m2", Fraction(0)),
        (0x7E, "e4m3", Fraction(448)),
        (0x78, "e4m3", Fraction(256)),
        (0x08, "e4m3", Fraction(1, 2**6)),
        (0x07, "e4m3", Fraction(7, 2**9)),
        (0x81, "e4m3", Fraction(-1, 2**9)),
        (0x38, "e4m3", Fraction(1)),
        (0x7F, "int8", Fraction(127, 64)),
        (0x81, "int8", Fraction(-127, 64)),
        (0x80, "int8", Fraction(-2)),
        (0x40, "int8", Fraction(1)),
        (0xFF, "int8", Fraction(-1, 64)),
        (0x00, "e8m0", Fraction(1, 2**127)),
        (0x7F, "e8m0", Fraction(1)),
        (0xFE, "e8m0", Fraction(2**127)),
    ],
)
def test_value(code: int, format: str, expected: Fraction) -> None:
    assert value(code, format) == expected


@pytest.mark.parametrize("format", FORMATS)
def test_value_is_the_formula_of_the_standard(format: str) -> None:
    for magnitude_code in range(MAX_CODE[format] + 1):
        expected = naive_value(magnitude_code, format)
        assert value(magnitude_code, format) == expected
        negative = naive_code(magnitude_code, True, format, "saturate")
        assert value(negative, format) == -expected


def is_refused(code: int, format: str) -> bool:
    try:
        value(code, format)
    except ValueError:
        return True
    return False


def test_value_refuses_nan_and_inf() -> None:
    refused = {
        "e5m2": [0x7C, 0x7D, 0x7E, 0x7F, 0xFC, 0xFD, 0xFE, 0xFF],
        "e4m3": [0x7F, 0xFF],
        "e3m2": [],
        "e2m3": [],
        "e2m1": [],
        "int8": [],
        "e8m0": [0xFF],
    }
    for format, codes in refused.items():
        assert [c for c in range(2 ** BITS.get(format, 8)) if is_refused(c, format)] == codes


# --- encode ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x_bits", "source", "format", "expected"),
    [
        (0x43E80000, "f32", "e4m3", 0x7E),  # 464, tie of 448 and 480, 448 is even
        (0x43E80001, "f32", "e4m3", 0x7E),  # above 464: overflows and saturates
        (0xC3E80001, "f32", "e4m3", 0xFE),
        (0x47700000, "f32", "e5m2", 0x7B),  # 61440, tie of 57344 and 65536
        (0x3E800000, "f32", "e2m1", 0x0),  # 0.25, tie of 0 and 0.5
        (0x3E800001, "f32", "e2m1", 0x1),
        (0xBE800000, "f32", "e2m1", 0x8),
        (0x40A00000, "f32", "e2m1", 0x6),  # 5, tie of 4 and 6
        (0x40200000, "f32", "e2m1", 0x4),  # 2.5, tie of 2 and 3
        (0x40E00000, "f32", "e2m1", 0x7),  # 7
        (0xFF7FFFFF, "f32", "e2m1", 0xF),  # -FLT_MAX
        (0x3A800000, "f32", "e4m3", 0x00),  # 2**-10, tie of 0 and 2**-9
        (0x3A800001, "f32", "e4m3", 0x01),
        (0xBA800000, "f32", "e4m3", 0x80),
        (0xBA800001, "f32", "e4m3", 0x81),
        (0x3FF1000000000000, "f64", "e4m3", 0x38),  # 1.0625, tie of 1 and 1.125
        (0x3FF1000000001000, "f64", "e4m3", 0x39),  # 1.0625 + 2**-40
        (0x3FF1000000000001, "f64", "e4m3", 0x39),
        (0x3FF0FFFFFFFFFFFF, "f64", "e4m3", 0x38),
        (0x3C000000, "f32", "int8", 0x00),  # 1/128, tie of 0 and 1
        (0x3CC00000, "f32", "int8", 0x02),  # 3/128, tie of 1 and 2
        (0x3FFF, "bf16", "int8", 0x7F),  # 127.5/64, tie of 127 and 128
        (0xBFFF, "bf16", "int8", 0x81),
        (0xC000, "bf16", "int8", 0x81),  # -2
        (0xBFFE, "bf16", "int8", 0x81),  # -127/64
        (0xBF80, "bf16", "int8", 0xC0),  # -1
        (0xBC00, "bf16", "int8", 0x00),  # -1/128: no -0
        (0x8000, "bf16", "int8", 0x00),
        (0x0001, "f16", "e5m2", 0x00),  # 2**-24
        (0x0080, "f16", "e5m2", 0x00),  # 2**-17, tie of 0 and 2**-16
        (0x0081, "f16", "e5m2", 0x01),
        (0x0180, "f16", "e5m2", 0x02),  # 1.5 * 2**-16, tie of 1 and 2
        (0x4F80, "f16", "e3m2", 0x1F),  # 30
        (0x2A00, "f16", "e3m2", 0x01),  # 3 * 2**-6, above the tie of 0 and 1/16
        (0x2800, "f16", "e3m2", 0x00),  # 2**-5, the tie
        (0x47C0, "f16", "e2m3", 0x1F),  # 7.75
        (0x2C00, "f16", "e2m3", 0x00),  # 1/16, tie of 0 and 1/8
        (0x3A000000, "f32", "e2m3", 0x00),
        (0x0000000000000001, "f64", "e5m2", 0x00),
        (0x8000000000000001, "f64", "e5m2", 0x80),
        (0x7FEFFFFFFFFFFFFF, "f64", "e5m2", 0x7B),
    ],
)
def test_encode_by_hand(x_bits: int, source: str, format: str, expected: int) -> None:
    assert encode(x_bits, source, format) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1.0625, [0x38, 0x39, 0x38, 0x38, 0x39, 0x38, 0x39]),  # the tie of 38 and 39
        (-1.0625, [0xB8, 0xB9, 0xB8, 0xB8, 0xB8, 0xB9, 0xB9]),
        (1.1875, [0x3A, 0x3A, 0x39, 0x39, 0x3A, 0x39, 0x39]),  # the tie of 39 and 3A
        (1.03125, [0x38, 0x38, 0x38, 0x38, 0x39, 0x38, 0x39]),  # a quarter above 38
        (-1.21875, [0xBA, 0xBA, 0xBA, 0xB9, 0xB9, 0xBA, 0xB9]),  # three quarters above B9
        (2.0**-100, [0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01]),
        (-(2.0**-100), [0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0x81]),
        (1.0, [0x38] * 7),
        (-448.0, [0xFE] * 7),
    ],
)
def test_encode_in_each_rounding(number: float, expected: list[int]) -> None:
    assert [encode(f32(number), "f32", "e4m3", r) for r in ROUNDINGS] == expected


@pytest.mark.parametrize(
    ("number", "format", "expected"),
    [
        (449.0, "e4m3", [0x7E, 0x7E, 0x7E, 0x7E, 0x7F, 0x7E, 0x7F]),
        (-449.0, "e4m3", [0xFE, 0xFE, 0xFE, 0xFE, 0xFE, 0x7F, 0x7F]),
        (464.0, "e4m3", [0x7E, 0x7F, 0x7E, 0x7E, 0x7F, 0x7E, 0x7F]),
        (479.0, "e4m3", [0x7F, 0x7F, 0x7F, 0x7E, 0x7F, 0x7E, 0x7F]),
        (480.0, "e4m3", [0x7F] * 7),
        (-1e30, "e4m3", [0x7F] * 7),
        (60000.0, "e5m2", [0x7B, 0x7B, 0x7B, 0x7B, 0x7C, 0x7B, 0x7B]),
        (61440.0, "e5m2", [0x7C, 0x7C, 0x7B, 0x7B, 0x7C, 0x7B, 0x7B]),
        (-61440.0, "e5m2", [0xFC, 0xFC, 0xFB, 0xFB, 0xFB, 0xFC, 0xFB]),
        (65536.0, "e5m2", [0x7C] * 7),
        (-1e30, "e5m2", [0xFC] * 7),
        (1e30, "e3m2", [0x1F] * 7),
        (-1e30, "e2m3", [0x3F] * 7),
        (-7.5, "e2m1", [0xF] * 7),
        (-2.0, "int8", [0x81] * 7),
    ],
)
def test_overflow_is_judged_after_rounding(number: float, format: str, expected: list[int]) -> None:
    nonsaturating = [encode(f32(number), "f32", format, r, "nonsaturating") for r in ROUNDINGS]
    assert nonsaturating == expected
    sign_and_max = naive_code(MAX_CODE[format], number < 0, format, "saturate")
    saturating = [encode(f32(number), "f32", format, r, "saturate") for r in ROUNDINGS]
    assert saturating == [sign_and_max] * 7


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("source", SOURCES)
def test_special_values(source: str, rounding: str) -> None:
    sign = 2 ** (WIDTH[source] - 1)
    plus, nan = INFINITY[source], QUIET_NAN[source]

    def row(x_bits: int, overflow: str) -> list[int]:
        return [encode(x_bits, source, f, rounding, overflow) for f in FORMATS]

    assert row(plus, "saturate") == [0x7B, 0x7E, 0x1F, 0x1F, 0x7, 0x7F]
    assert row(plus + sign, "saturate") == [0xFB, 0xFE, 0x3F, 0x3F, 0xF, 0x81]
    assert row(plus, "nonsaturating") == [0x7C, 0x7F, 0x1F, 0x1F, 0x7, 0x7F]
    assert row(plus + sign, "nonsaturating") == [0xFC, 0x7F, 0x3F, 0x3F, 0xF, 0x81]
    for overflow in OVERFLOWS:
        for x_bits in (nan, nan + sign, plus + 1, plus + sign + 1, sign - 1, 2 * sign - 1):
            assert row(x_bits, overflow) == [0x7F, 0x7F, 0x1F, 0x1F, 0x7, 0x7F]
        assert row(0, overflow) == [0] * 6
        assert row(sign, overflow) == [0x80, 0x80, 0x20, 0x20, 0x8, 0x00]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", ["e2m1", "e4m3"])
def test_every_f16_input_is_the_naive_nearest(format: str) -> None:
    unit = 2**24  # every f16 number and every value of the format is a whole number of 2**-24
    values = [v * unit for v in VALUES[format]]
    assert all(v.denominator == 1 for v in values)
    whole = [int(v) for v in values]
    for magnitude in range(0x7C00):
        x = Fraction(float_value(magnitude, "f16")) * unit
        for negative in (False, True):
            x_bits = magnitude + 0x8000 * negative
            for rounding in ROUNDINGS:
                chosen = naive_magnitude_code(int(x), negative, whole, rounding)
                for overflow in OVERFLOWS:
                    got = encode(x_bits, "f16", format, rounding, overflow)
                    want = naive_code(chosen, negative, format, overflow)
                    if got != want:
                        pytest.fail(f"{x_bits:04x} {format} {rounding} {overflow}: {got} {want}")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_around_every_value_and_midpoint(source: str, format: str) -> None:
    values = VALUES[format]
    points = values + [(a + b) / 2 for a, b in pairwise(values)]
    patterns = {0, 1, 2, INFINITY[source] - 1, INFINITY[source] // 2}
    for point in points:
        nearby = bits_of(float(point), source) if point < 65504 or source != "f16" else 0x7BFF
        patterns.update(range(max(nearby - 1, 0), nearby + 2))
    sign = 2 ** (WIDTH[source] - 1)
    for magnitude in sorted(patterns - {INFINITY[source]}):
        x = Fraction(float_value(magnitude, source))
        for rounding in random.Random(magnitude).sample(ROUNDINGS, 2):
            for negative in (False, True):
                chosen = naive_magnitude_code(x, negative, values, rounding)
                for overflow in OVERFLOWS:
                    got = encode(magnitude + sign * negative, source, format, rounding, overflow)
                    want = naive_code(chosen, negative, format, overflow)
                    assert got == want, (hex(magnitude), negative, rounding, overflow)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_binade_ladder(source: str, format: str) -> None:
    """Every exponent of the source with the first and the last significand."""
    fraction_bits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[source]
    values = VALUES[format]
    sign = 2 ** (WIDTH[source] - 1)
    for field in range(INFINITY[source] >> fraction_bits):
        for magnitude in (field << fraction_bits, ((field + 1) << fraction_bits) - 1):
            x = Fraction(float_value(magnitude, source))
            rounding = ROUNDINGS[field % 7]
            for negative in (False, True):
                chosen = naive_magnitude_code(x, negative, values, rounding)
                want = naive_code(chosen, negative, format, "nonsaturating")
                got = encode(magnitude + sign * negative, source, format, rounding, "nonsaturating")
                assert got == want, (hex(magnitude), negative, rounding)


# --- decode ------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_decode_is_the_value(format: str, target: str) -> None:
    sign = 2 ** (WIDTH[target] - 1)
    for code in range(2 ** BITS[format]):
        got = decode(code, format, target)
        nans = {"e5m2": (0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF), "e4m3": (0x7F, 0xFF)}
        if code in nans.get(format, ()):
            assert got == QUIET_NAN[target]
        elif format == "e5m2" and code in (0x7C, 0xFC):
            assert got == INFINITY[target] + sign * (code == 0xFC)
        else:
            assert Fraction(float_value(got, target)) == value(code, format)
            if value(code, format) == 0:
                assert got == sign * (code != 0)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_decode_then_encode_gives_the_code_back(format: str, source: str) -> None:
    special = {
        "e5m2": dict.fromkeys((0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF), 0x7F),
        "e4m3": {0x7F: 0x7F, 0xFF: 0x7F},
        "int8": {0x80: 0x81},
    }.get(format, {})
    for code in range(2 ** BITS[format]):
        for rounding in ROUNDINGS:
            x_bits = decode(code, format, source)
            back = encode(x_bits, source, format, rounding, "nonsaturating")
            assert back == special.get(code, code)


def test_decode_by_hand() -> None:
    assert decode(0x80, "int8") == 0xC0000000
    assert decode(0x01, "e5m2") == 0x37800000
    assert decode(0x01, "e5m2", "f16") == 0x0100
    assert decode(0xF, "e2m1", "bf16") == 0xC0C0
    assert decode(0x7E, "e4m3", "f64") == 0x407C000000000000
    assert decode(0x8, "e2m1", "f64") == 0x8000000000000000


def test_places_of_numbers_of_64_bits() -> None:
    """Below half the smallest number, 0.5 in E2M1, at it, just above, and just below 0.5."""
    place = code_finder(breakpoints("e2m1", **settle({}, ELEMENT_CHOICES)))
    top = (1 << 64) - 1
    numbers = [(0, top, -66), (0, 1 << 63, -65), (0, (1 << 63) + 1, -65), (1, top, -65)]
    assert [place(number, 0, 0) for number in numbers] == [0, 0, 1, 9]


# --- scales ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x_bits", "source", "expected"),
    [
        (0x3F800000, "f32", [0x7F] * 7),  # 1
        (0x3FC00000, "f32", [0x80, 0x80, 0x7F, 0x7F, 0x80, 0x7F, 0x7F]),  # 1.5
        (0xBFC00000, "f32", [0x80, 0x80, 0x7F, 0x7F, 0x80, 0x7F, 0x7F]),  # -1.5
        (0x40400000, "f32", [0x80, 0x81, 0x80, 0x80, 0x81, 0x80, 0x81]),  # 3
        (0x40400001, "f32", [0x81, 0x81, 0x81, 0x80, 0x81, 0x80, 0x81]),
        (0x403FFFFF, "f32", [0x80, 0x80, 0x80, 0x80, 0x81, 0x80, 0x81]),
        (0x00600000, "f32", [0x00, 0x01, 0x00, 0x00, 0x01, 0x00, 0x01]),  # 1.5 * 2**-127
        (0x00400001, "f32", [0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01]),
        (0x00400000, "f32", [0x00] * 7),  # 2**-127
        (0x003FFFFF, "f32", [0x00] * 7),
        (0x00000001, "f32", [0x00] * 7),
        (0x00800000, "f32", [0x01] * 7),
        (0x7F000000, "f32", [0xFE] * 7),  # 2**127
        (0x7F7FFFFF, "f32", [0xFE] * 7),
        (0x7EFFFFFF, "f32", [0xFE, 0xFE, 0xFE, 0xFD, 0xFE, 0xFD, 0xFD]),
        (0x7F40, "bf16", [0xFE] * 7),  # 1.5 * 2**127
        (0x4C70000000000000, "f64", [0xFE] * 7),  # 2**200
        (0x0000000000000001, "f64", [0x00] * 7),
        (0x380FFFFFFFFFFFFF, "f64", [0x01, 0x01, 0x01, 0x00, 0x01, 0x00, 0x01]),
        (0x0001, "f16", [103] * 7),  # 2**-24
        (0x0003, "f16", [104, 105, 104, 104, 105, 104, 105]),
        (0x7F800000, "f32", [0xFF] * 7),
        (0xFF800000, "f32", [0xFF] * 7),
        (0x7FC00000, "f32", [0xFF] * 7),
        (0xFF800001, "f32", [0xFF] * 7),
        (0x00000000, "f32", [0x00] * 7),
        (0x80000000, "f32", [0x00] * 7),
    ],
)
def test_encode_scale(x_bits: int, source: str, expected: list[int]) -> None:
    assert [encode_scale(x_bits, source, r) for r in ROUNDINGS] == expected
    assert encode_scale(x_bits, source) == expected[3]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", SOURCES)
def test_encode_scale_is_the_naive_nearest(source: str) -> None:
    powers = [Fraction(2) ** (code - 127) for code in range(255)]
    rng = random.Random(8)
    for _ in range(300):
        magnitude = rng.randrange(1, INFINITY[source])
        x = Fraction(float_value(magnitude, source))
        for rounding in ROUNDINGS:
            want = 0 if x < powers[0] else naive_magnitude_code(x, False, powers, rounding)
            assert encode_scale(magnitude, source, rounding) == want, (hex(magnitude), rounding)


@pytest.mark.parametrize(
    ("code", "target", "expected"),
    [
        (0x00, "f32", 0x00400000),
        (0x01, "f32", 0x00800000),
        (0x7F, "f32", 0x3F800000),
        (0xFE, "f32", 0x7F000000),
        (0x00, "bf16", 0x0040),
        (0xFE, "bf16", 0x7F00),
        (0x00, "f64", 0x3800000000000000),
        (0xFE, "f64", 0x47E0000000000000),
        (0x00, "f16", 0x0000),
        (102, "f16", 0x0000),  # 2**-25, tie of 0 and 2**-24
        (103, "f16", 0x0001),
        (113, "f16", 0x0400),
        (142, "f16", 0x7800),
        (143, "f16", 0x7C00),
        (0xFE, "f16", 0x7C00),
    ],
)
def test_decode_scale(code: int, target: str, expected: int) -> None:
    assert decode_scale(code, target) == expected


def test_scale_codes_round_trip() -> None:
    for target in ("bf16", "f32", "f64"):
        for code in range(256):
            assert encode_scale(decode_scale(code, target), target) == code
        assert decode_scale(0xFF, target) == QUIET_NAN[target]
    assert decode_scale(0xFF, "f16") == QUIET_NAN["f16"]


@pytest.mark.parametrize(
    ("amax_bits", "source", "format", "expected"),
    [
        (0x43E00000, "f32", "e4m3", 127),  # 448
        (0xC3E00000, "f32", "e4m3", 127),
        (0x447FFFFF, "f32", "e4m3", 128),  # just below 1024: a float32 log2 gives 10
        (0x44800000, "f32", "e4m3", 129),
        (0x7F7FFFFF, "f32", "e2m1", 252),
        (0x7F7FFFFF, "f32", "int8", 254),
        (0x4C70000000000000, "f64", "e2m1", 254),  # 2**200
        (0x0000000000000001, "f64", "e2m1", 0),
        (0x00000001, "f32", "int8", 0),  # 2**-149
        (0x00600000, "f32", "int8", 0),  # 1.5 * 2**-127
        (0x007FFFFF, "f32", "int8", 0),
        (0x00800000, "f32", "int8", 1),  # 2**-126
        (0x01000000, "f32", "e2m1", 0),  # 2**-125
        (0x01800000, "f32", "e2m1", 1),  # 2**-124
        (0x0001, "f16", "e2m1", 101),  # 2**-24
        (0x03FF, "f16", "e2m1", 110),
        (0x0000, "f16", "e4m3", 0),
        (0x8000, "f16", "e4m3", 0),
        (0x7C00, "f16", "e4m3", 0xFF),
        (0xFC00, "f16", "e4m3", 0xFF),
        (0x7C01, "f16", "e4m3", 0xFF),
        (0xFFC0, "bf16", "e5m2", 0xFF),
    ],
)
def test_shared_scale(amax_bits: int, source: str, format: str, expected: int) -> None:
    assert shared_scale(amax_bits, source, format) == expected


def test_shared_scale_of_one() -> None:
    assert [shared_scale(0x3C00, "f16", f) for f in FORMATS] == [112, 119, 123, 125, 125, 127]


# --- blocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "format", "expected"),
    [
        ([1.0, -3.0, 0.25], "e2m1", (126, [0x4, 0xF, 0x1])),
        ([7.0], "e2m1", (127, [0x7])),  # 7 overflows and saturates
        ([-7.99], "e2m1", (127, [0xF])),
        ([511.0, 1.0625, -(2.0**-11)], "e4m3", (127, [0x7E, 0x38, 0x80])),
        ([1.0, 127 / 128, -1.0 / 64, -1.0 / 256], "int8", (127, [0x40, 0x40, 0xFF, 0x00])),
        ([-2.0, 1.0], "int8", (128, [0xC0, 0x20])),
        ([0.0, -0.0], "e2m1", (0, [0x0, 0x8])),
        ([0.0, -0.0], "int8", (0, [0x00, 0x00])),
        ([-0.0], "e4m3", (0, [0x80])),
        ([0.0, 2.0**-127, -(2.0**-128), 2.0**-129, -(2.0**-149)], "e2m1", (0, [0, 2, 9, 0, 8])),
        ([2.0**-149], "int8", (0, [0])),
        ([2.0**-133], "int8", (0, [1])),
        ([1.0, float("nan")], "e4m3", (0xFF, [0, 0])),
        ([float("-inf"), 1.0], "e2m1", (0xFF, [0, 0])),
        ([2.0**127, 2.0**-20], "e2m1", (252, [0x6, 0x0])),
    ],
)
def test_quantize_by_hand(
    numbers: list[float], format: str, expected: tuple[int, list[int]]
) -> None:
    assert quantize([f32(x) for x in numbers], "f32", format) == expected


def test_quantize_f64_by_hand() -> None:
    big, small = 0x4C70000000000000, 0x8000000000000001  # 2**200, -2**-1074
    assert quantize([big, small], "f64", "e2m1") == (254, [0x7, 0x8])
    assert quantize([big], "f64", "e5m2", overflow="nonsaturating") == (254, [0x7C])
    assert quantize([small], "f64", "e2m1") == (0, [0x8])
    assert quantize([small], "f64", "e2m1", "toward_negative") == (0, [0x9])
    # 448 keeps the scale at 1; 1.0625 + 2**-40 is rounded once
    assert quantize([0x407C000000000000, 0x3FF1000000001000], "f64", "e4m3") == (127, [0x7E, 0x39])


def test_quantize_overflow_and_rounding_reach_the_elements() -> None:
    block = [f32(480.0), f32(1.0625)]
    assert quantize(block, "f32", "e4m3", "ties_to_away") == (127, [0x7E, 0x39])
    assert quantize(block, "f32", "e4m3", "ties_to_away", "nonsaturating") == (127, [0x7F, 0x39])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_quantize_is_the_naive_definition(source: str, format: str) -> None:
    rng = random.Random(f"{source} {format}")
    sign = 2 ** (WIDTH[source] - 1)
    for turn in range(60):
        top = rng.randrange(1, INFINITY[source])
        spread = INFINITY[source] // rng.choice([2, 50, 2000])
        block = [top] + [max(top - rng.randrange(spread + 1), 0) for _ in range(4)]
        block = [bits + sign * rng.randrange(2) for bits in block]
        numbers = [Fraction(float_value(bits, source)) for bits in block]
        amax = max(abs(x) for x in numbers)
        exponent = bisect_right(POWERS, amax) - 1 - 1074
        exponent = min(max(exponent - EMAX[format], -127), 127)
        rounding, overflow = ROUNDINGS[turn % 7], OVERFLOWS[turn % 2]
        codes = []
        for bits, x in zip(block, numbers, strict=True):
            scaled, negative = abs(x) / Fraction(2) ** exponent, bits >= sign
            chosen = naive_magnitude_code(scaled, negative, VALUES[format], rounding)
            codes.append(naive_code(chosen, negative, format, overflow))
        expected = (exponent + 127, codes)
        assert quantize(block, source, format, rounding, overflow) == expected


@pytest.mark.parametrize(
    ("scale_code", "code", "format", "target", "expected"),
    [
        (126, 0xF, "e2m1", "f32", 0xC0400000),  # -6 / 2
        (0xFF, 0x0, "e2m1", "f32", 0x7FC00000),
        (0xFF, 0xFC, "e5m2", "f16", 0x7E00),
        (127, 0xFF, "e4m3", "f64", 0x7FF8000000000000),
        (0, 0x7D, "e5m2", "bf16", 0x7FC0),
        (0, 0x7C, "e5m2", "f32", 0x7F800000),
        (0, 0xFC, "e5m2", "f16", 0xFC00),
        (0xFE, 0x2, "e2m1", "f32", 0x7F000000),
        (0xFE, 0x4, "e2m1", "f32", 0x7F800000),  # 2 * 2**127
        (0xFE, 0xC, "e2m1", "bf16", 0xFF80),
        (0xFE, 0x7, "e2m1", "f64", 0x4808000000000000),  # 6 * 2**127
        (0xFE, 0x7F, "int8", "f32", 0x7F7E0000),
        (0xFE, 0x80, "int8", "f32", 0xFF800000),
        (0xFD, 0x80, "int8", "f32", 0xFF000000),
        (0, 0x01, "e5m2", "f32", 0x00000040),  # 2**-143
        (0, 0x01, "e5m2", "bf16", 0x0000),
        (0, 0x81, "e5m2", "bf16", 0x8000),
        (0, 0x01, "int8", "bf16", 0x0001),  # 2**-133
        (0, 0xFF, "int8", "f32", 0x80010000),
        (0, 0x0C, "e4m3", "bf16", 0x0002),  # 1.5 * 2**-133, tie of 1 and 2
        (0, 0x04, "e4m3", "bf16", 0x0000),  # 2**-134, tie of 0 and 1
        (0, 0x05, "e4m3", "bf16", 0x0001),
        (0, 0x8, "e2m1", "f32", 0x80000000),
        (0, 0x00, "int8", "f32", 0x00000000),
        (103, 0x1, "e2m1", "f16", 0x0000),  # 2**-25, tie of 0 and 1
        (103, 0x9, "e2m1", "f16", 0x8000),
        (103, 0x3, "e2m1", "f16", 0x0002),  # 1.5 * 2**-24, tie of 1 and 2
        (102, 0x3, "e2m1", "f16", 0x0001),
        (135, 0x7E, "e4m3", "f16", 0x7C00),  # 448 * 256
        (142, 0x7F, "int8", "f16", 0x7BF0),  # 65024
        (134, 0x7E, "e4m3", "f16", 0x7B00),  # 448 * 128
    ],
)
def test_dequantize_by_hand(
    scale_code: int, code: int, format: str, target: str, expected: int
) -> None:
    assert dequantize(scale_code, code, format, target) == expected


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", FORMATS)
def test_dequantize_is_the_product_rounded_once(format: str) -> None:
    for index in range(2 * MAX_CODE[format] + 2):
        magnitude_code, negative = index // 2, index % 2 == 1
        code = naive_code(magnitude_code, negative, format, "saturate")
        element = float(naive_value(magnitude_code, format))
        if negative and code != 0:
            element = -element
        for scale_code in [*range(12), *range(90 + index % 5, 160, 5), *range(243, 255)]:
            product = element * 2.0 ** (scale_code - 127)  # exact: far inside the range of f64
            assert dequantize(scale_code, code, format, "f64") == bits_of(product, "f64")
            for target in ("f16", "f32"):
                try:
                    want = bits_of(product, target)
                except OverflowError:
                    want = INFINITY[target] + 2 ** (WIDTH[target] - 1) * (product < 0)
                assert dequantize(scale_code, code, format, target) == want
            want = naive_bf16(product)
            assert dequantize(scale_code, code, format, "bf16") == want


def naive_bf16(number: float) -> int:
    """Round to the nearest of the bfloat16 numbers, 2**128 standing for Inf, by distance."""
    sign = 0x8000 if bits_of(number, "f64") >> 63 else 0
    x = abs(Fraction(number))
    low, high = 0, 0x7F80
    if x >= 2**128:
        return sign + high
    while high - low > 1:
        middle = (low + high) // 2
        if Fraction(float_value(middle, "bf16")) <= x:
            low = middle
        else:
            high = middle
    above = Fraction(2**128) if high == 0x7F80 else Fraction(float_value(high, "bf16"))
    to_low, to_high = x - Fraction(float_value(low, "bf16")), above - x
    if to_low == to_high:
        return sign + (low if low % 2 == 0 else high)
    return sign + (low if to_low < to_high else high)


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encode(0, "f8", "e4m3"), "source must be one of f16, bf16, f32, f64, .*'f8'"),
        (lambda: encode(0, "f16", "e8m0"), "format must be one of e5m2, .*; got 'e8m0'"),
        (lambda: encode(0, "f16", "e4m3", "up"), "rounding must be one of ties_to_even, .*'up'"),
        (lambda: encode(0, "f16", "e4m3", overflow="ovf"), "overflow must be one of .*'ovf'"),
        (lambda: encode(0x10000, "f16", "e4m3"), "x_bits must be .* 0 to 0xffff; got 65536"),
        (lambda: encode(-1, "f16", "e4m3"), "x_bits must be .*; got -1"),
        (lambda: encode(1.0, "f16", "e4m3"), "x_bits must be a Python int .*; got 1.0"),
        (lambda: encode(True, "f16", "e4m3"), "x_bits must be a Python int .*; got True"),
        (lambda: decode(16, "e2m1"), "code must be .* 0 to 0xf; got 16"),
        (lambda: decode(-1, "e2m1"), "code must be .*; got -1"),
        (lambda: decode(True, "e2m1"), "code must be a Python int .*; got True"),
        (lambda: decode(0, "e8m0"), "format must be one of .*'e8m0'"),
        (lambda: decode(0, "e2m1", "f128"), "target must be one of .*'f128'"),
        (lambda: encode_scale(2**32, "f32"), "x_bits must be .* 0 to 0xffffffff; got"),
        (lambda: encode_scale(0, "f32", "nearest"), "rounding must be one of .*'nearest'"),
        (lambda: encode_scale(0, "int4"), "source must be one of .*'int4'"),
        (lambda: decode_scale(256), "code must be .* 0 to 0xff; got 256"),
        (lambda: decode_scale(0, "f8"), "target must be one of .*'f8'"),
        (lambda: shared_scale(-1, "f32", "e4m3"), "amax_bits must be .*; got -1"),
        (lambda: shared_scale(0, "f32", "e4m3", "up"), "rule must be one of .*'up'"),
        (lambda: shared_scale(0, "f32", "e4m4"), "format must be one of .*'e4m4'"),
        (lambda: quantize([], "f32", "e4m3"), r"x_bits must be a block of one .*; got \[\]"),
        (lambda: quantize([0, 2**16], "f16", "e4m3"), "x_bits must be .*; got 65536"),
        (lambda: quantize([0], "f16", "e4m3", rule="odd"), "rule must be one of .*'odd'"),
        (lambda: quantize([0], "f16", "e4m3", overflow="x"), "overflow must be one of .*'x'"),
        (lambda: dequantize(256, 0, "e2m1"), "scale_code must be .* 0 to 0xff; got 256"),
        (lambda: dequantize(0, 64, "e3m2"), "code must be .* 0 to 0x3f; got 64"),
        (lambda: dequantize(0, 0, "e3m2", "f8"), "target must be one of .*'f8'"),
        (lambda: value(0x7F, "e4m3"), "code must be a finite e4m3 code; got '0x7f'"),
        (lambda: value(0xFF, "e8m0"), "code must be a finite e8m0 code; got '0xff'"),
        (lambda: value(256, "e8m0"), "code must be .* 0 to 0xff; got 256"),
        (lambda: value(16, "e2m1"), "code must be .* 0 to 0xf; got 16"),
        (lambda: value(0, "f32"), "format must be one of .*, e8m0, .*; got 'f32'"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_block_is_checked_also_where_its_numbers_are_known() -> None:
    """Equal to what has been read, and of another type: a cache would not tell them apart."""
    assert quantize([1, 0], "u8", "e2m1") == (125, [6, 0])
    for x_bits in ([True, 0], [1, 0.0], [1, 256], [1, 256]):
        with pytest.raises(ValueError, match=r"^x_bits must be a Python int from 0 to 0xff; got "):
            quantize(x_bits, "u8", "e2m1")
