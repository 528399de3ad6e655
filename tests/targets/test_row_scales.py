"""Kernels that are given a scale of the tensor for each row, and what is wrong with some."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file

import mxref
from mxref.conformance import Extent, Report, TargetError, check, target_of
from mxref.conformance.fuzzing.fuzz import fuzz
from mxref.conformance.verdict.one_sentence import verdict_text

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
    told = {"quantize": "on the first row", "dequantize": "is not reproducible"}[op]
    assert told in verdict_text(report)


def test_a_counterexample_has_a_column_of_scales() -> None:
    def negative(values: Any, format: str, tensor_scale: Any) -> Any:
        return quantize(-values, format, tensor_scale)

    kernel = SimpleNamespace(FORMATS=["nvfp4"], ROW_SCALES=True, quantize=negative)
    (row,) = fuzz(target_of(kernel, "kernel"), floats=["f32"], examples=20)
    assert row.found is not None
    assert "tensor_scale = np.array([[0x" in row.found.code


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
