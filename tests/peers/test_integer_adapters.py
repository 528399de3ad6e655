"""Adapters of integer operations beside the vectors: the policy of each, or the bug, is named."""

from __future__ import annotations

import peer_adapters as peers
import pytest
from ledger.claims import claiming_integers

from mxref.conformance import load_target
from mxref.conformance.identification.integer_identification import identify_integers

pytestmark = pytest.mark.filterwarnings("ignore")
#: How a report ends; of a policy that `quantize_affine` of int8 shows.
VERDICTS = {
    "torch_integers.TENSOR": "has bug I7f: rounds codes to float32 before it subtracts",
    "torch_integers.CHANNEL": "conforms",
    "torch_integers.TOKEN": "conforms; quantize_affine (int8_axis, uint8_axis) under zero_point=b",
    "torch_integers.GROUP": "conforms; quantize_affine (int8_axis, uint8_axis) under zero_point=b",
    "torch_integers.TORCHAO": "has bug I7f: rounds codes to float32 before it subtracts",
    "executorch_integers.TENSOR": "has bug I7: subtracts the zero point in the dtype of the codes",
    "executorch_integers.CHANNEL": "conforms",
    "executorch_integers.TOKEN": "conforms",
    "executorch_integers.QCS4W": "has bug I18: multiplies stored nibbles without the -8",
    "executorch_integers.Q4GSW": "conforms; pack_int4 (int4) under nibbles=low_first; unpack_int4",
    "onnx_integers.REFERENCE": "conforms; quantize_affine (int8, int16) under scaling=divide+nan=i",
    "onnx_integers.RUNTIME": "conforms; quantize_affine (int8, int16) under scaling=divide+nan=low",
}
#: What `identify` names in `quantize_affine`, by format.
POLICIES = {
    ("torch_integers.TENSOR", "int8"): "nan=zero",
    ("torch_integers.TENSOR", "int32"): "nan=zero+int32=wrap",
    ("torch_integers.TENSOR", "int8_scale64"): "scale_type=float64",
    ("torch_integers.TORCHAO", "int8_scale64"): "default",
    ("torch_integers.TOKEN", "int8_axis"): "zero_point=before",
    ("executorch_integers.TENSOR", "int8"): "nan=lowest+infinite=lowest",
    ("executorch_integers.TENSOR", "int8_scale64"): "default",
    ("onnx_integers.REFERENCE", "int8"): "scaling=divide+nan=int32_min+infinite=int32_min",
    ("onnx_integers.RUNTIME", "int8"): "scaling=divide+nan=lowest",
    ("onnx_integers.RUNTIME", "int8_axis"): "scaling=divide",
}


def test_every_adapter_is_here() -> None:
    assert {*VERDICTS, *peers.OLDER_INTEGERS} == {*claiming_integers()}


@pytest.mark.parametrize("name", VERDICTS)
def test_verify_names_the_policy_or_the_bug(name: str) -> None:
    report = peers.asked(peers.integer_report, name)
    assert report.verdict.startswith(VERDICTS[name])
    assert report.passed == VERDICTS[name].startswith("conforms")
    wrong = {tuple(failure.case.id.split(".")[:2]) for _, failure in report.failures}
    assert wrong <= {("dequantize_affine", "int32"), ("linear_qcs4w", "int4")}


def policy_of(name: str, format: str) -> str:
    target = load_target(claiming_integers()[name].spec)
    (found,) = identify_integers(target, ["quantize_affine"], [format])
    return found.policies[0]


@pytest.mark.parametrize(("name", "format"), POLICIES)
def test_identify_names_the_policy(name: str, format: str) -> None:
    assert peers.asked(policy_of, name, format) == POLICIES[name, format]
