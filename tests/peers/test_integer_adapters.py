"""Adapters of integer operations beside the vectors: the policy of each, or the bug, is named."""

from __future__ import annotations

import sys

import pytest
from helpers import ROOT

from mxref.cases.words import INTEGER_OPERATIONS
from mxref.conformance import Report, TargetError, load_target, verify
from mxref.conformance.identification.integer_identification import identify_integers
from mxref.targets.asked import read_for
from mxref.targets.target import PythonTarget

sys.path.insert(0, str(ROOT / "tools"))
from ledger.claims import claiming_integers

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
    "tosa_rescale.SINGLE": "conforms",
    "tosa_rescale.DOUBLE": "conforms; rescale (int8-int8, int8-uint8, int16-int8, int32-int8, int3",
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


def target_named(name: str) -> PythonTarget:
    try:
        return load_target(claiming_integers()[name].spec)
    except TargetError as error:
        if "pip install" not in str(error):
            raise
        pytest.skip(str(error))


def report_on(target: PythonTarget) -> Report:
    files = read_for(
        ROOT / "vectors", target, target.policy, only=lambda op, *_: op in INTEGER_OPERATIONS
    )
    return verify(target, [file for file in files if file.cases])


def test_every_adapter_is_here() -> None:
    assert {*VERDICTS} == {*claiming_integers()}


@pytest.mark.parametrize("name", VERDICTS)
def test_verify_names_the_policy_or_the_bug(name: str) -> None:
    report = report_on(target_named(name))
    assert report.verdict.startswith(VERDICTS[name])
    assert report.passed == VERDICTS[name].startswith("conforms")
    wrong = {tuple(failure.case.id.split(".")[:2]) for _, failure in report.failures}
    assert wrong <= {("dequantize_affine", "int32"), ("linear_qcs4w", "int4")}


@pytest.mark.parametrize(("name", "format"), POLICIES)
def test_identify_names_the_policy(name: str, format: str) -> None:
    target = target_named(name)
    (found,) = identify_integers(target, ["quantize_affine"], [format])
    assert found.policies[0] == POLICIES[name, format]
