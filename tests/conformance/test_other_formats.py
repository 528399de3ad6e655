"""Formats beside those of MX: `fuzz`, `sweep` and `identify` ask a target that names them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mxref
from mxref.conformance import target_of
from mxref.conformance.fuzzing.fuzz import fuzz
from mxref.conformance.identification.identify import identify, settings
from mxref.conformance.sweeping.sweep import sweep
from mxref.formats.catalog import OTHER_CODE_FORMATS
from mxref.targets.target import PythonTarget


def right(format: str, **changed: Any) -> PythonTarget:
    parts = {"encode": lambda x, f: mxref.encode(x, f), "decode": lambda c, f: mxref.decode(c, f)}
    return target_of(SimpleNamespace(**{**parts, **changed}, FORMATS=[format]), "mine")


def bias_off(values: Any, format: str) -> Any:
    """A bias that is one too small: codes of half the number."""
    return mxref.encode(values.astype(np.float64) / 2, format)


def bias_off_back(codes: Any, format: str) -> Any:
    return mxref.decode(codes, format) * np.float32(2)


def minus_zero_as_nan(values: Any, format: str) -> Any:
    """Sign and magnitude put together: -0 becomes 80, which is NaN."""
    codes = mxref.encode(values, format)
    return np.where((values == 0) & np.signbit(values), np.uint8(0x80), codes)


def found(target: PythonTarget, format: str) -> dict[str, set[str]]:
    """The operations in which each verb finds something wrong."""
    fuzzed = list(fuzz(target, formats=[format], floats=["f32"], examples=40))
    assert {row.op for row in fuzzed} == {"encode", "decode"}
    swept = {
        op: sweep(target, op, format, float)
        for op, float in (("encode", "bf16"), ("decode", "f32"))
    }
    told = identify(target, formats=[format], floats=["f32"])
    assert {one.setting.op for one in told} == {"encode", "decode"}
    return {
        "fuzz": {row.op for row in fuzzed if row.found is not None},
        "sweep": {op for op, one in swept.items() if not one.passed},
        "identify": {one.setting.op for one in told if one.clashes or str(one.policy) != "ocp"},
    }


NOTHING: dict[str, set[str]] = {"fuzz": set(), "sweep": set(), "identify": set()}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("format", OTHER_CODE_FORMATS)
def test_a_right_target_passes_and_a_wrong_bias_is_found(format: str) -> None:
    assert found(right(format), format) == NOTHING
    wrong = right(format, encode=bias_off, decode=bias_off_back)
    wanted = {verb: {"encode", "decode"} for verb in NOTHING}
    if format == "binary8p1uf":  # asked at ties: half of one above an even code rounds up to it
        wanted["identify"] = {"decode"}
    assert found(wrong, format) == wanted


FNUZ = ("e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "binary8p3", "binary8p4")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", FNUZ)
def test_minus_zero_as_nan_is_found(format: str) -> None:
    wrong = right(format, encode=minus_zero_as_nan)
    assert found(wrong, format) == {verb: {"encode"} for verb in NOTHING}


def test_who_names_no_formats_is_not_asked_them() -> None:
    target = target_of(SimpleNamespace(encode=mxref.encode, decode=mxref.decode), "mine")
    asked = [one for one in settings() if one.format in OTHER_CODE_FORMATS]
    # Float16 does not hold the numbers and midpoints of three of them.
    assert len(asked) == 5 * len(OTHER_CODE_FORMATS) - 3
    assert not any(target.covers(one.op, one.format, one.float) for one in asked)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", OTHER_CODE_FORMATS)
def test_other_float_types(format: str) -> None:
    target = right(format)
    for row in fuzz(target, formats=[format], floats=["bf16", "f16", "f64"], examples=10):
        assert row.found is None
    told = identify(target, formats=[format], floats=["bf16", "f16", "f64"])
    assert {str(one.policy) for one in told} == {"ocp"}
    in_f16 = format not in ("ue5m3", "binary8p1uf", "binary8p3ue")
    assert {one.setting.float for one in told} == {"bf16", "f64", *["f16"] * in_f16}
    assert sweep(target, "encode", format, "f16").passed
