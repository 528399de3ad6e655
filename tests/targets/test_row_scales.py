"""Kernels that are given a scale of the tensor for each row, and what is wrong with some."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file

import mxref
from mxref.conformance import Extent, Report, TargetError, check, identify, target_of
from mxref.conformance.compare.compare import Failure
from mxref.conformance.fuzzing.fuzz import fuzz
from mxref.conformance.fuzzing.fuzz_call import FuzzCall
from mxref.conformance.fuzzing.reproduce import reproduction
from mxref.conformance.fuzzing.trial import Trial
from mxref.conformance.sweeping.sweep import sweep
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

EXTENT = Extent(elements=3_000)


def quantize(values: Any, format: str, tensor_scale: Any) -> Any:
    """Row by row, each under its own scale."""
    assert (tensor_scale.shape, tensor_scale.dtype) == ((len(values), 1), np.float32)
    scales, codes = np.zeros(len(values), np.uint8), np.zeros(values.shape, np.uint8)
    for scale in np.unique(tensor_scale):
        rows = tensor_scale[:, 0] == scale
        blocks = mxref.quantize(values[rows], format, tensor_scale=scale)
        scales[rows], codes[rows] = blocks.scale_codes[:, 0], blocks.codes
    return scales, codes


def dequantize(scale_codes: Any, codes: Any, format: str, dtype: Any, tensor_scale: Any) -> Any:
    assert (tensor_scale.shape, tensor_scale.dtype) == ((len(codes), 1), np.float32)
    found = np.zeros(codes.shape, dtype)
    for scale in np.unique(tensor_scale):
        rows = tensor_scale[:, 0] == scale
        found[rows] = mxref.dequantize(
            codes[rows],
            dtype,
            scale_codes=scale_codes[rows, np.newaxis],
            block_format=format,
            tensor_scale=scale,
        )
    return found


RIGHT: dict[str, Any] = {"quantize": quantize, "dequantize": dequantize}


def one_for_all(op: str) -> Any:
    """The scale of the first row for every row."""
    return lambda *arguments: RIGHT[op](*arguments[:-1], 0 * arguments[-1] + arguments[-1][:1])


def checked(op: str, function: Any, float: str = "f32") -> Report:
    kernel = SimpleNamespace(FORMATS=["nvfp4"], ROW_SCALES=True, **{op: function})
    target = target_of(kernel, "kernel")
    return check(target, [vector_file(f"{op}/nvfp4.{float}")], extent=EXTENT)


@pytest.mark.parametrize("float", ["f32", "bf16"])
@pytest.mark.parametrize("op", RIGHT)
def test_a_right_kernel_conforms(op: str, float: str) -> None:
    report = checked(op, RIGHT[op], float)
    assert (report.passed, report.uses) == (True, ())
    assert report.scope.calls > 40


@pytest.mark.parametrize("op", RIGHT)
def test_one_scale_for_all_rows_fails(op: str) -> None:
    report = checked(op, one_for_all(op))
    assert not report.passed
    told = f"mixes cases of a call: {op} nvfp4: an answer depends on what else is in the call"
    assert verdict_text(report) == f"{told}, on the first row"


def kernel_of(policy: str) -> SimpleNamespace:
    """A kernel that has mxref's own scales of rows, under a policy."""
    how: dict[str, Any] = {"scale_arithmetic": policy}

    def quantize(values: Any, format: str, tensor_scale: Any) -> Any:
        blocks = mxref.quantize(values, format, tensor_scale=tensor_scale, **how)
        return blocks.scale_codes[:, 0], blocks.codes

    def dequantize(scale_codes: Any, codes: Any, format: str, dtype: Any, tensor_scale: Any) -> Any:
        return mxref.dequantize(
            codes, dtype, scale_codes=scale_codes[:, np.newaxis], block_format=format,
            tensor_scale=tensor_scale, **how,
        )  # fmt: skip

    return SimpleNamespace(
        FORMATS=["nvfp4"], ROW_SCALES=True, quantize=quantize, dequantize=dequantize
    )


@pytest.mark.parametrize("arithmetic", ["exact", "torchao"])
def test_choices_are_identified(arithmetic: str) -> None:
    found = identify(target_of(kernel_of(arithmetic), "kernel"), floats=["f32"])
    assert {one.setting.op for one in found} == {"quantize", "dequantize"}
    for one in found:
        assert one.policy.scale.scale_arithmetic.value == arithmetic


