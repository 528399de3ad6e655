"""Fused sums: midpoints that float64 makes of sums that are none, and every midpoint of 8 bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mxref.bits.float32 import fl_sum
from mxref.exact import integer as exact
from mxref.exact.arithmetic import F32
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.sums import total_of
from mxref.integer import QParams, quantize_affine

CHOICES = ("reciprocal", "fused", "highest", "saturate", "saturate", "float32")


def sums(x: np.ndarray, y: np.ndarray) -> list[int]:
    """The float32 patterns of exact sums."""
    read = float_reader(exact.F64)
    pairs = zip(x.view(np.uint64).tolist(), y.view(np.uint64).tolist(), strict=True)
    return [write_float(converted(total_of(read(a), read(b)), F32), F32) for a, b in pairs]


def test_sums_are_rounded_once() -> None:
    """Products of 48 bits whose last ones float64 loses beside a larger number."""
    drawn = np.random.default_rng(1)
    y = np.concatenate([2.0 ** drawn.integers(0, 8, 4000), drawn.integers(-255, 256, 4000)])
    halves = (drawn.integers(0, 1 << 20, 8000) + 0.5) * np.spacing(np.abs(y) + 1, dtype=np.float64)
    halves *= 2.0**29  # midpoints of float32 beside y
    tiny = drawn.choice([-1, 0, 1], 8000) * 2.0 ** drawn.integers(-47, -30, 8000) * halves
    x = halves + np.float64(tiny)
    got = fl_sum(x, y).astype(np.float32)
    assert got.view(np.uint32).tolist() == sums(x, y)
    twice = (x + y).astype(np.float32)
    assert np.count_nonzero(twice != got) > 20  # float64 makes midpoints of some
    specials = np.array([np.inf, -np.inf, 0.0, -0.0, 2.0**-298, 2.0**255, -(2.0**-149)])
    a, b = (part.reshape(-1) for part in np.meshgrid(specials, specials))
    with np.errstate(invalid="ignore"):
        found = fl_sum(a, b)
    bits = found.astype(np.float32).view(np.uint32)
    want = np.array(sums(a, b), np.uint32)
    is_nan = np.isnan(found)
    assert np.array_equal(is_nan, np.isnan(want.view(np.float32)))
    assert np.array_equal(bits[~is_nan] & 0x7FFFFFFF, want[~is_nan] & 0x7FFFFFFF)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("scale", [0.013, 0.1, 0.3, 1 / 255, 2.0**-16, 3.0])
def test_every_midpoint_of_8_bits_is_that_of_the_twin(scale: float, dtype: Any) -> None:
    info, single = np.iinfo(dtype), np.float32(scale)
    codes = np.arange(info.min - 1, info.max + 1) + 0.5
    pattern = int(np.float64(single).view(np.uint64))
    for zero in {info.min, 0, 3, 100, info.max}:
        middle = np.float32((codes - zero) * np.float64(single))
        around = (np.nextafter(middle, np.float32(end)) for end in (np.inf, -np.inf))
        x = np.concatenate([middle, *around])
        got = quantize_affine(
            x, QParams(single, zero, info.min, info.max, dtype), zero_point="fused", nan="highest"
        )
        ends = zero, int(info.min), int(info.max), 8
        some = [exact.quantize_affine(p, pattern, *ends, CHOICES) for p in x.view("u4").tolist()]
        assert got.tolist() == some


def test_the_three_places_of_the_zero_point_part() -> None:
    """Of numbers at midpoints every pair of members differs somewhere."""
    codes = np.arange(-128, 127) + 0.5
    x = np.float32((codes - 3) * np.float64(np.float32(0.1)))
    each = [quantize_affine(x, QParams(0.1, 3), zero_point=p) for p in ("after", "before", "fused")]
    for one, other in itertools.combinations(each, 2):
        assert 0 < np.count_nonzero(one != other) < len(x)
        assert np.abs(one.astype(int) - other).max() == 1
