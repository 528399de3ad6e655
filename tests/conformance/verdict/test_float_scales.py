"""Kernels that make FP8 under float32 scales: right ones under each profile, wrong ones by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from float_scaled import float_scaled

import mxref
from mxref.cases.records import VectorFile
from mxref.conformance import target_of, verify
from mxref.conformance.compare.compare import run_file
from mxref.formats.catalog import FLOAT_SCALED_FORMATS
from mxref.golden.float_scaled_cases import float_scaled_files
from mxref.policy.policy import Policy
from mxref.profiles.float_scales import PROFILES
from mxref.targets.target import PythonTarget

FORMAT = "fp8_e4m3_f32"


def quantized() -> VectorFile:
    return float_scaled()[f"quantize/{FORMAT}.f32"]


def read() -> VectorFile:
    return float_scaled()[f"dequantize/{FORMAT}.bf16"]


def kernel(**functions: Any) -> PythonTarget:
    own = SimpleNamespace(FORMATS=[FORMAT], FLOATS=["f32", "bf16"], **functions)
    return target_of(own, "kernel")


def by(profile: mxref.profiles.Profile) -> Any:
    """A kernel that gives float32 scales and codes as a profile does."""

    def quantize(values: Any, format: str) -> Any:
        blocks = profile.quantize(values, format)
        return blocks.scales[:, 0], blocks.codes

    return quantize


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.name)
def test_a_right_kernel_conforms_to_its_profile(profile: mxref.profiles.Profile) -> None:
    target = kernel(quantize=by(profile))
    assert not run_file(target, quantized(), Policy(), profile).failures
    assert not run_file(target, quantized(), profile.policy).failures
    assert run_file(target, quantized(), Policy()).failures  # which is no kernel's


def test_a_profile_is_told_from_the_others() -> None:
    """By codes of NaN as well, which policies have in common."""
    wrong = []
    for profile in PROFILES:
        outcome = run_file(kernel(quantize=by(profile)), quantized(), Policy(), PROFILES[0])
        wrong.append(bool(outcome.failures))
    assert wrong == [False, *[True] * (len(PROFILES) - 1)]


def test_the_policy_of_a_kernel_is_found() -> None:
    chosen = mxref.profile("deepgemm_fp8_ue8m0")
    report = verify(kernel(quantize=by(chosen)), [quantized()], Policy())
    (row,) = report.rows
    assert report.verdict == (
        "conforms under ocp+amax_floor=1e-4+scale_power=bit_ceiling+element_from=quotient"
    )
    assert row.causes[0].complete


def test_what_reads_blocks() -> None:
    """Scales come as float32 numbers, one for each block."""

    def dequantize(scale_codes: Any, codes: Any, format: str, dtype: Any) -> Any:
        assert scale_codes.dtype == np.float32
        fmt = FLOAT_SCALED_FORMATS[format]
        blocks = mxref.Blocks(codes, scale_codes[:, np.newaxis], fmt, -1, codes.shape)
        return blocks.dequantize(dtype)

    assert not run_file(kernel(dequantize=dequantize), read(), Policy()).failures

    def twice(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return dequantize(*arguments) * 2

    assert run_file(kernel(dequantize=twice), read(), Policy()).failures


def test_a_nan_scale_may_have_any_bits_of_a_nan() -> None:
    def quantize(values: Any, format: str) -> Any:
        blocks = mxref.quantize(values, format)
        scales = blocks.scale_codes[:, 0].copy()
        codes = np.where(scales[:, np.newaxis] > 0x7F800000, 0x5A, blocks.codes)
        scales[scales > 0x7F800000] = 0xFFFFFFFF
        return scales.view(np.float32), codes

    assert not run_file(kernel(quantize=quantize), quantized(), Policy()).failures


def test_a_tile() -> None:
    stem = "quantize/fp8_e4m3_f32_128x128.f32"
    file = float_scaled_files()[stem]()

    def quantize(values: Any, format: str) -> Any:
        blocks = mxref.quantize(values, format)
        return blocks.scales, blocks.codes

    def transposed(values: Any, format: str) -> Any:
        scales, codes = quantize(values, format)
        return scales.T.reshape(scales.shape)[::-1, ::-1], codes

    claims = {"FORMATS": ["fp8_e4m3_f32_128x128"], "FLOATS": ["f32"]}
    right, wrong = (
        target_of(SimpleNamespace(quantize=one, **claims), "tiles")
        for one in (quantize, transposed)
    )
    assert not run_file(right, file, Policy()).failures
    assert run_file(wrong, file, Policy()).failures
