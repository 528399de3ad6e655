"""Identify: random policies are found exactly, and contradictions are named."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import SMALL_FLOATS
from hypothesis import Phase, given
from hypothesis import settings as hypothesis_settings
from identify_helpers import Follower, policies_of, same

import mxref
from mxref.cli import main
from mxref.conformance import identify, load_target, target_of
from mxref.conformance.alike import _REASONS, Setting, alike, members, reasons
from mxref.conformance.asking import PROBES, separating
from mxref.conformance.identify import Identified, identify_one, settings
from mxref.conformance.predicted import predicted
from mxref.conformance.space import Factor, Space
from mxref.golden.answers import reads
from mxref.golden.records import NO_WORD, padded, same_width
from mxref.policy import Policy

ADAPTER = Path(__file__).resolve().parents[1] / "tools" / "adapters" / "ml_dtypes_adapter.py"
ONCE = [Phase.generate]  # a policy is as simple as it can be
EVERY = list(settings())
SCALARS = [one for one in EVERY if not one.op.startswith("quantize")]
BLOCKS = [one for one in EVERY if one.op == "quantize"] + [
    one for one in EVERY if one.op == "quantize_tensor" and str(one).endswith(("mxfp4_e2m1 bf16", "mxint8 f64"))
]


def check(setting: Setting, chosen: dict[str, str]) -> None:
    """The truth is found, and the members that are one function with it, and no others."""
    truth = Policy().replace(**chosen)
    target = Follower(truth)
    found = identify_one(target, setting)
    assert len(target.asked) == len(found.probes) <= PROBES
    assert found.consistent, found.clashes
    assert found.contains(truth)
    left, draw = [], random.Random(str(chosen))
    for name in reads(setting.op):
        for group, _ in alike(setting, name):
            for member in group:
                other = {**chosen, name: member}
                if not found.contains(Policy().replace(**other)):
                    assert differs(found, other), (name, member)
                elif member != chosen[name]:
                    left.append((chosen[name] in group, other))
    asked = [other for static, other in left if not static]
    known = [other for static, other in left if static]
    rows = [(factor, draw.choice(factor.rows)) for factor in found._whole().factors]
    asked.append({n: m for f, row in rows for n, m in zip(f.names, row, strict=True)})
    for other in asked + draw.sample(known, min(3, len(known))):
        assert same(setting, chosen, other), {n: m for n, m in other.items() if m != chosen[n]}


def differs(found: Identified, chosen: dict[str, str]) -> bool:
    """Whether a policy gives another answer to some probe."""
    for size in {len(probe.words) for probe in found.probes}:
        probes = [probe for probe in found.probes if len(probe.words) == size]
        words = np.array([probe.words for probe in probes], np.uint64)
        want, got = same_width(
            predicted(found.setting, words, chosen), padded([p.answer or () for p in probes])
        )
        wrong = (want != got).any(axis=1)
        if found.setting.op.startswith("unpack"):  # bytes of another size have no answer
            wrong &= (want != np.uint64(NO_WORD)).any(axis=1)
        if wrong.any():
            return True
    return False


@given(policies_of(SCALARS))
@hypothesis_settings(max_examples=160, phases=ONCE)
def test_160_random_policies(case: tuple[Setting, dict[str, str]]) -> None:
    check(*case)


@given(policies_of(BLOCKS))
@hypothesis_settings(max_examples=40, phases=ONCE)
def test_40_random_policies_of_blocks(case: tuple[Setting, dict[str, str]]) -> None:
    check(*case)
