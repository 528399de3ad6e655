"""The slow twin against naive definitions: the nearest of all values, and products in fractions.

Source: OCP MX v1.0 5 and 6.3; OFP8 Rev 1.0 4 and 5.2.1.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from helpers import INFINITY, QUIET_NAN, ROUNDINGS, SOURCES, WIDTH
from tables import pattern

from mxref.exact import decode, decode_scale, dequantize, encode, encode_scale, quantize, value
from mxref.exact.breakpoints import breakpoints, code_finder
from mxref.exact.choice_table import ELEMENT_CHOICES, settle

OVERFLOWS = ("saturate", "nonsaturating")
BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
FORMATS = tuple(BITS)
MAX_CODE = {"e5m2": 0x7B, "e4m3": 0x7E, "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 0x7, "int8": 0x7F}
EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}
AFTER_MAX = {"e5m2": 65536, "e4m3": 480, "e3m2": 32, "e2m3": 8, "e2m1": 8, "int8": 2}
BIAS_AND_MANTISSA = {
    "e5m2": (15, 2),
    "e4m3": (7, 3),
    "e3m2": (3, 2),
    "e2m3": (1, 3),
    "e2m1": (1, 1),
}
NANS = {"e5m2": (0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF), "e4m3": (0x7F, 0xFF)}
FRACTION_BITS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
LEAST = {"f16": -14, "bf16": -126, "f32": -126, "f64": -1022}


def naive_value(magnitude_code: int, format: str) -> Fraction:
    """The rule of OCP MX v1.0 5.3."""
    if format == "int8":
        return Fraction(magnitude_code, 64)
    bias, m = BIAS_AND_MANTISSA[format]
    exponent, mantissa = divmod(magnitude_code, 1 << m)
    fraction = Fraction(mantissa, 1 << m)
    if exponent > 0:
        return (1 + fraction) * (1 << exponent) / (1 << bias)
    return fraction * 2 / (1 << bias)


# The non-negative values in the order of their codes, and last what would come after the maximum.
VALUES = {
    f: [naive_value(i, f) for i in range(MAX_CODE[f] + 1)] + [Fraction(AFTER_MAX[f])]
    for f in FORMATS
}
POWERS = [Fraction(2) ** e for e in range(-1074, 1024)]  # every power of two of f64


def number(bits: int, source: str) -> Fraction:
    return Fraction(float(np.array(bits, f"u{WIDTH[source] // 8}").view(SOURCES[source])))


def exponent_of(size: Fraction) -> int:
    return bisect_right(POWERS, size) - 1075


def nearest_float(x: Fraction, target: str) -> int:
    """The pattern of a magnitude: `round` takes the even one of two that are as near."""
    m, exponent = FRACTION_BITS[target], max(exponent_of(x), LEAST[target])
    steps = round(x / Fraction(2) ** (exponent - m))
    return min(steps + (exponent - LEAST[target] << m), INFINITY[target])


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


@pytest.mark.parametrize("format", FORMATS)
def test_value_is_the_formula_of_the_standard(format: str) -> None:
    for magnitude_code in range(MAX_CODE[format] + 1):
        expected = naive_value(magnitude_code, format)
        assert value(magnitude_code, format) == expected
        negative = naive_code(magnitude_code, True, format, "saturate")
        assert value(negative, format) == -expected


@pytest.mark.parametrize("format", [*FORMATS, "e8m0"])
def test_value_refuses_nan_and_inf(format: str) -> None:
    infinities = {"e5m2": (0x7C, 0xFC), "e8m0": (0xFF,)}.get(format, ())
    for code in (*NANS.get(format, ()), *infinities):
        with pytest.raises(ValueError, match="finite"):
            value(code, format)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", ["e2m1", "e4m3"])
def test_every_f16_input_is_the_naive_nearest(format: str) -> None:
    unit = 2**24  # every f16 number and every value of the format is a whole number of 2**-24
    values = [v * unit for v in VALUES[format]]
    assert all(v.denominator == 1 for v in values)
    whole = [int(v) for v in values]
    for magnitude in range(0x7C00):
        x = number(magnitude, "f16") * unit
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
    """And in every binade of the source, the first and the last significand."""
    values = VALUES[format]
    points = values + [(a + b) / 2 for a, b in pairwise(values)]
    patterns = {0, 1, 2, INFINITY[source] - 1, INFINITY[source] // 2}
    for point in points:
        nearby = pattern(str(float(point)), source) if point < 65504 or source != "f16" else 0x7BFF
        patterns.update(range(max(nearby - 1, 0), nearby + 2))
    m = FRACTION_BITS[source]
    for field in range(INFINITY[source] >> m):
        patterns.update((field << m, (field + 1 << m) - 1))
    sign = 2 ** (WIDTH[source] - 1)
    for magnitude in sorted(patterns - {INFINITY[source]}):
        x = number(magnitude, source)
        for rounding in random.Random(magnitude).sample(ROUNDINGS, 2):
            for negative in (False, True):
                chosen = naive_magnitude_code(x, negative, values, rounding)
                for overflow in OVERFLOWS:
                    got = encode(magnitude + sign * negative, source, format, rounding, overflow)
                    want = naive_code(chosen, negative, format, overflow)
                    assert got == want, (hex(magnitude), negative, rounding, overflow)


@pytest.mark.parametrize("target", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_decode_is_the_value(format: str, target: str) -> None:
    sign = 2 ** (WIDTH[target] - 1)
    for code in range(2 ** BITS[format]):
        got = decode(code, format, target)
        if code in NANS.get(format, ()):
            assert got == QUIET_NAN[target]
        elif format == "e5m2" and code in (0x7C, 0xFC):
            assert got == INFINITY[target] + sign * (code == 0xFC)
        else:
            assert number(got, target) == value(code, format)
            if value(code, format) == 0:
                assert got == sign * (code != 0)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_decode_then_encode_gives_the_code_back(format: str, source: str) -> None:
    special = dict.fromkeys(NANS.get(format, ()), 0x7F) | ({0x80: 0x81} if format == "int8" else {})
    for code in range(2 ** BITS[format]):
        for rounding in ROUNDINGS:
            x_bits = decode(code, format, source)
            back = encode(x_bits, source, format, rounding, "nonsaturating")
            assert back == special.get(code, code)


def test_places_of_numbers_of_64_bits() -> None:
    """Below half the smallest number, 0.5 in E2M1, at it, just above, and just below 0.5."""
    place = code_finder(breakpoints("e2m1", **settle({}, ELEMENT_CHOICES)))
    top = (1 << 64) - 1
    numbers = [(0, top, -66), (0, 1 << 63, -65), (0, (1 << 63) + 1, -65), (1, top, -65)]
    assert [place(number, 0, 0) for number in numbers] == [0, 0, 1, 9]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", SOURCES)
def test_encode_scale_is_the_naive_nearest(source: str) -> None:
    powers = [Fraction(2) ** (code - 127) for code in range(255)]
    rng = random.Random(8)
    for _ in range(300):
        magnitude = rng.randrange(1, INFINITY[source])
        x = number(magnitude, source)
        for rounding in ROUNDINGS:
            want = 0 if x < powers[0] else naive_magnitude_code(x, False, powers, rounding)
            assert encode_scale(magnitude, source, rounding) == want, (hex(magnitude), rounding)


def test_scale_codes_round_trip() -> None:
    for target in ("bf16", "f32", "f64"):
        for code in range(256):
            assert encode_scale(decode_scale(code, target), target) == code
        assert decode_scale(0xFF, target) == QUIET_NAN[target]
    assert decode_scale(0xFF, "f16") == QUIET_NAN["f16"]


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
        numbers = [number(bits, source) for bits in block]
        amax = max(abs(x) for x in numbers)
        exponent = min(max(exponent_of(amax) - EMAX[format], -127), 127)
        rounding, overflow = ROUNDINGS[turn % 7], OVERFLOWS[turn % 2]
        codes = []
        for bits, x in zip(block, numbers, strict=True):
            scaled, negative = abs(x) / Fraction(2) ** exponent, bits >= sign
            chosen = naive_magnitude_code(scaled, negative, VALUES[format], rounding)
            codes.append(naive_code(chosen, negative, format, overflow))
        expected = (exponent + 127, codes)
        assert quantize(block, source, format, rounding, overflow) == expected


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", FORMATS)
def test_dequantize_is_the_product_rounded_once(format: str) -> None:
    for index in range(2 * MAX_CODE[format] + 2):
        magnitude_code, negative = index // 2, index % 2 == 1
        code = naive_code(magnitude_code, negative, format, "saturate")
        for scale_code in [*range(12), *range(90 + index % 5, 160, 5), *range(243, 255)]:
            product = naive_value(magnitude_code, format) * Fraction(2) ** (scale_code - 127)
            for target in SOURCES:
                sign = 2 ** (WIDTH[target] - 1) * (negative and code != 0)
                want = nearest_float(product, target) + sign
                assert dequantize(scale_code, code, format, target) == want
