"""Element codes: values typed from the standards, exact fractions, refusals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tables
from helpers import INFINITY, QUIET_NAN, SOURCES, WIDTH
from refused import assert_says, refusals

import mxref
from mxref.formats.catalog import ElementFormat, Specials


def floats(bits: list[int], source: str) -> np.ndarray:
    return np.array(bits, f"u{WIDTH[source] // 8}").view(SOURCES[source])


def bits_of(values: np.ndarray) -> list[int]:
    bits: list[int] = values.view(f"u{values.dtype.itemsize}").ravel().tolist()
    return bits


# Encode.


@pytest.mark.parametrize(
    ("format", "choices", "numbers", "codes"), tables.rows("numbers", "encode")
)
def test_codes_by_hand(format: str, choices: str, numbers: str, codes: str) -> None:
    """Of float64, and of each other float type that holds the numbers."""
    policy = f"ocp+{choices}" if choices else "ocp"
    values, want = np.array(tables.numbers(numbers)), tables.codes(codes)
    assert mxref.encode(values, format, policy).tolist() == want
    for dtype in SOURCES.values():
        with np.errstate(all="ignore"):
            narrow = values.astype(dtype)
        if np.array_equal(narrow.astype(np.float64), values, equal_nan=True):
            assert mxref.encode(narrow, format, policy).tolist() == want


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("format", "tie", "saturating", "nonsaturating", "negative"),
    tables.rows("numbers", "ties"),
)
def test_both_sides_of_a_tie(
    format: str, tie: str, saturating: str, nonsaturating: str, negative: str, source: str
) -> None:
    (middle,) = bits_of(np.array([tables.number(tie)]).astype(SOURCES[source]))
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


# Formats of one's own.


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


# Random bits, which broadcast, and of which long arrays take theirs throughout.


@pytest.mark.parametrize("rounding", ["stochastic_a", "stochastic_b", "stochastic_c"])
def test_random_bits_of_long_arrays(rounding: Any) -> None:
    x, draws = np.full((3, 40_000), 2.25), np.arange(40_000) % 4
    codes = mxref.encode(x, "e2m1", rounding=rounding, random_bits=draws, random_width=2)
    assert np.array_equal(codes, np.resize(np.uint8([4, 4, 4, 5]), x.shape))


# Refusals, of scales as well.


@pytest.mark.parametrize(("call", "kind", "text"), refusals("numbers"))
def test_refusals(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)
