"""Fuzzing against a profile: its quirks are right answers, and what it does not do is found."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mxref
from mxref.conformance import target_of
from mxref.conformance.fuzzing.fuzz import FuzzRow, fuzz
from mxref.conformance.fuzzing.trial import Trial
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

FP4 = "mxfp4_e2m1"
Pair = tuple[np.ndarray, np.ndarray]


def searched(
    quantize: Callable[..., Any], claimed: str | None = "torchao_0_18_rceil", **given: Any
) -> FuzzRow:
    claims = {} if claimed is None else {"PROFILE": claimed}
    kernel = SimpleNamespace(quantize=quantize, FORMATS=[FP4], FLOATS=["f32"], **claims)
    (row,) = fuzz(target_of(kernel, "kernel"), **given)
    return row


def as_profile(name: str, values: np.ndarray, format: str) -> Pair:
    blocks = mxref.profile(name).quantize(values, format)
    return np.array(blocks.scale_codes[:, 0]), np.array(blocks.codes)


def torchao(values: np.ndarray, format: str) -> Pair:
    return as_profile("torchao_0_18_rceil", values, format)


def with_exact_ceiling(values: np.ndarray, format: str) -> Pair:
    """The true logarithm, where torchao has the float32 one, rounded to nearest."""
    scales, codes = torchao(values, format)
    amax = np.abs(values).max(axis=1)
    usual = np.isfinite(amax) & (amax > 2.0**-120)
    scales[usual] = mxref.shared_scale(amax[usual], "e2m1", "rceil")
    return scales, codes


def with_zeros_for_nan(values: np.ndarray, format: str) -> Pair:
    scales, codes = torchao(values, format)
    codes[scales == 0xFF] = 0
    return scales, codes


@pytest.mark.sampled(3)
def test_a_policy_that_is_given_goes_before_the_claim() -> None:
    row = searched(torchao, policy=Policy.parse("ocp+scale_rule=rceil"))
    assert row.found is not None
    assert row.profile is None


@pytest.mark.sampled(12)
def test_a_rounded_logarithm_is_missed_by_an_exact_one() -> None:
    row = searched(with_exact_ceiling, examples=2000)
    assert row.found is not None
    (want, *_), got = row.found.failure.want, row.found.failure.got
    assert got is not None
    assert got[0] == want + 1
    (bits, *rest) = row.found.failure.case.inputs
    assert not any(rest)
    x = Fraction(float(np.uint32(bits).view(np.float32)))
    assert 1 < x / 6 / Fraction(2) ** (want - 127) < 1 + Fraction(1, 1 << 18)


@pytest.mark.sampled(6)
def test_codes_under_a_nan_scale_are_compared_by_their_bits() -> None:
    found = searched(with_zeros_for_nan).found
    assert found is not None
    assert (found.failure.want[0], found.failure.got) == (0xFF, (0xFF,) + (0,) * 32)


@pytest.mark.sampled(12)
def test_what_a_profile_refuses_may_be_refused() -> None:
    def gfloat(values: np.ndarray, format: str) -> Pair:
        return as_profile("gfloat", values, format)  # which has no code for NaN in FP4

    assert searched(gfloat, "gfloat").found is None  # it is not asked that
    rows = np.zeros((2, 32), np.float32)
    rows[:, 0], rows[1, 1] = 2.0, np.nan
    asked = rows.view(np.uint32).astype(np.uint64)
    file, profile = without_cases("quantize", FP4, "f32"), mxref.profile("gfloat")
    target = target_of(SimpleNamespace(quantize=gfloat), "kernel")
    assert not Trial(target, file, profile.policy, profile).wrong(asked).any()
    assert Trial(target, file, Policy(), None).wrong(asked).tolist() == [False, True]
