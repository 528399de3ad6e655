"""Blocks of 16 under E8M0: right kernels conform, and each mutant is told as what it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file

import mxref
from mxref.conformance import target_of
from mxref.conformance.checking.check import check
from mxref.conformance.checking.extent import Extent
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.report import Report
from mxref.mutants import MUTANTS, Mutant
from mxref.mutants.sixteen_mutants import SIXTEENS

NAME = "fp4_e8m0"
IDS = {heading.split()[0] for heading in SIXTEENS}
CASES = [(one, float) for one in MUTANTS if one.id in IDS for float in one.floats]
EXTENT = Extent(elements=2000)


def report_on(stem: str, **kernel: Any) -> Report:
    target = target_of(SimpleNamespace(FORMATS=[NAME], **kernel), "kernel")
    return check(target, [vector_file(stem)], extent=EXTENT)


def read(scales: Any, codes: Any, format: str, dtype: Any) -> Any:
    fmt = mxref.formats.block_format(format)
    blocks = mxref.Blocks(codes, scales[:, None], fmt, 1, codes.shape)
    return mxref.dequantize(blocks, dtype)


@pytest.mark.parametrize("float", ["f32", "bf16", "f16", "f64"])
@pytest.mark.parametrize("rule", ["floor", "rceil"])
def test_a_right_kernel_conforms(float: str, rule: str) -> None:
    """As one that makes blocks of 16 of the elements of `mxfp4_e2m1`."""

    def quantize(values: Any, format: str) -> Any:
        blocks = mxref.quantize(values, "mxfp4_e2m1", block_size=16, scale_rule=rule)
        return blocks.scale_codes[:, 0], blocks.codes

    policy = f"ocp+scale_rule={rule}"
    assert report_on(f"quantize/{NAME}.{float}", quantize=quantize, POLICY=policy).passed
    plain = report_on(f"quantize/{NAME}.{float}", quantize=quantize)
    assert plain.passed == (rule == "floor")
    assert plain.passed or f"conforms under {policy}" in verdict_text(plain)


@pytest.mark.parametrize("float", ["f32", "bf16", "f16"])
def test_a_right_reading_conforms(float: str) -> None:
    assert report_on(f"dequantize/{NAME}.{float}", dequantize=read).passed


def test_it_is_asked_for_by_name() -> None:
    target = target_of(SimpleNamespace(dequantize=read), "kernel")
    assert target.covers("dequantize", "mxfp4_e2m1", "f32")
    assert not target.covers("dequantize", NAME, "f32")


@pytest.mark.parametrize(("mutant", "float"), CASES, ids=lambda it: getattr(it, "id", it))
def test_a_kernel_with_it_fails_and_is_told_what_it_is(mutant: Mutant, float: str) -> None:
    report = report_on(f"{mutant.op}/{NAME}.{float}", **{mutant.op: mutant.run})
    assert not report.passed
    neighbours = mutant.id.startswith("G7")
    told = "depends on what else is in the call" if neighbours else f"has bug {mutant.id}"
    assert told in verdict_text(report)


def test_the_cases_of_a_block_of_32_have_its_scale() -> None:
    """Of every part of it, since each has the largest finite element."""
    found, whole = vector_file(f"quantize/{NAME}.f32"), vector_file("quantize/mxfp4_e2m1.f32")
    finite = [case for case in whole.cases if not {"nan", "inf"} & {*case.flags}]
    scales = {case.name: case.output(0)[0] for case in finite}
    parts = [(case.name.rpartition("_part_")[0], case.output(0)[0]) for case in found.cases]
    same = [scales[name] == scale for name, scale in parts if name in scales]
    assert len(same) > 400
    assert all(same)
    assert {len(case.inputs) for case in found.cases} == {16}
    assert np.unique([case.inputs for case in found.cases], axis=0).shape[0] == len(found.cases)
