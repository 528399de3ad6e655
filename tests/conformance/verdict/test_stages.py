"""Kernels with two faults, each of which is named with its stage.

The kernels are made of plain NumPy and `mxref.encode`; what must be said of them comes from what
was planted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import vector_file
from numpy.typing import NDArray
from staged_kernels import Stages, assert_stages, checked, stages_of, target_with, told
from tables import rows

import mxref
from mxref.conformance import Extent, check
from mxref.conformance.checking.search import Search

Values = NDArray[Any]
Pair = tuple[Values, Values]
#: `floor(log2 amax) - emax` of the six formats.
EMAX = {"mxfp4_e2m1": 2, "mxfp8_e4m3": 8, "mxfp8_e5m2": 15, "mxfp6_e3m2": 4, "mxfp6_e2m3": 2}


def seen_amax(values: Values) -> Values:
    """The largest magnitude; NaN and infinity as they are."""
    return np.abs(values.astype(np.float64)).max(axis=1)


def floor_scales(amax: Values, format: str) -> Values:
    """Scale codes of largest magnitudes; FF of what is no number."""
    with np.errstate(all="ignore"):
        exponents = np.frexp(amax)[1] - 1 - EMAX[format]
    codes = np.clip(np.where(amax == 0, -127, exponents), -127, 127) + 127
    return np.where(np.isfinite(amax), codes, 255).astype(np.uint8)


def kernel(
    amax: Callable[[Values], Values] = seen_amax,
    scales: Callable[[Values, str], Values] = floor_scales,
    divisors: Callable[[Values], Values] = lambda codes: codes,
    encode: Callable[[Values, str], Values] = mxref.encode,
) -> Callable[[Values, str], Pair]:
    """A `quantize` in stages, each of which may be another one."""

    def quantize(values: Values, format: str) -> Pair:
        codes = scales(amax(values), format)
        by = divisors(codes.astype(np.int64)) - 127
        quotients = np.ldexp(values.astype(np.float64), -by[:, np.newaxis].astype(np.int32))
        element = mxref.formats.block_format(format).element.name
        found = encode(np.where(codes[:, np.newaxis] == 255, 0, quotients), element)
        return codes, np.asarray(found)

    return quantize


def without_abs(values: Values) -> Values:
    wide = values.astype(np.float64)
    return np.where(wide < 0, 0, wide).max(axis=1)


def without_lane(lane: int) -> Callable[[Values], Values]:
    def amax(values: Values) -> Values:
        return seen_amax(np.delete(values, lane, axis=1))

    return amax


def negative_nan(code: int) -> Callable[[Values, str], Values]:
    def encode(values: Values, format: str) -> Values:
        codes = np.asarray(mxref.encode(values, format)).copy()
        codes[np.isnan(values) & np.signbit(values)] = code
        return codes

    return encode


def nearest_log2(amax: Values, format: str) -> Values:
    """The logarithm of amax rounded to the nearest integer, and 00 for NaN."""
    with np.errstate(all="ignore"):
        logs = np.rint(np.log2(np.where(np.isfinite(amax) & (amax > 0), amax, 1)))
    codes = np.clip(logs - EMAX[format], -127, 127) + 127
    codes = np.where(amax == 0, 0, np.where(np.isinf(amax), 255, codes))
    return np.where(np.isnan(amax), 0, codes).astype(np.uint8)


def other_nan(amax: Values, format: str) -> Values:
    return np.where(np.isnan(amax), 0xFE, floor_scales(amax, format)).astype(np.uint8)


def away(values: Values, format: str) -> Values:
    return np.asarray(mxref.encode(values, format, rounding="ties_to_away"))


def read_as(dtype: str) -> Callable[[Values, str], Values]:
    """A decoder that takes every code for one of an 8-bit type of ml_dtypes."""
    return lambda codes, format: codes.view(getattr(ml_dtypes, dtype)).astype(np.float32)


def codes_of_e5m2(values: Values, format: str) -> Values:
    return np.asarray(mxref.encode(values, "e5m2"))


def blocks_of_e5m2(scales: Values, codes: Values, format: str, dtype: Any) -> Values:
    with np.errstate(all="ignore"):
        factors = np.ldexp(1.0, scales.astype(np.int32) - 127)
        values = codes.view(ml_dtypes.float8_e5m2).astype(np.float64) * factors[:, np.newaxis]
        return np.where(scales[:, np.newaxis] == 255, np.nan, values).astype(dtype)


STOCHASTIC = "ocp+rounding=stochastic_a"
MXFP4, MXFP8 = "quantize/mxfp4_e2m1.f32", "quantize/mxfp8_e4m3.f32"
#: Of each kernel in the table of stages how it quantizes.
KERNELS = {
    "abs_nan": kernel(amax=without_abs, scales=other_nan),
    "lane_31_nan": kernel(amax=without_lane(31), encode=negative_nan(0xF)),
    "lane_0_nan": kernel(amax=without_lane(0), encode=negative_nan(0xF)),
    "log2_nan_blocks": kernel(scales=nearest_log2),
    "other_scale": kernel(divisors=lambda codes: codes + 1, encode=away),
    "lane_rounding": kernel(amax=without_lane(7), encode=away),
}


@pytest.mark.parametrize(("name", "said"), stages_of("blocks").items())
def test_both_faults_are_named(name: str, said: tuple[str, Stages]) -> None:
    stem, stages = said
    assert_stages(checked(KERNELS[name], stem), stages)


@pytest.mark.parametrize("places", [1, 2, 3, 4, 8])
def test_how_many_places_too_low_random_bits_are(places: int) -> None:
    def encode_stochastic(values: Values, bits: Values, width: int, format: str) -> Values:
        drawn: Any = {"random_bits": bits >> places, "random_width": width}
        return np.asarray(mxref.encode(values, format, rounding="stochastic_a", **drawn))

    report = checked(encode_stochastic, "encode_stochastic/e4m3.f32", STOCHASTIC)
    said = "one place too low" if places == 1 else f"{places} places too low"
    assert said in report.verdict
    assert report.scope.searched


def test_zeros_for_all_numbers_are_no_rounding() -> None:
    def encode_stochastic(values: Values, bits: Values, width: int, format: str) -> Values:
        return np.zeros(values.shape, np.uint8)

    report = checked(encode_stochastic, "encode_stochastic/e2m1.f32", STOCHASTIC)
    # 1.0 is a number of E2M1, which no rounding makes 0.
    says = "gives 00 for every question; violates MX-5.3.3"
    assert report.verdict == f"has bug over {STOCHASTIC}: {says}"


@pytest.mark.parametrize("rounding", ["toward_zero", "ties_to_even", "to_odd"])
def test_another_rounding_than_a_stochastic_one_violates_no_clause(rounding: str) -> None:
    def encode_stochastic(values: Values, bits: Values, width: int, format: str) -> Values:
        return np.asarray(mxref.encode(values, format, rounding=rounding))

    report = checked(encode_stochastic, "encode_stochastic/e2m1.f32", STOCHASTIC)
    assert report.failures
    assert "violates" not in report.verdict


@pytest.mark.parametrize(
    ("stem", "function", "says"),
    [
        ("decode/e4m3fnuz.f32", read_as("float8_e4m3fn"), "reads codes as those of e4m3"),
        ("decode/e5m2.f32", read_as("float8_e3m4"), "reads codes as those of e3m4"),
        ("encode/e5m2fnuz.f32", codes_of_e5m2, "gives the codes of e5m2"),
        ("dequantize/mxfp8_e4m3.f32", blocks_of_e5m2, "reads codes as those of e5m2"),
    ],
)
def test_codes_of_another_format_are_named(
    stem: str, function: Callable[..., Any], says: str
) -> None:
    report = checked(function, stem)
    (row,) = report.rows
    assert row.causes[0].complete
    assert row.causes[0].text == says
    assert f"has bug: {says}" in report.verdict


def test_a_cause_that_the_search_contradicts_is_none() -> None:
    def quantize(values: Values, format: str) -> Pair:
        # The search asks more blocks at once than the file has.
        return kernel(amax=without_lane(31 if len(values) < 1000 else 30))(values, format)

    report = checked(quantize, MXFP4)
    (row,) = report.rows
    assert not row.causes or not row.causes[0].complete


def of_two_blocks(values: Values) -> Values:
    """The larger amax of blocks 2i and 2i + 1, that of a last one alone."""
    own = seen_amax(values)
    pairs = np.append(own, own[-1:])[: len(own) + len(own) % 2].reshape(-1, 2)
    return np.repeat(pairs.max(axis=1), 2)[: len(own)]


def next_in_lane_31(values: Values, format: str) -> Pair:
    """Rounds ties away; lane 31 is divided by the scale of the next block, the last by its own."""
    codes = floor_scales(seen_amax(values), format)
    by = np.repeat(codes.astype(np.int64)[:, np.newaxis], 32, axis=1) - 127
    by[:, 31] = np.append(by[1:, 31], by[-1, 31])
    quotients = np.ldexp(values.astype(np.float64), -by)
    element = mxref.formats.block_format(format).element.name
    return codes, away(np.where(codes[:, np.newaxis] == 255, 0, quotients), element)


def exchanged(values: Values, format: str) -> Pair:
    """Scales of blocks 2i and 2i + 1 are exchanged when they are stored; ties are away."""
    codes, found = kernel(encode=away)(values, format)
    whole = len(codes) // 2 * 2
    pairs = codes[:whole].reshape(-1, 2)[:, ::-1].reshape(-1)
    return np.append(pairs, codes[whole:]), found


MIXED = {
    "two_blocks": kernel(amax=of_two_blocks, encode=away),
    "exchanged": exchanged,
    "next_scale": next_in_lane_31,
}


@pytest.mark.parametrize("row", rows("conformance/verdict", "mixtures"), ids=lambda row: row[0])
def test_what_stages_do_is_said_where_blocks_are_mixed(row: list[str]) -> None:
    name, *says = row
    target = target_with(MIXED[name], MXFP8)
    report = check(target, [vector_file(MXFP8)], extent=Extent(search=False, elements=5000))
    assert report.verdict.startswith("mixes cases of a call: quantize mxfp8_e4m3: "), told(report)
    for text in says:
        assert text in report.verdict, told(report)


def test_sizes_are_no_reason_where_blocks_are_mixed() -> None:
    def quantize(values: Values, format: str) -> Pair:
        codes, found = kernel(amax=of_two_blocks)(values, format)
        return codes, np.roll(found, 1, axis=1)  # wrong in a call of any size

    target = target_with(quantize, MXFP8)
    report = check(target, [vector_file(MXFP8)], extent=Extent(search=False, elements=5000))
    assert "size of the call" not in report.verdict, told(report)
    assert "amax is that of blocks 2i and 2i + 1 together" in report.verdict


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((-1, 16, 2), "(lanes 2i and 2i + 1) amax sees the larger signed number alone"),
        ((-1, 8, 4), "(lanes 4i to 4i + 3) amax sees the largest signed number alone"),
    ],
)
def test_magnitudes_that_are_taken_after_the_largest_of_some_lanes(
    shape: tuple[int, ...], said: str
) -> None:
    def amax(values: Values) -> Values:
        groups = values.astype(np.float64).reshape(shape)
        largest = np.abs(np.fmax.reduce(groups, axis=2)).max(axis=1)
        return np.where(np.isfinite(values).all(axis=1), largest, seen_amax(values))

    report = checked(kernel(amax=amax, encode=away), MXFP8)
    assert said in report.verdict, told(report)
    assert "rounding=ties_to_away" in report.verdict


def test_a_way_that_gives_all_numbers_of_some_lanes_has_no_class() -> None:
    def encode(values: Values, format: str) -> Values:
        with np.errstate(over="ignore"):
            halves = np.asarray(mxref.encode(values.astype(np.float16).astype(np.float64), format))
        return np.where(np.arange(32) % 2 == 1, halves, away(values, format))

    report = checked(kernel(encode=encode), MXFP8)
    assert "in the odd lanes, rounds to float16 first" in report.verdict, told(report)


def test_a_shift_beside_another_rule_says_so() -> None:
    def scales(amax: Values, format: str) -> Values:
        with np.errstate(all="ignore"):
            exponents = np.ceil(np.log2(np.where(amax > 0, amax, 1))) - 1 - EMAX[format]
        codes = np.clip(np.where(amax == 0, -127, exponents), -127, 127) + 127
        return np.where(np.isfinite(amax), codes, 255).astype(np.uint8)

    report = checked(kernel(scales=scales), MXFP8)
    assert "every scale is 1 code too small" not in report.verdict.split("compared with")[0]
    assert "scale_rule=ceil" in told(report)


def test_a_cause_is_confirmed_once() -> None:
    function = kernel(amax=without_lane(7), encode=away)
    report = checked(function, MXFP8)
    search = Search(target_with(function, MXFP8), 4096, 0)
    (found,) = search.confirmed(report, (), ())
    assert (found.op, found.wrong) == ("quantize", 0)
    assert found.cases > 0
    assert not [*search.confirmed(report, (), (), report.rows)]


def test_what_each_stage_does_is_said_where_it_is_no_known_bug() -> None:
    def quantize(values: Values, format: str) -> Pair:
        codes, found = kernel()(values, format)
        amax = seen_amax(values)
        wrong = (amax >= 256) & (amax < 4096)
        return np.where(wrong, codes + 2, codes), np.where(found == 0x88, 0x08, found)

    report = checked(quantize, MXFP8)
    (row,) = report.rows
    stages = {stage.name: str(stage) for stage in row.causes[0].stages}
    assert "amax is at least 256" in stages["scale"]
    assert "2 codes too large" in stages["scale"]
