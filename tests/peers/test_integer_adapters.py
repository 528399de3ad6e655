"""Adapters of integer operations beside the vectors: the policy of each, or the bug, is named."""

from __future__ import annotations

import json
from pathlib import Path

import peer_adapters as peers
import pytest
from ledger.claims import claiming_integers

from mxref.conformance import load_target
from mxref.conformance.identification.integer_identification import identify_integers

pytestmark = pytest.mark.filterwarnings("ignore")
#: Of each adapter how a report ends, and what `identify` names in `quantize_affine`, by format.
ADAPTERS = json.loads((Path(__file__).parent / "data" / "integer_adapters.json").read_text())
POLICIES = [(name, *one) for name in ADAPTERS for one in ADAPTERS[name]["quantize_affine"].items()]


def test_every_adapter_is_here() -> None:
    assert {*ADAPTERS, *peers.OLDER_INTEGERS} == {*claiming_integers()}


@pytest.mark.parametrize("name", ADAPTERS)
def test_verify_names_the_policy_or_the_bug(name: str) -> None:
    report = peers.asked(peers.integer_report, name)
    verdict = ADAPTERS[name]["verdict"]
    assert report.verdict.startswith(verdict)
    assert report.passed == verdict.startswith("conforms")
    wrong = {tuple(failure.case.id.split(".")[:2]) for _, failure in report.failures}
    assert wrong <= {("dequantize_affine", "int32"), ("linear_qcs4w", "int4")}


def policy_of(name: str, format: str) -> str:
    target = load_target(claiming_integers()[name].spec)
    (found,) = identify_integers(target, ["quantize_affine"], [format])
    return found.policies[0]


@pytest.mark.parametrize(("name", "format", "policy"), POLICIES)
def test_identify_names_the_policy(name: str, format: str, policy: str) -> None:
    assert peers.asked(policy_of, name, format) == policy
