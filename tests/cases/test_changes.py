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
@pytest.mark.parametrize("rule", ["floor", "rceil", "even", "nearest_log2", "tosa"])
def test_scale_steps_are_all_there_are(float: str, rule: str) -> None:
    words = np.arange(INFINITY[float] + 1, dtype=np.uint16)
    for format in ("e4m3", "int8"):
        policy = Policy().replace(scale_rule=rule, zero_block="one")
        codes = mxref.shared_scale(words.view(SOURCES[float]), format, policy=policy)
        assert set(changes("shared_scale", format, float, policy)) == every_step(codes)
