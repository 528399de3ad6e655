"""Stages: each known in SPEC_NOTES, short, and equal to the policy where nothing is replaced."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from helpers import ROOT

import mxref
from mxref.bits.floats import F32
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES
from mxref.profiles.stages import Rows, Stages

NOTES = (ROOT / "SPEC_NOTES.md").read_text("utf-8")
STAGES = sorted(
    {(name, getattr(one.stages, name)) for one in PROFILES.values() for name in one.replaced},
    key=lambda pair: (pair[0], pair[1].__module__, pair[1].__qualname__),
)


@pytest.mark.parametrize(
    ("stage", "function"), STAGES, ids=lambda one: getattr(one, "__name__", one)
)
def test_every_replaced_stage_is_short_and_noted(stage: str, function: object) -> None:
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
    assert re.search(rf"^\| `{re.escape(name)}` \| {stage} \|", NOTES, re.M), name
    body = inspect.getsource(function).split('"""')[2]
    assert len([line for line in body.splitlines() if line.strip()]) <= 11


@pytest.mark.parametrize(
    "spelling",
    [
        "ocp",
        "ocp+block_inf=largest_scale+scale_rule=rceil",
        "ocp+block_nan=ignore+block_inf=ignore+nan=signed",
        "ocp+nan_block_codes=ones+scale_overflow=nan",
    ],
)
@pytest.mark.parametrize("format", ["mxfp8_e5m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8"])
def test_stages_that_nothing_replaces_are_the_policy(format: str, spelling: str) -> None:
    policy, fmt = Policy.parse(spelling), mxref.formats.block_format(format)
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 1 << 32, (4000, 32), np.uint32)
    field = rng.integers(0, 256, (4000, 1), np.uint32) << 23  # blocks of one binade, any
    bits[::2] = bits[::2] & 0x807F_FFFF | field[::2]
    scales, codes = Stages().quantize(Rows.of(bits, F32, fmt.element, policy))
    blocks = mxref.quantize(bits.view(np.float32), format, policy)
    assert (blocks.scale_codes[:, 0] == scales).all()
    assert (blocks.codes == codes).all()
