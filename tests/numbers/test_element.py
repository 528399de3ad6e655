"""Element codes: values typed from the standards, exact fractions, and properties of all bits."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import INFINITY, QUIET_NAN, ROUNDINGS, SMALL_FLOATS, SOURCES, WIDTH, sentence
from hypothesis import given
from hypothesis import strategies as st

import mxref
from mxref import exact
from mxref.formats.catalog import CODE_FORMATS, OTHER_CODE_FORMATS, ElementFormat, Specials

FORMATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")
CODE_BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
MAX_CODE = {"e5m2": 0x7B, "e4m3": 0x7E, "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 0x7, "int8": 0x7F}
ML_DTYPES: dict[str, Any] = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "int8": np.int8,
}
NOT_FINITE = {"e5m2": [*range(0x7C, 0x80), *range(0xFC, 0x100)], "e4m3": [0x7F, 0xFF]}

P = 2.0  # P**n is an exact power of two


def uint(source: str) -> np.dtype[Any]:
    return np.dtype(f"u{WIDTH[source] // 8}")


def floats(bits: list[int], source: str) -> np.ndarray:
    return np.array(bits, uint(source)).view(SOURCES[source])


def bits_of(values: np.ndarray) -> list[int]:
    bits: list[int] = values.view(f"u{values.dtype.itemsize}").ravel().tolist()
    return bits


def neighbours(value: float, source: str) -> np.ndarray:
    """The float below, the float itself and the one above, of a positive number."""
    one = np.array([value], np.float64).astype(SOURCES[source])
    assert one.astype(np.float64)[0] == value
    bits = bits_of(one)[0]
    return floats([bits - 1, bits, bits + 1], source)


def flipped(code: int, format: str) -> int:
    """The code of the opposite sign."""
    return -code % 256 if format == "int8" else code ^ 1 << CODE_BITS[format] - 1


def finite_codes(format: str) -> list[int]:
    everything = range(1 << CODE_BITS[format])
    return [code for code in everything if code not in NOT_FINITE.get(format, [])]


# Thresholds.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("format", "tie", "codes"),
    [
        ("e5m2", P**-17, [0x00, 0x00, 0x01]),
        ("e5m2", 3 * P**-17, [0x01, 0x02, 0x02]),
        ("e5m2", 7 * P**-17, [0x03, 0x04, 0x04]),  # the largest subnormal, the smallest normal
        ("e5m2", 1.125, [0x3C, 0x3C, 0x3D]),
        ("e5m2", 1.375, [0x3D, 0x3E, 0x3E]),
        ("e5m2", 53248.0, [0x7A, 0x7A, 0x7B]),
        ("e4m3", P**-10, [0x00, 0x00, 0x01]),
        ("e4m3", 3 * P**-10, [0x01, 0x02, 0x02]),
        ("e4m3", 15 * P**-10, [0x07, 0x08, 0x08]),
        ("e4m3", 1.0625, [0x38, 0x38, 0x39]),
        ("e4m3", 1.1875, [0x39, 0x3A, 0x3A]),
        ("e4m3", 432.0, [0x7D, 0x7E, 0x7E]),
        ("e3m2", P**-5, [0x00, 0x00, 0x01]),
        ("e3m2", 3 * P**-5, [0x01, 0x02, 0x02]),
        ("e3m2", 7 * P**-5, [0x03, 0x04, 0x04]),
        ("e3m2", 26.0, [0x1E, 0x1E, 0x1F]),
        ("e2m3", P**-4, [0x00, 0x00, 0x01]),
        ("e2m3", 3 * P**-4, [0x01, 0x02, 0x02]),
        ("e2m3", 15 * P**-4, [0x07, 0x08, 0x08]),
        ("e2m3", 7.25, [0x1E, 0x1E, 0x1F]),
        ("e2m1", 0.25, [0x0, 0x0, 0x1]),
        ("e2m1", 0.75, [0x1, 0x2, 0x2]),
        ("e2m1", 1.25, [0x2, 0x2, 0x3]),
        ("e2m1", 1.75, [0x3, 0x4, 0x4]),
        ("e2m1", 2.5, [0x4, 0x4, 0x5]),
        ("e2m1", 3.5, [0x5, 0x6, 0x6]),
        ("e2m1", 5.0, [0x6, 0x6, 0x7]),
        ("int8", 1 / 128, [0x00, 0x00, 0x01]),
        ("int8", 3 / 128, [0x01, 0x02, 0x02]),
        ("int8", 127 / 128, [0x3F, 0x40, 0x40]),
        ("int8", 126.5 / 64, [0x7E, 0x7E, 0x7F]),
    ],
)
def test_ties_go_to_the_even_code(format: str, tie: float, codes: list[int], source: str) -> None:
    x = neighbours(tie, source)
    negative = floats([b | 1 << WIDTH[source] - 1 for b in bits_of(x)], source)
    for overflow in ("saturate", "nonsaturating"):
        assert mxref.encode(x, format, overflow=overflow).tolist() == codes
        assert mxref.encode(negative, format, overflow=overflow).tolist() == [
            flipped(code, format) for code in codes
        ]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("format", "limit", "nonsaturating", "negative"),
    [
        ("e5m2", 61440.0, [0x7B, 0x7C, 0x7C], [0xFB, 0xFC, 0xFC]),
        ("e4m3", 464.0, [0x7E, 0x7E, 0x7F], [0xFE, 0xFE, 0x7F]),
        ("e3m2", 30.0, [0x1F] * 3, [0x3F] * 3),
        ("e2m3", 7.75, [0x1F] * 3, [0x3F] * 3),
        ("e2m1", 7.0, [0x7] * 3, [0xF] * 3),
        ("int8", 127.5 / 64, [0x7F] * 3, [0x81] * 3),
    ],
)
def test_overflow_is_judged_after_rounding(
    format: str, limit: float, nonsaturating: list[int], negative: list[int], source: str
) -> None:
    x = neighbours(limit, source)
    minus = floats([b | 1 << WIDTH[source] - 1 for b in bits_of(x)], source)
    assert mxref.encode(x, format).tolist() == [MAX_CODE[format]] * 3
    assert mxref.encode(minus, format).tolist() == [flipped(MAX_CODE[format], format)] * 3
    assert mxref.encode(x, format, overflow="nonsaturating").tolist() == nonsaturating
    assert mxref.encode(minus, format, overflow="nonsaturating").tolist() == negative


@pytest.mark.parametrize("format", FORMATS)
def test_far_beyond_the_range(format: str) -> None:
    top = MAX_CODE[format]
    huge = [65504.0, 3.0e38, 1.0e300]
    assert mxref.encode(huge, format).tolist() == [top] * 3
    assert mxref.encode([-x for x in huge], format).tolist() == [flipped(top, format)] * 3
    tiny = [P**-24, P**-149, P**-1074]
    assert mxref.encode(tiny, format).tolist() == [0, 0, 0]
    assert mxref.encode(tiny, format, rounding="toward_positive").tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("value", "format", "code"),
    [
        (1.0625 + P**-40, "e4m3", 0x39),
        (1.0625 - P**-40, "e4m3", 0x38),
        (464 + P**-40, "e4m3", 0x7F),
        (480 - P**-40, "e4m3", 0x7F),
        (61440 - P**-30, "e5m2", 0x7B),
        (1.375 - P**-50, "e5m2", 0x3D),
        (P**-17 * (1 + P**-52), "e5m2", 0x01),
        (26 + P**-45, "e3m2", 0x1F),
        (7.25 + P**-45, "e2m3", 0x1F),
        (0.25 + P**-54, "e2m1", 0x1),
        (0.75 - P**-53, "e2m1", 0x1),
        (5 + P**-45, "e2m1", 0x7),
        (1 / 128 + P**-59, "int8", 0x01),
        (3 / 128 - P**-58, "int8", 0x01),
    ],
)
def test_float64_is_rounded_once(value: float, format: str, code: int) -> None:
    assert float(np.float32(value)) != value  # through float32 it would be a tie
    assert mxref.encode(value, format, overflow="nonsaturating") == code
    if code != 0x7F:
        assert mxref.encode(-value, format) == flipped(code, format)


# Roundings.


@pytest.mark.parametrize(
    ("rounding", "positive", "negative"),
    [
        # Magnitude codes of 2.25, 2.5, 2.75 and 3.5: 2 is code 4, 3 is code 5, 4 is code 6.
        ("ties_to_even", [4, 4, 5, 6], [4, 4, 5, 6]),
        ("ties_to_away", [4, 5, 5, 6], [4, 5, 5, 6]),
        ("ties_to_zero", [4, 4, 5, 5], [4, 4, 5, 5]),
        ("toward_zero", [4, 4, 4, 5], [4, 4, 4, 5]),
        ("toward_positive", [5, 5, 5, 6], [4, 4, 4, 5]),
        ("toward_negative", [4, 4, 4, 5], [5, 5, 5, 6]),
        ("to_odd", [5, 5, 5, 5], [5, 5, 5, 5]),
    ],
)
def test_roundings(rounding: str, positive: list[int], negative: list[int]) -> None:
    x = np.float32([2.25, 2.5, 2.75, 3.5])
    assert mxref.encode(x, "e2m1", rounding=rounding).tolist() == positive
    assert mxref.encode(-x, "e2m1", rounding=rounding).tolist() == [8 + c for c in negative]
    on = np.float32([0.0, 0.5, 2.0, 3.0, 6.0])
    assert mxref.encode(on, "e2m1", rounding=rounding).tolist() == [0, 1, 4, 5, 7]


@pytest.mark.parametrize(
    ("rounding", "value", "format", "code"),
    [
        ("toward_zero", 479.0, "e4m3", 0x7E),
        ("toward_zero", 480.0, "e4m3", 0x7F),
        ("toward_zero", -480.0, "e4m3", 0x7F),
        ("toward_positive", 448.5, "e4m3", 0x7F),
        ("toward_positive", -479.0, "e4m3", 0xFE),
        ("toward_negative", 479.0, "e4m3", 0x7E),
        ("toward_negative", -448.5, "e4m3", 0x7F),
        ("ties_to_away", 464.0, "e4m3", 0x7F),
        ("ties_to_zero", 464.0, "e4m3", 0x7E),
        ("to_odd", 448.5, "e4m3", 0x7F),
        ("toward_zero", 65535.0, "e5m2", 0x7B),
        ("toward_zero", 65536.0, "e5m2", 0x7C),
        ("toward_positive", 57345.0, "e5m2", 0x7C),
        ("toward_negative", -57345.0, "e5m2", 0xFC),
        ("ties_to_zero", 61440.0, "e5m2", 0x7B),
        ("ties_to_away", 61440.0, "e5m2", 0x7C),
        ("to_odd", 65535.0, "e5m2", 0x7B),
        ("toward_positive", 6.5, "e2m1", 0x7),
        ("toward_negative", -6.5, "e2m1", 0xF),
    ],
)
def test_nonsaturating_overflow_under_other_roundings(
    rounding: str, value: float, format: str, code: int
) -> None:
    assert mxref.encode(value, format, rounding=rounding, overflow="nonsaturating") == code
    saturated = MAX_CODE[format] if value > 0 else flipped(MAX_CODE[format], format)
    assert mxref.encode(value, format, rounding=rounding) == saturated


@pytest.mark.parametrize(
    ("rounding", "positive", "negative"),
    [  # whether a number rounds past the largest one under this rounding with no largest exponent
        ("ties_to_even", True, True),
        ("ties_to_away", True, True),
        ("ties_to_zero", True, True),
        ("toward_zero", False, False),
        ("toward_positive", True, False),
        ("toward_negative", False, True),
        ("to_odd", False, False),
    ],
)
def test_overflow_of_ieee_754_keeps_the_largest_number_where_the_rounding_is_toward_zero(
    rounding: str, positive: bool, negative: bool
) -> None:
    x = np.float32([P**20, -(P**20), math.inf, -math.inf])
    for format, special in (("e5m2", (0x7C, 0xFC)), ("e4m3", (0x7F, 0x7F))):
        codes = mxref.encode(x, format, rounding=rounding, overflow="nonsaturating_ieee").tolist()
        largest = MAX_CODE[format], flipped(MAX_CODE[format], format)
        pairs = zip((positive, negative), special, largest, strict=True)
        assert codes == [*(inf if beyond else top for beyond, inf, top in pairs), *special]


# Specials.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("format", "nan", "saturate", "nonsaturating"),
    [  # codes of +Inf and -Inf
        ("e5m2", 0x7F, [0x7B, 0xFB], [0x7C, 0xFC]),
        ("e4m3", 0x7F, [0x7E, 0xFE], [0x7F, 0x7F]),
        ("e3m2", 0x1F, [0x1F, 0x3F], [0x1F, 0x3F]),
        ("e2m3", 0x1F, [0x1F, 0x3F], [0x1F, 0x3F]),
        ("e2m1", 0x07, [0x07, 0x0F], [0x07, 0x0F]),
        ("int8", 0x7F, [0x7F, 0x81], [0x7F, 0x81]),
    ],
)
def test_nan_and_infinity(
    format: str, nan: int, saturate: list[int], nonsaturating: list[int], source: str
) -> None:
    inf, sign = INFINITY[source], 1 << WIDTH[source] - 1
    magnitudes = [QUIET_NAN[source], inf + 1, sign - 1]  # quiet, signalling, all ones
    nans = floats([*magnitudes, *(m | sign for m in magnitudes)], source)
    infinities = floats([inf, inf | sign], source)
    for rounding in ("ties_to_even", "toward_zero", "toward_negative", "to_odd"):
        for overflow, want in (("saturate", saturate), ("nonsaturating", nonsaturating)):
            chosen = {"rounding": rounding, "overflow": overflow}
            assert mxref.encode(nans, format, **chosen).tolist() == [nan] * 6
            assert mxref.encode(infinities, format, **chosen).tolist() == want


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("format", "zero", "smallest"),
    [
        ("e5m2", 0x80, 0x81),
        ("e4m3", 0x80, 0x81),
        ("e3m2", 0x20, 0x21),
        ("e2m3", 0x20, 0x21),
        ("e2m1", 0x8, 0x9),
        ("int8", 0x00, 0xFF),
    ],
)
def test_minus_zero_and_negative_underflow(
    format: str, zero: int, smallest: int, source: str
) -> None:
    sign = 1 << WIDTH[source] - 1
    x = floats([0, sign, sign + 1], source)
    assert mxref.encode(x, format).tolist() == [0, zero, zero]
    assert mxref.encode(x, format, rounding="toward_positive").tolist() == [0, zero, zero]
    assert mxref.encode(x, format, rounding="toward_negative").tolist() == [0, zero, smallest]


def test_int8_never_gives_minus_two() -> None:
    x = [-127 / 64, -127.5 / 64, -2.0, -3.0, -math.inf]
    for rounding in ROUNDINGS:
        assert mxref.encode(x, "int8", rounding=rounding).tolist() == [0x81] * 5


# Arrays.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("format", "codes"),
    [
        ("e5m2", [0x3C, 0xC0, 0x38, 0x42, 0x81]),
        ("e4m3", [0x38, 0xC0, 0x30, 0x44, 0x80]),
        ("e3m2", [0x0C, 0x30, 0x08, 0x12, 0x20]),
        ("e2m3", [0x08, 0x30, 0x04, 0x14, 0x20]),
        ("e2m1", [0x2, 0xC, 0x1, 0x5, 0x8]),
        ("int8", [0x40, 0x81, 0x20, 0x7F, 0x00]),
    ],
)
def test_the_four_float_types(format: str, codes: list[int], source: str) -> None:
    x = np.array([1.0, -2.0, 0.5, 3.0, -(P**-16)]).astype(SOURCES[source])
    assert mxref.encode(x, format).tolist() == codes


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 3), (2, 3, 4), (0,), (3, 0), (0, 4)])
def test_shapes_and_dtypes(shape: tuple[int, ...]) -> None:
    for format in FORMATS:
        for dtype in SOURCES.values():
            codes = mxref.encode(np.ones(shape, dtype), format)
            assert isinstance(codes, np.ndarray)
            assert (codes.shape, codes.dtype) == (shape, np.uint8)
            values = mxref.decode(codes, format, dtype)
            assert isinstance(values, np.ndarray)
            assert (values.shape, values.dtype) == (shape, np.dtype(dtype))
            assert (values == 1).all()


def test_python_numbers_and_empty_lists() -> None:
    assert mxref.encode(-3.0, "e2m1").shape == ()
    assert mxref.encode(-3.0, "e2m1") == 0xD
    assert mxref.encode([[0.5], [6.0]], "e2m1").tolist() == [[1], [7]]
    assert (mxref.encode([], "e2m1").shape, mxref.encode([], "e2m1").dtype) == ((0,), np.uint8)
    assert (mxref.decode([], "e2m1").shape, mxref.decode([], "e2m1").dtype) == ((0,), np.float32)
    assert mxref.decode(0xD, "e2m1") == -3


def test_encode_of_any_memory_order() -> None:
    x = np.float32([[0.5, -1.0, 1.5], [2.0, -3.0, 6.0]])
    codes = [[1, 10, 3], [4, 13, 7]]
    assert mxref.encode(x, "e2m1").tolist() == codes
    assert mxref.encode(np.asfortranarray(x), "e2m1").tolist() == codes
    assert mxref.encode(x.astype(">f4"), "e2m1").tolist() == codes
    assert mxref.encode(x.astype(">f8").T, "e2m1").tolist() == [[1, 4], [10, 13], [3, 7]]
    assert mxref.encode(x[::-1, ::-2], "e2m1").tolist() == [[7, 4], [3, 1]]
    x.flags.writeable = False
    assert mxref.encode(x, "e2m1").tolist() == codes


def test_long_arrays_are_encoded_and_decoded_throughout() -> None:
    x = np.resize(np.float32([0.5, -1.0, 1.5, 2.0, -3.0, 6.0, -0.0]), 100_003)
    codes = np.resize(np.uint8([1, 10, 3, 4, 13, 7, 8]), 100_003)
    assert np.array_equal(mxref.encode(x, "e2m1"), codes)
    assert bits_of(mxref.decode(codes, "e2m1")) == bits_of(x)


@pytest.mark.parametrize("format", FORMATS)
def test_inputs_stay_as_they_are_and_results_are_their_own(format: str) -> None:
    for source, dtype in SOURCES.items():
        x = floats([1, 2, INFINITY[source], INFINITY[source] + 1], source)
        before = x.tobytes()
        codes = mxref.encode(x, format)
        assert x.tobytes() == before
        assert not np.shares_memory(codes, x)
        codes[:] = 1
        before = codes.tobytes()
        values = mxref.decode(codes, format, dtype)
        assert codes.tobytes() == before
        want = bits_of(values)
        values[:] = 0
        assert bits_of(mxref.decode(codes, format, dtype)) == want


# Decode.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_decode_is_exact_in_every_dtype(format: str, source: str) -> None:
    codes = finite_codes(format)
    values = mxref.decode(codes, format, SOURCES[source]).astype(np.float64).tolist()
    assert [Fraction(v) for v in values] == [exact.value(code, format) for code in codes]
    half = 1 << CODE_BITS[format] - 1
    negative = [code for code, v in zip(codes, values, strict=True) if math.copysign(1, v) < 0]
    assert negative == [code for code in codes if code >= half]


@pytest.mark.parametrize("source", SOURCES)
def test_decode_of_nan_and_infinity(source: str) -> None:
    sign = 1 << WIDTH[source] - 1
    e5m2 = mxref.decode(NOT_FINITE["e5m2"], "e5m2", SOURCES[source])
    inf, nan = INFINITY[source], QUIET_NAN[source]
    assert bits_of(e5m2) == [inf, nan, nan, nan, inf | sign, nan, nan, nan]
    assert bits_of(mxref.decode([0x7F, 0xFF], "e4m3", SOURCES[source])) == [nan, nan]


@pytest.mark.parametrize("format", FORMATS)
def test_decode_of_every_kind_of_code_array(format: str) -> None:
    codes = np.arange(1 << CODE_BITS[format], dtype=np.uint8)
    want = bits_of(mxref.decode(codes, format))
    typed = codes.view(ML_DTYPES[format])
    for same in (
        codes.tolist(),
        codes.astype(np.uint16),
        codes.astype(">u4"),
        codes.astype(np.int64),
        np.repeat(codes, 3)[::3],
        typed,
        np.repeat(typed, 3)[::3],
    ):
        assert bits_of(mxref.decode(same, format)) == want
    assert bits_of(mxref.decode(typed[::-1], format)) == want[::-1]
    square = typed.reshape(4, -1)
    assert bits_of(mxref.decode(np.asfortranarray(square), format)) == want
    assert bits_of(mxref.decode(typed[5], format)) == want[5:6]


def test_int8_codes_are_bytes_or_int8() -> None:
    for codes in (np.int8([-1, -128, 127]), np.uint8([0xFF, 0x80, 0x7F])):
        assert mxref.decode(codes, "int8").tolist() == [-1 / 64, -2.0, 127 / 64]


@pytest.mark.parametrize("format", FORMATS)
def test_encode_of_decode_is_the_code(format: str) -> None:
    for dtype in SOURCES.values():
        values = mxref.decode(finite_codes(format), format, dtype)
        want = [0x81 if (format, c) == ("int8", 0x80) else c for c in finite_codes(format)]
        for rounding in ("ties_to_even", "toward_positive", "toward_negative", "to_odd"):
            assert mxref.encode(values, format, rounding=rounding).tolist() == want
        special = NOT_FINITE.get(format, [])
        codes = mxref.encode(mxref.decode(special, format, dtype), format, overflow="nonsaturating")
        infinities = (0x7C, 0xFC) if format == "e5m2" else ()
        assert codes.tolist() == [c if c in infinities else 0x7F for c in special]


@pytest.mark.parametrize(
    ("codes", "format", "text"),
    [
        ([16], "e2m1", "codes must be in [0, 15] for e2m1, got 16 at index (0,)"),
        (
            np.uint8([[1, 2], [3, 64]]),
            "e3m2",
            "codes must be in [0, 63] for e3m2, got 64 at index (1, 1)",
        ),
        (99, "e2m1", "codes must be in [0, 15] for e2m1, got 99 at index ()"),
        (
            np.uint16([255, 256, 0]),
            "e4m3",
            "codes must be in [0, 255] for e4m3, got 256 at index (1,)",
        ),
        ([0, -1], "e5m2", "codes must be in [0, 255] for e5m2, got -1 at index (1,)"),
        (np.int8([-1]), "e4m3", "codes must be in [0, 255] for e4m3, got -1 at index (0,)"),
        (np.int16([-1]), "int8", "codes must be in [0, 255] for int8, got -1 at index (0,)"),
        (
            [2**64 - 1],
            "e2m1",
            "codes must be in [0, 15] for e2m1, got 18446744073709551615 at index (0,)",
        ),
        ([16], "e1m2", "codes must be in [0, 15] for e1m2, got 16 at index (0,)"),
        ([128], "ue4m3", "codes must be in [0, 127] for ue4m3, got 128 at index (0,)"),
    ],
    ids=repr,
)
def test_codes_out_of_range(codes: Any, format: str, text: str) -> None:
    assert sentence(ValueError, lambda: mxref.decode(codes, format)) == text


@pytest.mark.parametrize(
    ("codes", "format", "text"),
    [
        ([1.0], "e2m1", "unsigned integers or float4_e2m1fn for e2m1, got float64"),
        (np.float32([1.0]), "int8", "unsigned integers or int8 for int8, got float32"),
        ([True], "e2m1", "unsigned integers or float4_e2m1fn for e2m1, got bool"),
        (np.zeros(0, bool), "e2m1", "unsigned integers or float4_e2m1fn for e2m1, got bool"),
        (None, "e5m2", "unsigned integers or float8_e5m2 for e5m2, got object"),
        ("1", "e3m2", "unsigned integers or float6_e3m2fn for e3m2, got <U1"),
        (
            np.zeros(2, ml_dtypes.float8_e4m3fn),
            "e5m2",
            "unsigned integers or float8_e5m2 for e5m2, got float8_e4m3fn",
        ),
        # Formats without a dtype; None is NumPy's word for float64.
        ([1.0], "e1m2", "unsigned integers for e1m2, got float64"),
        (np.zeros(3), "ue4m3", "unsigned integers for ue4m3, got float64"),
        (np.zeros(3), "binary8p4", "unsigned integers for binary8p4, got float64"),
        (np.float32([0.0]), "ue5m3", "unsigned integers for ue5m3, got float32"),
    ],
    ids=repr,
)
def test_codes_of_another_type(codes: Any, format: str, text: str) -> None:
    assert sentence(TypeError, lambda: mxref.decode(codes, format)) == f"codes must be {text}"


def test_ragged_codes() -> None:
    text = sentence(TypeError, lambda: mxref.decode([[1, 2], [3]], "e2m1"))
    assert text.startswith("codes must be a rectangular array of codes: ")


def test_masked_codes() -> None:
    codes = np.ma.masked_equal([1, 2, 3], 2)
    assert sentence(TypeError, lambda: mxref.decode(codes, "e2m1")) == (
        "codes must not be masked: use .filled(...) to say what masked means"
    )


@pytest.mark.parametrize(
    ("dtype", "shown"),
    [
        (np.int8, "int8"),
        (ml_dtypes.float8_e5m2, "float8_e5m2"),
        ("f3", "'f3'"),
        (None, "None"),  # which NumPy reads as float64
    ],
)
def test_decode_to_another_dtype(dtype: Any, shown: str) -> None:
    assert sentence(TypeError, lambda: mxref.decode([1], "e2m1", dtype)) == (
        f"dtype must be float64, float32, float16 or bfloat16, got {shown}"
    )


@pytest.mark.parametrize("call", [lambda f: mxref.encode([1.0], f), lambda f: mxref.decode([1], f)])
def test_an_unknown_format(call: Callable[[str], object]) -> None:
    assert sentence(ValueError, lambda: call("e2m2")) == (
        "format must be one of e5m2, e4m3, e3m2, e2m3, e2m1, int8, e4m3fnuz, e5m2fnuz, "
        "e4m3b11fnuz, e3m4, e4m3_ieee, e1m2, binary8p3, binary8p4, got 'e2m2' "
        "(did you mean 'e5m2'?)"
    )
    assert "use 'e2m1'" in sentence(ValueError, lambda: call("mxfp4_e2m1"))
    assert sentence(ValueError, lambda: call("e8m0")) == (
        "format must have a zero, got e8m0: use encode_scale and decode_scale"
    )


@pytest.mark.parametrize("call", [lambda f: mxref.encode([1.0], f), lambda f: mxref.decode([1], f)])
def test_a_format_object_whose_codes_are_no_bytes_with_a_zero(
    call: Callable[[ElementFormat], object],
) -> None:
    wide = ElementFormat("e8m7", 8, 7, 127, Specials.IEEE)
    assert sentence(ValueError, lambda: call(wide)) == (
        "format must have at most 8 bits, got e8m7 with 16"
    )
    no_zero = ElementFormat("mine", 4, 3, 7, subnormals=False)
    assert sentence(ValueError, lambda: call(no_zero)).startswith("format must have a zero")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([True, False], "bool"),
        (None, "object"),
        ([2**64], "object"),  # beyond uint64
        (np.array([1, 2.0], object), "object"),
    ],
    ids=repr,
)
def test_values_of_another_type(values: Any, text: str) -> None:
    assert sentence(TypeError, lambda: mxref.encode(values, "e2m1")) == (
        f"values must be float64, float32, float16 or bfloat16, got {text}: "
        "convert explicitly, for example values.astype(numpy.float32)"
    )


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1j], "complex128"),
        ("1.0", "<U3"),
        (np.zeros(1, "M8[s]"), "datetime64[s]"),
        (np.zeros(1, "m8[s]"), "timedelta64[s]"),
        (np.zeros(1, ml_dtypes.float8_e8m0fnu), "float8_e8m0fnu"),
        (np.zeros(1, ml_dtypes.int4), "int4"),
    ],
    ids=repr,
)
def test_values_of_another_dtype(values: Any, text: str) -> None:
    assert sentence(TypeError, lambda: mxref.encode(values, "e2m1")) == (
        f"values dtype must be float64, float32, float16 or bfloat16, got {text}"
    )


def test_masked_values() -> None:
    for values in (np.ma.array([1.0, 2.0]), np.ma.masked_equal([1, 2], 2), np.ma.masked):
        assert sentence(TypeError, lambda v=values: mxref.encode(v, "e2m1")) == (
            "values must not be masked: use .filled(...) to say what masked means"
        )
    random = {"random_bits": np.ma.masked_equal([1, 2], 2), "random_width": 2}
    assert sentence(
        TypeError, lambda: mxref.encode([1.0, 2.0], "e2m1", rounding="stochastic_a", **random)
    ).startswith("random_bits must not be masked")


def test_ragged_values() -> None:
    text = sentence(TypeError, lambda: mxref.encode([[1.0, 2.0], [3.0]], "e2m1"))
    assert text.startswith("values must be a rectangular array")


# Integers and small floats.

EVERY_FORMAT = tuple(CODE_FORMATS)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_are_encoded_like_their_float64(kind: str) -> None:
    limits = np.iinfo(kind)
    powers = {s * 2**b for b in range(64) for s in (1, -1)} | {limits.min, limits.max}
    near = {n + step for n in powers | set(range(-600, 600)) for step in (-1, 0, 1)}
    # Those that float64 holds, so that it is no second rounding.
    numbers = sorted(n for n in near if limits.min <= n <= limits.max and int(float(n)) == n)
    x = np.array(numbers, kind)
    wide = np.array([float(n) for n in numbers])
    before = x.tobytes()
    for format in EVERY_FORMAT:
        for rounding in ROUNDINGS:
            for overflow in ("saturate", "nonsaturating"):
                chosen = {"rounding": rounding, "overflow": overflow}
                want = mxref.encode(wide, format, **chosen).tolist()
                assert mxref.encode(x, format, **chosen).tolist() == want, (format, chosen)
    assert x.tobytes() == before
    assert np.array_equal(
        mxref.encode(x.astype(x.dtype.newbyteorder(">"))[::-1], "e5m2"),
        mxref.encode(wide[::-1], "e5m2"),
    )


def test_integers_by_hand() -> None:
    assert mxref.encode([1, -3, 0], "e2m1").tolist() == [0x2, 0xD, 0x0]
    assert mxref.encode(5, "e2m1", rounding="toward_positive").tolist() == 0x7
    assert (mxref.encode(5, "e2m1").shape, mxref.encode(np.int8(-5), "e2m1")) == ((), 0xE)
    assert mxref.encode(np.int8([-128, 127]), "e4m3").tolist() == [0xF0, 0x70]
    assert mxref.encode(np.uint64([2**64 - 1]), "e4m3", overflow="nonsaturating") == 0x7F
    assert mxref.encode(np.zeros((0, 3), int), "e2m1").shape == (0, 3)
    # int8 as numbers, not as codes of the element format of that name.
    assert mxref.encode(np.int8([1, -1]), "int8").tolist() == [0x40, 0xC0]


# One fraction bit and exponents up to 63: every 64-bit integer is in range.
HUGE = ElementFormat("huge", 6, 1, 0)


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_a_64_bit_integer_is_rounded_once(kind: str) -> None:
    limits = np.iinfo(kind)
    near = {
        s * (n << b) + step
        for s in (1, -1)
        for n in (4, 5, 6, 7)
        for b in range(49, 62)
        for step in (-1025, -513, -512, -3, -1, 0, 1, 2, 511, 512, 513, 1024)
    }
    largest = int(HUGE.max_normal)  # 1.5 * 2**63
    near |= {limits.min, min(limits.max, largest - 1)}
    numbers = sorted(n for n in near if limits.min <= n <= min(limits.max, largest - 1))
    assert sum(int(float(n)) != n for n in numbers) > 100
    values = [Fraction(HUGE.value(code)) for code in range(HUGE.sign_bit)]
    for rounding in ("ties_to_even", "ties_to_zero", "toward_zero", "toward_positive", "to_odd"):
        want = []
        for n in numbers:
            low = bisect_right(values, abs(n)) - 1
            below, above = abs(n) - values[low], values[low + 1] - abs(n)
            up = {
                "ties_to_even": above < below or (above == below and low % 2 == 1),
                "ties_to_zero": above < below,
                "toward_zero": False,
                "toward_positive": n > 0,
                "to_odd": low % 2 == 0,
            }[rounding]
            want.append(low + (below != 0 and up) + (HUGE.sign_bit if n < 0 else 0))
        assert mxref.encode(np.array(numbers, kind), HUGE, rounding=rounding).tolist() == want
    assert mxref.encode(np.uint64([largest, largest + 1, 2**64 - 1]), HUGE).tolist() == [127] * 3
    # 5 * 2**60 is a tie; one more is none, though float64 does not know it.
    assert mxref.encode(np.array([5 << 60, (5 << 60) + 1], kind), HUGE).tolist() == [124, 125]
    twice = mxref.encode(np.array([(5 << 60) + 1], kind), HUGE, pre_rounding="float32")
    assert twice.tolist() == [124]


@pytest.mark.parametrize("source", SMALL_FLOATS)
def test_small_floats_are_encoded_like_their_float64(source: str) -> None:
    codes = np.arange(1 << CODE_BITS.get(source, 8), dtype=np.uint8)
    x = codes.view(SMALL_FLOATS[source])
    wide = x.astype(np.float64)
    for format in EVERY_FORMAT:
        for policy in (
            "ocp",
            "ocp+overflow=nonsaturating",
            "ocp+rounding=toward_negative",
            "ocp+rounding=to_odd+overflow=propagate",
            "ocp+pre_rounding=float16",
        ):
            want = mxref.encode(wide, format, policy).tolist()
            assert mxref.encode(x, format, policy).tolist() == want, (format, policy)
    # The twin reads the codes themselves; NaN keeps its sign.
    for format in ("e5m2", "e4m3", "e2m1", "int8"):
        chosen = {"nan": "signed", "nan_to_finite": "signed_max", "subnormal_inputs": "flushed"}
        want = [exact.encode(int(c), source, format, **chosen) for c in codes]
        assert mxref.encode(x, format, **chosen).tolist() == want
    assert mxref.encode(x[::-1].reshape(4, -1).T, "e5m2").tolist() == (
        mxref.encode(wide[::-1].reshape(4, -1).T, "e5m2").tolist()
    )
    scalar = mxref.encode(x[3], "e5m2")
    assert (scalar.shape, scalar.dtype) == ((), np.uint8)
    assert scalar == mxref.encode(wide[3], "e5m2")


def test_encode_of_the_same_format_is_the_code() -> None:
    for source, dtype in SMALL_FLOATS.items():
        fmt = mxref.formats.element_format(source)
        codes = np.arange(fmt.code_count, dtype=np.uint8)
        codes = codes[~np.isin(codes, fmt.nan_codes)]
        same = mxref.encode(codes.view(dtype), source, overflow="nonsaturating")
        assert same.tolist() == codes.tolist()


# Formats of other standards.


@pytest.mark.parametrize("format", OTHER_CODE_FORMATS)
def test_other_formats_around_every_number_and_tie(format: str) -> None:
    fmt = mxref.formats.code_format(format)
    values = np.array([fmt.value(code) for code in range(fmt.max_code + 1)])
    ties = (values[1:] + values[:-1]) / 2
    codes = np.arange(fmt.max_code)
    even = codes + codes % 2
    tiny = fmt.value(1) / 2**40  # lost in most sums, and below half the smallest number
    for x, want in (
        (values, np.arange(fmt.max_code + 1)),
        (ties, even),
        (ties * (1 + 2.0**-52), codes + 1),
        (ties * (1 - 2.0**-53), codes),
        (values[1:] * (1 - 2.0**-53), codes + 1),
        (values + tiny, np.arange(fmt.max_code + 1)),
    ):
        assert mxref.encode(x, format).tolist() == want.tolist()
        if fmt.signed:
            sign = np.where((want != 0) | fmt.has_negative_zero, fmt.sign_bit, 0)
            assert mxref.encode(-x, format).tolist() == (want | sign).tolist()
        else:
            assert mxref.encode(-x, format).tolist() == want.tolist()
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
        decoded = mxref.decode(np.arange(fmt.max_code + 1), format, dtype)
        assert decoded.astype(np.float64).tolist() == values.tolist()
    # What is written for NaN, infinity and overflow reads back as what the format has for it.
    nan = mxref.decode(mxref.encode([math.nan], format), format)[0]
    assert math.isnan(nan) if fmt.nan_code is not None else nan == fmt.max_normal
    for x in (math.inf, 1e300):
        assert mxref.encode([x], format).tolist() == [fmt.max_code]
        over = float(mxref.decode(mxref.encode([x], format, overflow="nonsaturating"), format)[0])
        if fmt.inf_code is not None:
            assert over == math.inf
        elif fmt.nan_code is not None:
            assert math.isnan(over)
        else:
            assert over == fmt.max_normal


# Random bits.


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({}, ValueError, "rounding=stochastic_b needs random_bits= and random_width="),
        (
            {"random_bits": [1]},
            ValueError,
            "rounding=stochastic_b needs random_bits= and random_width=",
        ),
        (
            {"random_width": 4},
            ValueError,
            "rounding=stochastic_b needs random_bits= and random_width=",
        ),
        (
            {"random_bits": [0], "random_width": 0},
            ValueError,
            "random_width must be from 1 to 32, got 0",
        ),
        (
            {"random_bits": [0], "random_width": 33},
            ValueError,
            "random_width must be from 1 to 32, got 33",
        ),
        (
            {"random_bits": [1.0], "random_width": 4},
            TypeError,
            "random_bits must be integers, got float64",
        ),
        (
            {"random_bits": [16], "random_width": 4},
            ValueError,
            "random_bits must be from 0 to 2**4 - 1",
        ),
        (
            {"random_bits": [-1], "random_width": 4},
            ValueError,
            "random_bits must be from 0 to 2**4 - 1",
        ),
        (
            {"random_bits": [1], "random_width": 4, "rounding": "to_odd"},
            ValueError,
            "random_bits must not be given with rounding=to_odd",
        ),
        (
            {"random_width": 4, "rounding": "ties_to_even"},
            ValueError,
            "random_bits must not be given with rounding=ties_to_even",
        ),
    ],
)
def test_refused_random_bits(arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    arguments = {"rounding": "stochastic_b"} | arguments
    assert sentence(kind, lambda: mxref.encode([1.0, 2.0], "e2m1", **arguments)) == text
    assert sentence(kind, lambda: mxref.quantize([1.0, 2.0], "mxfp4_e2m1", **arguments)) == text


@pytest.mark.parametrize("rounding", ["stochastic_a", "stochastic_b", "stochastic_c"])
@pytest.mark.parametrize("source", SOURCES)
def test_stochastic_roundings_agree_with_the_twin(source: str, rounding: str) -> None:
    generator = np.random.default_rng(11)
    bits = generator.integers(0, 1 << WIDTH[source] - 1, 400, np.uint64).astype(uint(source))
    near = np.abs(generator.standard_normal(400)).astype(SOURCES[source]).view(uint(source))
    bits = np.concatenate([bits, near])
    for format in ("e4m3", "e2m1", "int8"):
        for width in (1, 4, 23, 32):
            draws = generator.integers(0, 1 << width, bits.size)
            chosen: dict[str, Any] = {"rounding": rounding, "random_width": width}
            got = mxref.encode(bits.view(SOURCES[source]), format, random_bits=draws, **chosen)
            want = [
                exact.encode(b, source, format, random_bits=r, **chosen)
                for b, r in zip(bits.tolist(), draws.tolist(), strict=True)
            ]
            assert got.tolist() == want
    # Random bits broadcast, and long arrays take theirs throughout.
    x = np.full((3, 40_000), 2.25)
    codes = mxref.encode(
        x, "e2m1", rounding=rounding, random_bits=np.arange(40_000) % 4, random_width=2
    )
    up = {"stochastic_a": [4, 4, 4, 5], "stochastic_b": [4, 4, 4, 5], "stochastic_c": [4, 4, 4, 5]}
    assert np.array_equal(codes, np.resize(np.uint8(up[rounding]), x.shape))


# Formats that reach beyond the numbers of their source.


def test_a_format_with_more_exponents_below_than_its_source() -> None:
    fmt = ElementFormat("wide", 5, 2, 20, Specials.IEEE)
    values = [Fraction(n, 4) * Fraction(2) ** -19 for n in range(4)]
    values += [(4 + n) * Fraction(2) ** (e - 22) for e in range(1, 31) for n in range(4)]
    assert len(values) == 0x7C
    bits = list(range(0x7C00))
    want = []
    for value in floats(bits, "f16").astype(np.float64).tolist():
        low = bisect_right(values, Fraction(value)) - 1
        if low == 0x7B:
            want.append(0x7B)
            continue
        distance = (values[low] + values[low + 1]) / 2 - Fraction(value)
        want.append(low if distance > 0 or (distance == 0 and low % 2 == 0) else low + 1)
    assert mxref.encode(floats(bits, "f16"), fmt).tolist() == want
    assert [Fraction(v) for v in mxref.decode(range(0x7C), fmt).tolist()] == values


def test_infinity_is_beyond_a_format_that_holds_all_numbers_of_its_source() -> None:
    fmt = ElementFormat("e6m1", 6, 1, 31)  # up to 1.5 * 2**32
    x = floats([0x7BFF, 0x7C00, 0xFC00], "f16")
    assert mxref.encode(x, fmt).tolist() == [(31 + 16) << 1, 0x7F, 0xFF]


# Properties of all bit patterns.


def patterns(source: str) -> st.SearchStrategy[int]:
    """Bit patterns, half of them where the formats have their numbers."""
    fraction_bits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[source]
    bias = (INFINITY[source] >> fraction_bits) // 2
    near = st.builds(
        lambda negative, field, fraction: (
            negative << WIDTH[source] - 1 | field << fraction_bits | fraction
        ),
        st.booleans(),
        st.integers(max(bias - 20, 0), min(bias + 17, 2 * bias)),
        st.integers(0, (1 << fraction_bits) - 1) | st.sampled_from([0, (1 << fraction_bits) - 1]),
    )
    return near | st.integers(0, (1 << WIDTH[source]) - 1)


ANY_NUMBERS = st.sampled_from(list(SOURCES)).flatmap(
    lambda source: st.tuples(
        st.just(source),
        st.lists(
            patterns(source).filter(lambda b: b % (1 << WIDTH[source] - 1) <= INFINITY[source]),
            min_size=2,
            max_size=20,
        ),
    )
)


@pytest.mark.sampled(6)
@given(ANY_NUMBERS, st.sampled_from(FORMATS), st.sampled_from(ROUNDINGS))
def test_encode_is_monotone(numbers: tuple[str, list[int]], format: str, rounding: str) -> None:
    source, bits = numbers
    half = 1 << WIDTH[source] - 1
    ordered = sorted(bits, key=lambda b: b if b < half else half - b)
    codes = mxref.encode(floats(ordered, source), format, rounding=rounding).tolist()
    values = [exact.value(code, format) for code in codes]
    assert all(low <= high for low, high in pairwise(values))


MIRRORED = {"toward_positive": "toward_negative", "toward_negative": "toward_positive"}


@pytest.mark.sampled(6)
@given(
    ANY_NUMBERS,
    st.sampled_from(FORMATS),
    st.sampled_from(ROUNDINGS),
    st.sampled_from(["saturate", "nonsaturating"]),
)
def test_the_opposite_number_has_the_opposite_code(
    numbers: tuple[str, list[int]], format: str, rounding: str, overflow: str
) -> None:
    source, bits = numbers
    opposite = [b ^ 1 << WIDTH[source] - 1 for b in bits]
    codes = mxref.encode(floats(bits, source), format, rounding=rounding, overflow=overflow)
    mirrored = mxref.encode(
        floats(opposite, source),
        format,
        rounding=MIRRORED.get(rounding, rounding),
        overflow=overflow,
    )
    nans = (0x7F,) if (format, overflow) == ("e4m3", "nonsaturating") else ()
    want = [c if c in nans else flipped(c, format) for c in codes.tolist()]
    assert mirrored.tolist() == want


@given(st.data(), st.sampled_from(["e5m2", "e4m3", "e3m2", "e2m3", "e2m1"]))
def test_a_power_of_two_moves_the_exponent_alone(data: st.DataObject, format: str) -> None:
    emin, emax, m = {
        "e5m2": (-14, 15, 2),
        "e4m3": (-6, 8, 3),
        "e3m2": (-2, 4, 2),
        "e2m3": (0, 2, 3),
        "e2m1": (0, 2, 1),
    }[format]
    exponents = st.integers(emin, emax - 1)
    fraction = data.draw(st.integers(0, 2**23 - 1))
    first, second = data.draw(exponents), data.draw(exponents)
    rounding = data.draw(st.sampled_from(ROUNDINGS))
    bits = [(e + 127) << 23 | fraction for e in (first, second)]
    codes = mxref.encode(floats(bits, "f32"), format, rounding=rounding).tolist()
    assert codes[1] - codes[0] == (second - first) * 2**m


@pytest.mark.sampled(6)
@given(st.lists(patterns("f32"), min_size=1), st.sampled_from(FORMATS))
def test_a_wider_source_gives_the_same_code(bits: list[int], format: str) -> None:
    bits = [b for b in bits if b % (1 << 31) <= INFINITY["f32"]]
    wide = [float(x) for x in floats(bits, "f32").tolist()]
    for rounding in ROUNDINGS:
        assert np.array_equal(
            mxref.encode(floats(bits, "f32"), format, rounding=rounding),
            mxref.encode(wide, format, rounding=rounding),
        )


def test_the_full_range_is_that_of_int8_alone() -> None:
    values = np.float32([-1e9, -2.0, -1.9921875, 2.0, 1e9])
    full = mxref.encode(values, "int8", int8_range="full")
    assert full.tolist() == [0x80, 0x80, 0x80, 0x7F, 0x7F]  # -1.9921875 is a tie of -127/64 and -2
    assert mxref.encode(values, "int8").tolist() == [0x81, 0x81, 0x81, 0x7F, 0x7F]
    for format in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1"):
        usual = mxref.encode(values, format).tolist()
        assert mxref.encode(values, format, int8_range="full").tolist() == usual
