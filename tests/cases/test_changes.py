"""Changes of `encode` and of scales: those of the published tables, and all there are."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import INFINITY, SOURCES, WIDTH, table_steps

import mxref
from mxref.cases.steps import changes
from mxref.policy.policy import Policy


@pytest.mark.parametrize("rounding", ["ties_to_even", "to_odd", "toward_positive"])
@pytest.mark.parametrize("format", ["e5m2", "e4m3", "e2m1", "int8"])
def test_encode_steps_are_those_of_the_published_tables(format: str, rounding: str) -> None:
    for float in WIDTH:
        policy = Policy().replace(rounding=rounding)
        wanted = table_steps(format, float, rounding)
        assert len(wanted) > 10
        assert sorted(changes("encode", format, float, policy)) == sorted(wanted)


def every_step(codes: np.ndarray) -> set[int]:
    """Where codes of consecutive magnitudes change."""
    return set((np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist())


@pytest.mark.parametrize("float", ["f16", "bf16"])
@pytest.mark.parametrize(
    "policy",
    [
        "ocp+overflow=nonsaturating+clamp=before_rounding",
        "ocp+rounding=to_odd+subnormal_inputs=flushed",
        "ocp+pre_rounding=bfloat16+rounding=ties_to_away",
        "ocp+rounding=toward_negative+underflow_sign=dropped",
    ],
)
@pytest.mark.parametrize("format", ["e4m3", "e3m2", "e5m2fnuz"])
def test_encode_steps_are_all_there_are(format: str, policy: str, float: str) -> None:
    sign, inf = 0x8000, INFINITY[float]
    found = set(changes("encode", format, float, Policy.parse(policy)))
    for part in (0, sign):
        words = np.arange(inf + 1, dtype=np.uint16) | np.uint16(part)
        steps = every_step(mxref.encode(words.view(SOURCES[float]), format, policy))
        assert {step - part for step in found if step & sign == part} == steps


@pytest.mark.parametrize("float", ["f16", "bf16"])
@pytest.mark.parametrize("rule", ["floor", "rceil", "even", "nearest_log2", "tosa"])
def test_scale_steps_are_all_there_are(float: str, rule: str) -> None:
    words = np.arange(INFINITY[float] + 1, dtype=np.uint16)
    for format in ("e4m3", "int8"):
        policy = Policy().replace(scale_rule=rule, zero_block="one")
        codes = mxref.shared_scale(words.view(SOURCES[float]), format, policy=policy)
        assert set(changes("shared_scale", format, float, policy)) == every_step(codes)


@pytest.mark.parametrize("rounding", ["toward_zero", "ties_to_even", "toward_positive"])
def test_steps_of_encode_scale_are_all_there_are(rounding: str) -> None:
    words = np.arange(INFINITY["bf16"] + 1, dtype=np.uint16)
    policy = Policy().replace(scale_rounding=rounding)
    codes = mxref.encode_scale(words.view(SOURCES["bf16"]), policy)
    assert set(changes("encode_scale", "e8m0", "bf16", policy)) == every_step(codes)
