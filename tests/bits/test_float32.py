"""float32 arithmetic on float64 numbers, and patterns in wider types: as NumPy casts them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from mxref.bits.float32 import (
    FLT_MAX,
    as_float32,
    as_float64,
    fl,
    normal_pattern,
    rounded,
    wide,
)
from mxref.bits.floats import BF16, F16, F32, F64, FloatLayout

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
QUIET = 1 << 51


def numbers() -> np.ndarray:
    """Each float32 exponent with ties and what lies beside them, beyond both ends, both signs."""
    ulp = np.array([0, 1, 2, 3, 2**22, 2**22 + 1, 2**23 - 2, 2**23 - 1]) * 2.0**-23
    tie = np.array([0, 2.0**-24, 2.0**-24 - 2.0**-52, 2.0**-24 + 2.0**-52])
    significands = (1 + np.add.outer(ulp, tie)).reshape(-1)
    powers = 2.0 ** np.arange(-155, 130)
    x = np.multiply.outer(powers, significands).reshape(-1)
    return np.concatenate([x, -x, [0.0, -0.0, np.inf, -np.inf, 2.0**-1000]])


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether float64 numbers are the same, signs of zeros too."""
    return np.array_equal(one.view(np.uint64), other.view(np.uint64))


def test_fl_is_the_cast_to_float32() -> None:
    x = numbers()
    with np.errstate(all="ignore"):
        want = x.astype(np.float32).astype(np.float64)
    assert same(fl(x), want)
    near = x[(abs(x) < 2.0**127) & (abs(x) > 2.0**-126)]
    assert same(fl(near), near.astype(np.float32).astype(np.float64))
    assert fl(np.float64(FLT_MAX)) == np.finfo(np.float32).max == FLT_MAX
    assert fl(np.zeros(0)).shape == (0,)


def test_fl_beside_the_largest_number() -> None:
    limit = 2.0**128 - 2.0**103  # the tie with 2**128, which has the even significand
    below = np.nextafter(limit, 0)
    for sign in (1.0, -1.0):
        x = sign * np.array([below, limit])
        assert fl(x).tolist() == [sign * FLT_MAX, sign * np.inf]
        assert [fl(one).item() for one in x] == [sign * FLT_MAX, sign * np.inf]


@pytest.mark.parametrize("bits", [0x7FF8 << 48, 0x7FF0 << 48 | 1, 0x7FFF << 48, 0xFFF0 << 48 | 5])
def test_fl_of_nan_is_that_nan_made_quiet(bits: int) -> None:
    found = fl(np.array([bits, 0x3FF0 << 48], np.uint64).view(np.float64)).view(np.uint64)
    assert found.tolist() == [bits | QUIET, 0x3FF0 << 48]


@pytest.mark.parametrize("layout", [F16, BF16, F32, F64], ids=lambda layout: layout.name)
def test_rounded_is_the_cast(layout: FloatLayout) -> None:
    x = numbers()
    if layout == F64:
        layout = F32  # float64 is rounded to float32
        assert same(rounded(x, F64), fl(x))
    with np.errstate(all="ignore"):
        if layout == BF16:  # ml_dtypes rounds twice, by way of float32
            x = x[x.astype(np.float32).astype(np.float64) == x]
        want = x.astype(DTYPES[layout.name]).astype(np.float64)
    assert same(rounded(x, layout), want)


def test_rounded_to_bfloat16_rounds_once() -> None:
    tie = 1 + 2.0**-8
    x = np.array([tie, tie + 2.0**-40, tie - 2.0**-40, tie + 2.0**-7])
    assert rounded(x, BF16).tolist() == [1, 1 + 2.0**-7, 1, 1 + 2.0**-6]


@pytest.mark.parametrize("layout", [F16, BF16, F32], ids=lambda layout: layout.name)
def test_wide_is_the_cast(layout: FloatLayout) -> None:
    bits = np.arange(1 << 16).astype(layout.uint)
    if layout == F32:
        bits = np.concatenate([bits, bits << 16, (bits << 16) + 1, (bits << 16) - 1])
    with np.errstate(all="ignore"):
        want = bits.view(DTYPES[layout.name]).astype(np.float64)
        single = bits.view(DTYPES[layout.name]).astype(np.float32)
    nan = np.isnan(want)
    found = wide(bits, layout)
    assert np.isnan(found[nan]).all()
    assert same(found[~nan], want[~nan])
    assert same(as_float64(bits, layout).view(np.float64)[~nan], want[~nan])
    sign = (bits[nan] >> layout.uint.type(layout.width - 1)).astype(np.uint64) << np.uint64(63)
    assert (found[nan].view(np.uint64) == (sign | np.uint64(0x7FF8 << 48))).all()
    one = as_float32(bits, layout)
    assert one.dtype == np.uint32
    assert (one[~nan] == single[~nan].view(np.uint32)).all()
    assert np.isnan(one[nan].view(np.float32)).all()


def test_wide_of_float64_is_rounded_to_float32() -> None:
    x = np.array([1 / 3, 1.0, -(2.0**-149)])
    assert wide(x.view(np.uint64), F64).tolist() == [float(np.float32(1 / 3)), 1.0, -(2.0**-149)]


def test_patterns_of_numbers_that_float32_holds() -> None:
    x = numbers()
    with np.errstate(all="ignore"):
        single = x.astype(np.float32)
    held = (single == x) & (single >= np.finfo(np.float32).tiny) & (single < np.inf)
    assert 0 < held.sum() < held.size
    want = np.where(held, single.view(np.uint32), 0)
    assert [normal_pattern(one) for one in x.tolist()] == want.tolist()
    assert normal_pattern(np.nan) == normal_pattern(-np.nan) == 0