def test_a_sweep_asks_columns() -> None:
    swept = sweep(target_of(kernel_of("exact"), "kernel"), "dequantize", "nvfp4")
    assert (swept.cases, swept.passed) == (262_144, True)


def test_a_counterexample_has_a_column_of_scales() -> None:
    def negative(values: Any, format: str, tensor_scale: Any) -> Any:
        return quantize(-values, format, tensor_scale)

    kernel = SimpleNamespace(FORMATS=["nvfp4"], ROW_SCALES=True, quantize=negative)
    (row,) = fuzz(target_of(kernel, "kernel"), floats=["f32"], examples=20)
    assert row.found is not None
    assert "tensor_scale = np.array([[0x" in row.found.code


def before_it(scale_codes: Any, codes: Any, format: str, dtype: Any, tensor_scale: Any) -> Any:
    """In calls of more than 40 rows, under the scale of the row before."""
    scales = np.roll(tensor_scale, 1, axis=0) if len(codes) > 40 else tensor_scale
    return dequantize(scale_codes, codes, format, dtype, scales)


def tenth(scale_codes: Any, codes: Any, format: str, dtype: Any, tensor_scale: Any) -> Any:
    """One scale for the call, and the tenth row negated."""
    found = mxref.dequantize(
        codes, dtype, scale_codes=scale_codes[:, None], block_format=format,
        tensor_scale=tensor_scale,
    )  # fmt: skip
    found[9:10] *= -1
    return found


@pytest.mark.parametrize("function", [before_it, tenth])
def test_code_of_a_counterexample_of_many_rows_reproduces_it(
    function: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = SimpleNamespace(dequantize=function, FORMATS=["nvfp4"])
    kernel.ROW_SCALES = function is before_it
    (row,) = fuzz(target_of(kernel, "kernel"), floats=["f32"])
    assert row.found is not None
    assert_reproduces(row.found.code, row.found.failure, kernel, monkeypatch, capsys)


def test_code_of_one_of_two_tensors_has_its_rows_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = SimpleNamespace(dequantize=tenth, FORMATS=["nvfp4"])
    target, file = target_of(kernel, "kernel"), without_cases("dequantize", "nvfp4", "f32")
    block = [0x38, *[0x02] * 16]
    call = FuzzCall(np.array([[0x3F800000, *block], [0x40000000, *block]], np.uint64), size=19)
    failure = Trial(target, file, Policy(), None).failure(call)
    assert failure is not None
    assert failure.index == 18  # the tenth under the scale 1, of which there are ten
    code = reproduction(target, file, call, failure)
    assert "40000000" not in code
    assert_reproduces(code, failure, kernel, monkeypatch, capsys)


def assert_reproduces(
    code: str,
    failure: Failure,
    kernel: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run the code, which prints the wanted and the given words."""
    module = ModuleType("kernel")
    vars(module).update(vars(kernel))
    monkeypatch.setitem(sys.modules, "kernel", module)
    exec(code, {})
    want, got = (line.split()[1:] for line in capsys.readouterr().out.splitlines())
    assert want == [f"{word:08x}" for word in failure.want]
    assert got == [f"{word:08x}" for word in failure.got or ()] != want


def test_calls_are_not_filled_up_with_rows_that_have_no_scale() -> None:
    kernel = SimpleNamespace(quantize=quantize, MULTIPLES={"quantize": 8}, ROW_SCALES=True)
    with pytest.raises(TargetError, match="MULTIPLES must leave quantize out"):
        target_of(kernel, "kernel")
    with pytest.raises(TargetError, match="ROW_SCALES must be True or False"):
        target_of(SimpleNamespace(quantize=quantize, ROW_SCALES="yes"), "kernel")


def test_formats_without_tensor_scales_are_called_as_ever() -> None:
    asked = []

    def plain(values: Any, format: str) -> Any:
        asked.append(format)
        blocks = mxref.quantize(values, format)
        return blocks.scale_codes[:, 0], blocks.codes

    kernel = SimpleNamespace(FORMATS=["fp4_ue4m3"], ROW_SCALES=True, quantize=plain)
    file = vector_file("quantize/fp4_ue4m3.bf16")
    assert check(target_of(kernel, "kernel"), [file], extent=Extent(elements=0)).passed
    assert {*asked} == {"fp4_ue4m3"}
