"""RESCALE: bits by hand, the slow twin, and where it parts from dequantize and quantize."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers import records, words

from mxref.exact import integer as exact
from mxref.integer import QParams, dequantize_affine, multiplier_shift, quantize_affine, rescale

RATIOS = [1 / 2, 1 / 4, 3 / 4, 3 / 2, 0.1, 1 / 3, 1 / 127, 1.0, 2.0, 1 - 2.0**-33, 2.0**-40, 100.0]
INT8 = np.arange(-128, 128).astype(np.int8)


def test_q12_multipliers_by_hand() -> None:
    assert [int(part) for part in multiplier_shift(1.0)] == [0x40000000, 30]
    assert [int(part) for part in multiplier_shift(1 / 3)] == [0x55555555, 32]
    assert [int(part) for part in multiplier_shift(1.0, 16)] == [0x4000, 14]
    # The significand rounds up to a power of two.
    assert [int(part) for part in multiplier_shift(1 - 2.0**-33)] == [0x40000000, 30]
    assert [int(part) for part in multiplier_shift(1 - 2.0**-17, 16)] == [0x4000, 14]
    # Beyond S = 62 bits are cut off the multiplier.
    assert [int(part) for part in multiplier_shift(2.0**-33)] == [0x20000000, 62]
    assert [int(part) for part in multiplier_shift(2.0**-1074)] == [0, 62]


def test_multipliers_are_those_of_the_twin() -> None:
    drawn = np.random.default_rng(1)
    scales = np.ldexp(drawn.uniform(0.5, 1, 600), drawn.integers(-80, 13, 600))
    ties = (2.0**30 + np.arange(9) + 0.5) * 2.0**-30, (2.0**14 + np.arange(9) + 0.5) * 2.0**-14
    scales = np.concatenate([scales, 2.0 ** np.arange(-80, 13), RATIOS, *ties])
    for bits in (16, 32):
        multipliers, shifts = multiplier_shift(scales, bits)
        assert (multipliers.dtype, shifts.dtype) == (np.int32, np.int8)
        for scale, m, s in zip(scales.tolist(), multipliers.tolist(), shifts.tolist(), strict=True):
            assert (m, s) == exact.multiplier_shift(Fraction(scale), bits)


def test_q12_single_and_double_rounding() -> None:
    value = np.int32([7984])  # 11.4991
    assert Fraction(7984 * 1583594044, 2**40) < Fraction(23, 2)
    for rounding, code in (("single", 11), ("double", 12)):
        assert rescale(value, 1583594044, 40, rounding=rounding).tolist() == [code]
    # A tie goes toward +infinity.
    assert rescale(np.int8([1, 3, -1, -3]), *multiplier_shift(0.5)).tolist() == [1, 2, 0, -1]


@pytest.mark.parametrize("rounding", ["single", "double"])
def test_codes_are_those_of_the_twin(rounding: str) -> None:
    drawn = np.random.default_rng(2)
    limits = {8: (-128, 127), 16: (-32768, 32767), 32: (-(2**31), 2**31 - 1)}
    for shift in (2, 3, 30, 31, 32, 33, 40, 61, 62):
        top = min(2 ** (shift - 1), 2**31)
        ends = [-top, top - 1, 0, 1, -1, top // 2]
        values = np.array([v for v in ends if -top <= v < top], np.int64)
        values = np.append(values, drawn.integers(-top, top, 20)).astype(np.int32)
        for multiplier in (0, 1, 2**30, 2**31 - 1, int(drawn.integers(0, 2**31))):
            for dtype, (low, high) in zip(
                (np.int8, np.int16, np.int32), limits.values(), strict=True
            ):
                zero_point = 5 if dtype == np.int8 else 0
                got = rescale(values, multiplier, shift, 0, zero_point, rounding, dtype=dtype)
                want = [
                    exact.rescale(v, multiplier, shift, rounding) + zero_point
                    for v in values.tolist()
                ]
                assert got.tolist() == [min(max(w, low), high) for w in want]
                assert got.dtype == dtype


def test_sixteen_bit_multipliers_are_those_of_the_twin() -> None:
    drawn = np.random.default_rng(3)
    for scale in (0.9, 2.0**-10, 2.0**-17, 1 / 3):
        multiplier, shift = multiplier_shift(scale, 16)
        top = min(int(2**30 / scale), 2**47 - 1)
        values = np.append(drawn.integers(-top, top, 50), [top, -top, 0, 1])
        want = [exact.rescale(v, int(multiplier), int(shift)) for v in values.tolist()]
        got = rescale(values, multiplier, shift, dtype=np.int32, bits=16)
        assert got.tolist() == want


@pytest.mark.parametrize(
    ("shift", "low", "high"),
    [  # the ends of what gives int32: 2**14 * 2**-14 is 1; under 2**-15 ties go toward +infinity
        (14, -(2**31), 2**31 - 1),
        (15, -(2**32) - 1, 2**32 - 2),
        (31, -(2**47), 2**47 - 1),  # all of 48 bits
    ],
)
def test_ends_of_48_bits_and_of_int32(shift: int, low: int, high: int) -> None:
    half = Fraction(1, 2)
    for v in (low, high):
        want = math.floor(Fraction(v * 2**14, 2**shift) + half)
        assert rescale(np.array([v]), 1 << 14, shift, dtype="i4", bits=16).tolist() == [want]
    for v in (low - 1, high + 1):
        with pytest.raises(ValueError, match=r"must be within int32|at most 48 bits"):
            rescale(np.array([v]), 1 << 14, shift, dtype="i4", bits=16)


def test_channels_and_zero_points() -> None:
    drawn = np.random.default_rng(4)
    scales = drawn.uniform(0.1, 2, 5)
    multipliers, shifts = multiplier_shift(scales)
    values = drawn.integers(0, 256, (3, 2, 5)).astype(np.uint8)
    got = rescale(values, multipliers, shifts, 7, -3)
    for i, scale in enumerate(scales.tolist()):
        own = multiplier_shift(scale)
        assert np.array_equal(got[..., i], rescale(values[..., i], *own, 7, -3))
        want = [
            exact.rescale(int(v) - 7, *exact.multiplier_shift(Fraction(scale))) - 3
            for v in values[..., i].flat
        ]
        assert got[..., i].reshape(-1).tolist() == [min(max(w, -128), 127) for w in want]
    far = np.uint16([0, 32768, 65535])
    assert rescale(far, *multiplier_shift(1.0), 32768, dtype=np.int16).tolist() == [
        -32768,
        0,
        32767,
    ]
    back = rescale(np.int16([-32768, 0, 32767]), *multiplier_shift(1.0), 0, 32768, dtype=np.uint16)
    assert back.tolist() == far.tolist()


def test_q12_where_rescale_parts_from_dequantize_and_quantize() -> None:
    differing = {}
    for ratio in [*RATIOS[:5], 1.0, 2.0, 4.0]:
        one = rescale(INT8, *multiplier_shift(ratio))
        numbers = dequantize_affine(INT8, QParams(ratio))
        differing[ratio] = int(np.count_nonzero(one != quantize_affine(numbers, QParams(1.0))))
    assert differing == {0.5: 64, 0.25: 32, 0.75: 32, 1.5: 43, 0.1: 12, 1.0: 0, 2.0: 0, 4.0: 0}
    header, cases = records("rescale/int8-int8.bytes")
    places = [header["columns"].index(name) for name in ("default", "dequantize_quantize")]
    named = {case["name"]: [words(case["outs"][place]) for place in places] for case in cases}
    both = {"half": 64, "quarter": 32, "three_quarters": 32, "three_halves": 43, "tenth": 12}
    for name, count in both.items():
        one, other = named[f"{name}_0_0"]
        assert sum(a != b for a, b in zip(one, other, strict=True)) == count, name
    wide = QParams(1.0, 0, -32768, 32767, np.int16)
    unclamped = rescale(INT8, *multiplier_shift(1.5), dtype=np.int16)
    numbers = dequantize_affine(INT8, QParams(1.5))
    assert np.count_nonzero(unclamped != quantize_affine(numbers, wide)) == 64
