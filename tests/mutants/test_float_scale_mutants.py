"""Wrong kernels of FP8 under float32 scales: right but for one stage, and caught by every file."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from float_scaled import float_scaled

from mxref.cases.records import VectorFile
from mxref.conformance import target_of, verify
from mxref.conformance.compare.compare import run_file
from mxref.conformance.score import score
from mxref.mutants import MUTANTS, Mutant, float_scale_mutants
from mxref.mutants.float_scale_mutants import reader, scaler
from mxref.policy.policy import Policy

OURS = [mutant for mutant in MUTANTS if mutant.group in ("C24", "D9")]


def files() -> list[VectorFile]:
    return [*float_scaled().values()]


def power(a: Any) -> Any:
    """The power of two at or above a / 448, by `frexp`."""
    fraction, exponent = np.frexp(a / np.float32(448))
    return np.ldexp(np.float32(1), exponent - (fraction == 0.5))


RIGHT = {
    "ocp+amax_floor=1e-4+element_from=quotient": ("quantize", scaler()),
    "ocp+amax_floor=1e-4+scale_power=bit_ceiling+element_from=quotient": (
        "quantize",
        scaler(scale=lambda a: np.where(np.isfinite(a), power(a), np.float32(2.0**127))),
    ),
    "ocp": ("dequantize", reader()),
}


def kernel(op: str, function: Any) -> Any:
    claims = {"FORMATS": ["fp8_e4m3_f32"], "FLOATS": ["f32", "bf16"]}
    return target_of(SimpleNamespace(**{op: function}, **claims), "kernel")


@pytest.mark.parametrize("policy", RIGHT)
def test_all_stages_right_are_the_policy(policy: str) -> None:
    """NumPy's float32 arithmetic and ml_dtypes' casts, which share nothing with `quantize`."""
    op, function = RIGHT[policy]
    some = [file for file in files() if file.op == op]
    assert len(some) == 2
    for file in some:
        assert not run_file(kernel(op, function), file, Policy.parse(policy)).failures


def test_those_without_a_source_are_said_to_be_made_up() -> None:
    told = re.search(r"\((C24\w(?:, \w)+);\s+(D9\w(?:, \w)+)\)", float_scale_mutants.__doc__ or "")
    assert told is not None
    groups = (one.split(", ") for one in told.groups())
    made_up = {f"{first[:-1]}{letter}" for first, *rest in groups for letter in (first[-1], *rest)}
    assert made_up == {mutant.id for mutant in OURS if not mutant.seen}


@pytest.mark.parametrize("mutant", OURS, ids=lambda one: one.id)
def test_every_file_catches_it(mutant: Mutant) -> None:
    asked = [file for file in files() if file.op == mutant.op and file.float in mutant.floats]
    cells = list(score(asked, [mutant]))
    assert [cell.verdict for cell in cells] == ["killed"] * len(asked)


@pytest.mark.parametrize("id", ["C24h", "C24p", "C24u"])
def test_verify_names_it(id: str) -> None:
    (mutant,) = (one for one in OURS if one.id == id)
    some = [file for file in files() if file.op == "quantize" and file.float == "f32"]
    report = verify(kernel("quantize", mutant.run), some, Policy.parse(mutant.policy))
    assert f"has bug {id}" in report.verdict
    assert mutant.text in report.verdict
