"""Blocks made from a block: what stands in which lane, counted on the rows themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from right_calls import quantized

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.conformance import target_of
from mxref.conformance.fuzzing.fuzz import fuzz
from mxref.conformance.fuzzing.variants import VARIANTS

Array = np.ndarray[Any, Any]
FLOATS = tuple(LAYOUTS)
#: 1, -2.5, 0.75, 3.25, zeros, a NaN.
BLOCK = np.array([1, -2.5, 0.75, 3.25, *[0] * 11, np.nan, *[0] * 16])


def variant(name: str, float: str, block: Array = BLOCK) -> Array:
    """A variant of a block, as float64."""
    layout = LAYOUTS[float]
    words = block.astype(layout.dtype).view(layout.uint).astype(np.uint64)
    rows = VARIANTS[name](words, layout)
    return rows.astype(layout.uint).view(layout.dtype).astype(np.float64).reshape(-1, len(block))


@pytest.mark.parametrize("float", FLOATS)
def test_every_lane_has_the_largest_element_of_either_sign(float: str) -> None:
    rows = variant("largest", float)
    tops = np.abs(rows).argmax(axis=1)
    assert tops.tolist() == [*range(32), *range(32)]
    largest = rows[np.arange(64), tops]
    assert largest.tolist() == [13.0] * 32 + [-13.0] * 32  # 4 times 3.25
    others = np.sort(np.abs(rows), axis=1)[:, -2]
    assert (others <= 3.25).all()


@pytest.mark.parametrize("float", FLOATS)
def test_blocks_at_the_end_of_the_float_type_keep_one_largest_element(float: str) -> None:
    most = np.finfo(np.float16).max if float == "f16" else 3.38e38
    rows = variant("largest", float, np.array([most, -most, 1.0, *[0] * 29]))
    assert np.isfinite(rows).all()
    assert np.abs(rows).argmax(axis=1).tolist() == [*range(32), *range(32)]


@pytest.mark.parametrize("float", FLOATS)
def test_pairs_are_two_equal_maxima(float: str) -> None:
    rows = variant("pairs", float)
    assert ((np.abs(rows) == 13).sum(axis=1) == 2).all()
    signs = {tuple(sorted(row[np.abs(row) == 13].tolist())) for row in rows}
    assert signs == {(13.0, 13.0), (-13.0, 13.0), (-13.0, -13.0)}
    lanes = {int(lane) for row in rows for lane in np.flatnonzero(np.abs(row) == 13)}
    assert lanes == set(range(32))


@pytest.mark.parametrize("float", FLOATS)
def test_the_significand_of_the_largest_element_goes_through_a_binade(float: str) -> None:
    rows = variant("significands", float)
    amax = np.abs(rows).max(axis=1)
    assert len(amax) == 128
    assert ((amax >= 2) & (amax < 4)).all()
    assert np.unique(np.floor(amax * 64)).size == 128  # one in each 128th of the binade
    assert ((np.abs(rows) >= 2).sum(axis=1) == 1).all()


@pytest.mark.parametrize("float", ["f32", "bf16", "f64"])
def test_elements_far_below_the_largest(float: str) -> None:
    rows = variant("far", float)
    is_far = (rows != 0) & (np.abs(rows) < 2.0**-16)
    assert (is_far.sum(axis=1) == 1).all()
    significands, exponents = np.frexp(rows[is_far])
    assert sorted(exponents.tolist()) == list(range(2 - 83, 2 - 19))  # 2 * 2**-20 ... 2 * 2**-83
    most = 1 - 2.0 ** -(LAYOUTS[float].mantissa_bits + 1)
    assert set(significands.tolist()) == {0.5, 0.75, most, -0.5, -0.75, -most}
    assert np.flatnonzero(is_far.any(axis=0)).tolist() == [0, 1, 2, *range(4, 32)]
    assert (rows.max(axis=1) == 3.25).all()


def test_far_elements_of_float16_end_in_subnormals() -> None:
    rows = variant("far", "f16")
    far = np.abs(rows[(rows != 0) & (np.abs(rows) < 2.0**-16)])
    assert (len(far), far.max(), far.min()) == (6, 2.0**-19, 2.0**-24)


def test_far_elements_of_float16_pass_through_all_its_small_exponents() -> None:
    """Below 2**15 from 2**-5 on: at 2**-15 the first that is subnormal, cut off at 2**-24."""
    rows = variant("far", "f16", np.array([2.0**15, *[0] * 31]))
    for i, row in enumerate(rows):
        number = (1, 1.5, 2 - 2.0**-10)[i % 3] * 2.0 ** (-5 - i)
        assert np.abs(row[1:]).sum() == np.abs(row[1 + i % 31]) == number // 2.0**-24 * 2.0**-24


@pytest.mark.parametrize(("float", "count"), [("f32", 240), ("bf16", 240), ("f64", 253)])
def test_a_block_gets_every_scale(float: str, count: int) -> None:
    """amax goes up to 2**127, of which the scale is 2**112; in float64 to 2**140."""
    layout = LAYOUTS[float]
    words = variant("scales", float).astype(layout.dtype)
    scales = mxref.quantize(words, "mxfp8_e5m2").scale_codes[:, 0]
    assert np.unique(scales).tolist() == list(range(count))


@pytest.mark.parametrize("float", FLOATS)
def test_each_element_alone_and_zeros_after_a_full_block(float: str) -> None:
    rows = variant("alone", float)
    assert ((rows[:32] != 0).sum(axis=1) == (BLOCK != 0)).all()
    full = ((rows[32:] != 0).sum(axis=1) > 1).tolist()
    assert full == [True, False, True, False]


@pytest.mark.parametrize("float", ["f32", "bf16", "f64"])
def test_ramps_have_every_magnitude_in_every_lane(float: str) -> None:
    rows = np.abs(variant("ramps", float))
    assert (rows.max(axis=1) == 3.25).all()
    for lane in range(32):
        assert np.unique(rows[:, lane]).size >= 155  # of 160: the largest took five places
        assert rows[:, lane].min() < 3.25 * 2.0**-19


@pytest.mark.parametrize("float", FLOATS)
def test_specials_stand_in_every_lane(float: str) -> None:
    *rows, nans, infinities, mixed = variant("specials", float)
    assert np.isnan(nans).all()
    assert np.isposinf(infinities).all()
    assert (np.isnan(mixed) | np.isinf(mixed)).all()
    rows = np.array(rows)
    for is_special in (np.isnan, np.isposinf, np.isneginf):
        assert is_special(rows).any(axis=0).all()
    both = np.isnan(rows).any(axis=1) & np.isinf(rows).any(axis=1)
    assert both.sum() == 32
    rest = np.where(np.isfinite(rows), rows, 0)
    assert ((rest == 0).all(axis=1).sum(), len(rows)) == (64, 128)


# --- kernels that a search of 200 examples must find ----------------------------------------------

Pair = tuple[Array, Array]


def zeros_after_a_full_block(values: Array, format: str) -> Pair:
    scales, codes = quantized(values, format)
    zeros = (values == 0).all(axis=1)
    codes[1:][zeros[1:] & ~zeros[:-1]] |= 1
    return scales, codes


@pytest.mark.sampled(28)
def test_a_search_finds_what_variants_alone_show() -> None:
    claims = {"FORMATS": ["mxfp8_e4m3"], "FLOATS": ["f32"]}
    kernel = SimpleNamespace(quantize=zeros_after_a_full_block, **claims)
    (row,) = fuzz(target_of(kernel, "kernel"))
    assert row.found is not None
    assert row.found.steady
