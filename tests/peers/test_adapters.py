"""Every adapter of tools/adapters loads, answers one file as it is known to, and is its profile.

Of profiles level 1 is asked, every input where they are few, and some random blocks; products as
their POLICY. `tools/ledger` asks a hundred times as much. Of integer operations the policy of each,
or the bug, is named. What needs a checkout is skipped where no variable names one.
"""

from __future__ import annotations

import json
from pathlib import Path

import peer_adapters as peers
import pytest
from ledger.claims import ADAPTERS, claiming, claiming_integers, claiming_products
from numpy._core._multiarray_umath import __cpu_features__

from mxref.conformance import TargetError, load_target
from mxref.conformance.identification.integer_identification import identify_integers

pytestmark = pytest.mark.filterwarnings("ignore")
#: Of each adapter of integers how a report ends, and what `identify` names in `quantize_affine`, by
#: format.
INTEGERS = json.loads((Path(__file__).parent / "data" / "integer_adapters.json").read_text())
#: Without MMA-Sim's, of which test_accumulation_peers.py compares far more outputs.
PRODUCTS = [name for name in peers.CURRENT_PRODUCTS if not name.startswith("mmasim")]
#: Cases that fail where NumPy has no AVX-512: its nanmax takes signalling NaN at other lengths, see
#: docs/reports/numpy-nanmax-snan.md.
WITHOUT_AVX512 = {"pychop": 6}
POLICIES = [(name, *one) for name in INTEGERS for one in INTEGERS[name]["quantize_affine"].items()]


def test_no_adapter_is_left_out() -> None:
    assert {*claiming()} == {*peers.CURRENT, *peers.OLDER, *peers.ORIGINALS}
    assert {*claiming_products()} == {*peers.CURRENT_PRODUCTS, *peers.OLDER_PRODUCTS}
    files = {path.stem for path in ADAPTERS.glob("*.py")}
    claiming_files = {one.path.stem for one in peers.every().values()}
    parts = {name for name in files if not name.endswith("_adapter")}
    # One needs a GPU; of the other test_elementwise_peers.py asks everything.
    others = {"torch_matmul_adapter", "onnxruntime_operators_adapter"}
    assert files == claiming_files | parts | others
    assert {*INTEGERS, *peers.OLDER_INTEGERS} == {*claiming_integers()}


@pytest.mark.parametrize("name", [*peers.CURRENT, *peers.ORIGINALS])
def test_one_file(name: str) -> None:
    known = peers.FILES[name][1]
    if not any(
        has for feature, has in __cpu_features__.items() if feature in ("AVX512_SKX", "X86_V4")
    ):
        known = WITHOUT_AVX512.get(name, known)
    assert peers.asked(peers.failed, name) == known


@pytest.mark.parametrize("name", [*peers.CURRENT, *peers.ORIGINALS, *PRODUCTS])
def test_adapters_equal_their_profiles_or_policies(name: str) -> None:
    assert peers.unexplained(name) == []


@pytest.mark.parametrize("name", INTEGERS)
def test_verify_names_the_policy_or_the_bug(name: str) -> None:
    report = peers.asked(peers.integer_report, name)
    verdict = INTEGERS[name]["verdict"]
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


@pytest.mark.parametrize("value", [None, "", "no/absolute/path", "/no/such/folder"])
def test_what_a_checkout_is(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("MXREF_MICROXCALING", raising=False)
    if value is not None:
        monkeypatch.setenv("MXREF_MICROXCALING", value)
    wanted = "MXREF_MICROXCALING must name a checkout of github.com/microsoft/microxcaling at 7bc4"
    for name in ("microxcaling.EVEN", "microxcaling_cuda.EVEN"):
        with pytest.raises(TargetError, match=wanted):
            load_target(claiming()[name].spec)
