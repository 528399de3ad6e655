"""Element codes: values typed from the standards, exact fractions, refusals."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tables
from helpers import INFINITY, QUIET_NAN, SMALL_FLOATS, SOURCES, WIDTH, sentence

import mxref
from mxref import exact
from mxref.formats.catalog import (
    ELEMENT_FORMATS,
    OTHER_CODE_FORMATS,
    ElementFormat,
    Specials,
    code_format,
)

FORMATS = tuple(ELEMENT_FORMATS)
NOT_FINITE = {"e5m2": [*range(0x7C, 0x80), *range(0xFC, 0x100)], "e4m3": [0x7F, 0xFF]}
KNOWN = "float64, float32, float16 or bfloat16"
CONVERT = "convert explicitly, for example values.astype(numpy.float32)"


def floats(bits: list[int], source: str) -> np.ndarray:
    return np.array(bits, f"u{WIDTH[source] // 8}").view(SOURCES[source])


def bits_of(values: np.ndarray) -> list[int]:
    bits: list[int] = values.view(f"u{values.dtype.itemsize}").ravel().tolist()
    return bits


def finite_codes(format: str) -> list[int]:
    everything = range(code_format(format).code_count)
    return [code for code in everything if code not in NOT_FINITE.get(format, [])]


# Encode.


@pytest.mark.parametrize(
    ("format", "choices", "numbers", "codes"), tables.table(__file__, "encode.txt")
)
def test_codes_by_hand(format: str, choices: str, numbers: str, codes: str) -> None:
    """Of float64, and of each other float type that holds the numbers."""
    policy = f"ocp+{choices}" if choices else "ocp"
    values, want = np.array(tables.floats(numbers)), tables.codes(codes)
    assert mxref.encode(values, format, policy).tolist() == want
    for dtype in SOURCES.values():
        with np.errstate(all="ignore"):
            narrow = values.astype(dtype)
        if np.array_equal(narrow.astype(np.float64), values, equal_nan=True):
            assert mxref.encode(narrow, format, policy).tolist() == want


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("format", "tie", "saturating", "nonsaturating", "negative"),
    tables.table(__file__, "ties.txt"),
)
def test_both_sides_of_a_tie(
    format: str, tie: str, saturating: str, nonsaturating: str, negative: str, source: str
) -> None:
    (middle,) = bits_of(np.array([float(tables.number(tie))]).astype(SOURCES[source]))
    x = floats([middle - 1, middle, middle + 1], source)
    minus = floats([bits | 1 << WIDTH[source] - 1 for bits in bits_of(x)], source)
    assert mxref.encode(x, format).tolist() == tables.codes(saturating)
    found = mxref.encode(np.concatenate([x, minus]), format, overflow="nonsaturating")
    assert found.tolist() == [*tables.codes(nonsaturating), *tables.codes(negative)]


@pytest.mark.parametrize("source", SOURCES)
def test_every_nan_is_one_code(source: str) -> None:
    sign = 1 << WIDTH[source] - 1
    magnitudes = [QUIET_NAN[source], INFINITY[source] + 1, sign - 1]  # quiet, signalling, all ones
    nans = floats([*magnitudes, *(m | sign for m in magnitudes)], source)
    codes = {"e5m2": 0x7F, "e4m3": 0x7F, "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 0x07, "int8": 0x7F}
    for format, code in codes.items():
        for rounding in ("ties_to_even", "toward_negative"):
            for overflow in ("saturate", "nonsaturating"):
                found = mxref.encode(nans, format, rounding=rounding, overflow=overflow)
                assert found.tolist() == [code] * 6


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
    limits, largest = np.iinfo(kind), int(HUGE.max_normal)  # 1.5 * 2**63
    beside = (-1025, -513, -512, -3, -1, 0, 1, 2, 511, 512, 513, 1024)
    near = {
        s * (n << b) + d
        for s in (1, -1)
        for n in (4, 5, 6, 7)
        for b in range(49, 62)
        for d in beside
    }
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


# Decode.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("format", FORMATS)
def test_decode_is_exact_in_every_dtype(format: str, source: str) -> None:
    codes = finite_codes(format)
    values = mxref.decode(codes, format, SOURCES[source]).astype(np.float64).tolist()
    assert [Fraction(v) for v in values] == [exact.value(code, format) for code in codes]
    half = code_format(format).code_count >> 1
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
def test_encode_of_decode_is_the_code(format: str) -> None:
    for dtype in SOURCES.values():
        values = mxref.decode(finite_codes(format), format, dtype)
        want = [0x81 if (format, c) == ("int8", 0x80) else c for c in finite_codes(format)]
        for rounding in ("ties_to_even", "toward_positive", "toward_negative", "to_odd"):
            assert mxref.encode(values, format, rounding=rounding).tolist() == want
    if format in SMALL_FLOATS:  # of ml_dtypes' arrays, too
        codes = np.uint8(finite_codes(format)).view(SMALL_FLOATS[format])
        assert mxref.encode(codes, format).tolist() == want


# Formats of other standards, and of one's own.


@pytest.mark.parametrize("format", OTHER_CODE_FORMATS)
def test_other_formats_around_every_number_and_tie(format: str) -> None:
    fmt = code_format(format)
    values = np.array([fmt.value(code) for code in range(fmt.max_code + 1)])
    ties = (values[1:] + values[:-1]) / 2
    codes = np.arange(fmt.max_code)
    for x, want in (
        (values, np.arange(fmt.max_code + 1)),
        (ties, codes + codes % 2),
        (ties * (1 + 2.0**-52), codes + 1),
        (ties * (1 - 2.0**-53), codes),
    ):
        assert mxref.encode(x, format).tolist() == want.tolist()
        sign = np.where((want != 0) | fmt.has_negative_zero, fmt.sign_bit, 0)
        assert mxref.encode(-x, format).tolist() == (want | sign).tolist()
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16):
        decoded = mxref.decode(np.arange(fmt.max_code + 1), format, dtype)
        assert decoded.astype(np.float64).tolist() == values.tolist()
    # What is written for NaN, infinity and overflow reads back as what the format has for it.
    nan = mxref.decode(mxref.encode([math.nan], format), format)[0]
    assert math.isnan(nan) if fmt.nan_code is not None else nan == fmt.max_normal
    for x in (math.inf, 1e300):
        assert mxref.encode([x], format).tolist() == [fmt.max_code]
        over = float(mxref.decode(mxref.encode([x], format, overflow="nonsaturating"), format)[0])
        if fmt.inf_code is None and fmt.nan_code is not None:
            assert math.isnan(over)
        else:
            assert over == (fmt.max_normal if fmt.inf_code is None else math.inf)


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


# Random bits.

NEEDS = "rounding=stochastic_b needs random_bits= and random_width="
WIDTHS = "random_width must be from 1 to 32, got"
RANGE = "random_bits must be from 0 to 2**4 - 1"
NOT_READ = "random_bits must not be given with rounding="


@pytest.mark.parametrize(
    ("rounding", "bits", "width", "kind", "text"),
    [
        ("stochastic_b", None, None, ValueError, NEEDS),
        ("stochastic_b", [1], None, ValueError, NEEDS),
        ("stochastic_b", None, 4, ValueError, NEEDS),
        ("stochastic_b", [0], 0, ValueError, f"{WIDTHS} 0"),
        ("stochastic_b", [0], 33, ValueError, f"{WIDTHS} 33"),
        ("stochastic_b", [1.0], 4, TypeError, "random_bits must be integers, got float64"),
        ("stochastic_b", [16], 4, ValueError, RANGE),
        ("stochastic_b", [-1], 4, ValueError, RANGE),
        ("to_odd", [1], 4, ValueError, f"{NOT_READ}to_odd"),
        ("ties_to_even", None, 4, ValueError, f"{NOT_READ}ties_to_even"),
    ],
)
def test_refused_random_bits(
    rounding: Any, bits: Any, width: Any, kind: type[Exception], text: str
) -> None:
    given: Any = {"rounding": rounding, "random_bits": bits, "random_width": width}
    assert sentence(kind, lambda: mxref.encode([1.0, 2.0], "e2m1", **given)) == text
    assert sentence(kind, lambda: mxref.quantize([1.0, 2.0], "mxfp4_e2m1", **given)) == text


@pytest.mark.parametrize("rounding", ["stochastic_a", "stochastic_b", "stochastic_c"])
@pytest.mark.parametrize("source", SOURCES)
def test_stochastic_roundings_agree_with_the_twin(source: str, rounding: str) -> None:
    generator = np.random.default_rng(11)
    uint = f"u{WIDTH[source] // 8}"
    bits = generator.integers(0, 1 << WIDTH[source] - 1, 400, np.uint64).astype(uint)
    near = np.abs(generator.standard_normal(400)).astype(SOURCES[source]).view(uint)
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
    x, draws = np.full((3, 40_000), 2.25), np.arange(40_000) % 4
    chosen = {"rounding": rounding, "random_bits": draws, "random_width": 2}
    codes = mxref.encode(x, "e2m1", **chosen)
    assert np.array_equal(codes, np.resize(np.uint8([4, 4, 4, 5]), x.shape))


# Refusals.


@pytest.mark.parametrize(
    ("codes", "format", "text"),
    [
        ([16], "e2m1", "[0, 15] for e2m1, got 16 at index (0,)"),
        (np.uint8([[1, 2], [3, 64]]), "e3m2", "[0, 63] for e3m2, got 64 at index (1, 1)"),
        (99, "e2m1", "[0, 15] for e2m1, got 99 at index ()"),
        (np.uint16([255, 256, 0]), "e4m3", "[0, 255] for e4m3, got 256 at index (1,)"),
        (np.int8([-1]), "e4m3", "[0, 255] for e4m3, got -1 at index (0,)"),
        (np.int16([-1]), "int8", "[0, 255] for int8, got -1 at index (0,)"),
        ([2**64 - 1], "e2m1", f"[0, 15] for e2m1, got {2**64 - 1} at index (0,)"),
        ([128], "ue4m3", "[0, 127] for ue4m3, got 128 at index (0,)"),
    ],
    ids=repr,
)
def test_codes_out_of_range(codes: Any, format: str, text: str) -> None:
    error = f"codes must be in {text}"
    assert sentence(ValueError, lambda: mxref.decode(codes, format)) == error


@pytest.mark.parametrize(
    ("codes", "format", "text"),
    [
        ([1.0], "e2m1", "or float4_e2m1fn for e2m1, got float64"),
        (np.float32([1.0]), "int8", "or int8 for int8, got float32"),
        (np.zeros(0, bool), "e2m1", "or float4_e2m1fn for e2m1, got bool"),
        (None, "e5m2", "or float8_e5m2 for e5m2, got object"),
        ("1", "e3m2", "or float6_e3m2fn for e3m2, got <U1"),
        (
            np.zeros(2, ml_dtypes.float8_e4m3fn),
            "e5m2",
            "or float8_e5m2 for e5m2, got float8_e4m3fn",
        ),
        # Formats without a dtype; None is NumPy's word for float64.
        *(
            (np.zeros(3), name, f"for {name}, got float64")
            for name in ("e1m2", "ue4m3", "binary8p4")
        ),
    ],
    ids=repr,
)
def test_codes_of_another_type(codes: Any, format: str, text: str) -> None:
    error = f"codes must be unsigned integers {text}"
    assert sentence(TypeError, lambda: mxref.decode(codes, format)) == error


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([True, False], f" must be {KNOWN}, got bool: {CONVERT}"),
        (None, f" must be {KNOWN}, got object: {CONVERT}"),
        ([2**64], f" must be {KNOWN}, got object: {CONVERT}"),  # beyond uint64
        (np.array([1, 2.0], object), f" must be {KNOWN}, got object: {CONVERT}"),
        ([1j], f" dtype must be {KNOWN}, got complex128"),
        ("1.0", f" dtype must be {KNOWN}, got <U3"),
        (np.zeros(1, "m8[s]"), f" dtype must be {KNOWN}, got timedelta64[s]"),
        (np.zeros(1, ml_dtypes.float8_e8m0fnu), f" dtype must be {KNOWN}, got float8_e8m0fnu"),
        (np.zeros(1, ml_dtypes.int4), f" dtype must be {KNOWN}, got int4"),
    ],
    ids=repr,
)
def test_values_of_another_type(values: Any, text: str) -> None:
    assert sentence(TypeError, lambda: mxref.encode(values, "e2m1")) == f"values{text}"


@pytest.mark.parametrize(("dtype", "shown"), [(np.int8, "int8"), ("f3", "'f3'"), (None, "None")])
def test_decode_to_another_dtype(dtype: Any, shown: str) -> None:
    error = f"dtype must be {KNOWN}, got {shown}"
    assert sentence(TypeError, lambda: mxref.decode([1], "e2m1", dtype)) == error


def test_masked_arrays_and_ragged_lists() -> None:
    masked = np.ma.masked_equal([1, 2], 2)
    text = "must not be masked: use .filled(...) to say what masked means"
    for values in (np.ma.array([1.0, 2.0]), masked, np.ma.masked):
        assert sentence(TypeError, lambda v=values: mxref.encode(v, "e2m1")) == f"values {text}"
    assert sentence(TypeError, lambda: mxref.decode(masked, "e2m1")) == f"codes {text}"
    drawn: Any = {"rounding": "stochastic_a", "random_bits": masked, "random_width": 2}
    wrong = sentence(TypeError, lambda: mxref.encode([1.0, 2.0], "e2m1", **drawn))
    assert wrong == f"random_bits {text}"
    wrong = sentence(TypeError, lambda: mxref.encode([[1.0, 2.0], [3.0]], "e2m1"))
    assert wrong.startswith("values must be a rectangular array of numbers: ")
    wrong = sentence(TypeError, lambda: mxref.decode([[1, 2], [3]], "e2m1"))
    assert wrong.startswith("codes must be a rectangular array of codes: ")


@pytest.mark.parametrize("call", [mxref.encode, mxref.decode])
def test_formats_that_are_refused(call: Any) -> None:
    no_zero = ElementFormat("mine", 4, 3, 7, subnormals=False)
    for format, text in (
        ("e2m2", "format must be one of e5m2, e4m3, e3m2, "),
        ("mxfp4_e2m1", "format must be an element format, got the block format 'mxfp4_e2m1': use"),
        ("e8m0", "format must have a zero, got e8m0: use encode_scale and decode_scale"),
        (ElementFormat("e8m7", 8, 7, 127, Specials.IEEE), "format must have at most 8 bits, got "),
        (no_zero, "format must have a zero, got mine"),
    ):
        assert sentence(ValueError, lambda f=format: call([1], f)).startswith(text)
