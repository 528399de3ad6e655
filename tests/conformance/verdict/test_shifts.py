"""Scales and values that are all shifted alike are told by how much."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import shifted_kernels as kernels
from kernel_reports import file_of, report_on
from tables import rows

import mxref
from mxref.conformance import target_of
from mxref.conformance.compare.compare import run_file
from mxref.conformance.verdict.cause.evidence import Evidence, all_of
from mxref.conformance.verdict.cause.shifts import shift_of
from mxref.conformance.verdict.report_text import report_lines
from mxref.policy.policy import Policy

E4M3, E2M1 = "quantize/mxfp8_e4m3.f32", "quantize/mxfp4_e2m1.f32"

CASES = {name: row for name, *row in rows("conformance/verdict", "shifts")}


def made(text: str) -> Any:
    """A kernel from its maker, its shift, and options."""
    maker, shift, *options = text.split()

    def of_format(format: str) -> int:
        return kernels.bias_of(format) if shift == "bias_of" else int(shift)

    amount = of_format if maker in ("quantizer", "tensors") else int(shift)
    parts = [option.partition("=") for option in options]
    return getattr(kernels, maker)(amount, **{name: int(value or 1) for name, _, value in parts})


def evidence(stem: str, function: Any) -> tuple[str, list[Evidence]]:
    file = file_of(stem)
    target = target_of(SimpleNamespace(**{file.op: function}), "kernel")
    return file.op, [all_of(run_file(target, file, Policy()))]


@pytest.mark.parametrize("name", CASES)
def test_a_shift_is_found(name: str) -> None:
    how, stem, text = CASES[name]
    op, answers = evidence(stem, made(how))
    found = shift_of(op, answers, (Policy(),))
    assert found is not None
    shift, policy, same = found
    assert shift.text.removeprefix("every scale is ") == text
    assert str(policy) == ("ocp+scale_rule=rceil" if name == "over rceil" else "ocp")
    assert len(answers[0].answers) == same


def _one_differs(values: Any, format: str) -> Any:
    scales, codes = kernels.quantizer(lambda f: -2)(values, format)
    scales[np.flatnonzero((scales > 100) & (scales < 150))[7]] += 1
    return scales, codes


def _few(values: Any) -> Any:
    return np.where(values == 1, 130, mxref.encode_scale(values)).astype(np.uint8)


@pytest.mark.parametrize(
    ("function", "stem"),
    [
        (_one_differs, E4M3),
        (_few, "encode_scale/e8m0.f64"),
        (kernels.quantizer(lambda f: 0), E4M3),
        (mxref.decode_scale, "decode_scale/e8m0.f32"),
    ],
)
def test_nothing_else_is_taken_for_a_shift(function: Any, stem: str) -> None:
    assert shift_of(*evidence(stem, function), (Policy(),)) is None


@pytest.mark.parametrize(
    ("values", "times", "found"),
    [
        ([1, 2, 4], 3, True),
        ([1, 2], 4, False),
        ([1], 9, False),
        ([*range(1, 9)], 1, True),
        ([*range(1, 8)], 1, False),
    ],
)
def test_few_scales_or_few_different_ones_show_no_shift(
    values: list[int], times: int, found: bool
) -> None:
    """Eight show one, if three of them differ."""
    file = file_of("encode_scale/e8m0.f32")
    patterns = np.float32([2.0**n for n in values]).view(np.uint32).tolist() * times
    cases = tuple(dataclasses.replace(file.cases[0], inputs=(bits,)) for bits in patterns)
    file = dataclasses.replace(file, cases=cases)
    target = target_of(SimpleNamespace(encode_scale=kernels.encoder(5)), "kernel")
    shift = shift_of(file.op, [all_of(run_file(target, file, Policy()))], (Policy(),))
    assert (shift is not None) == found


@pytest.mark.sampled(3)
def test_it_is_told_of_the_format_that_has_it_and_what_is_wrong_beside_it() -> None:
    right, wrong = kernels.quantizer(lambda f: 0), kernels.quantizer(lambda f: -2, lowest=1)
    report = report_on(
        f"{E4M3} {E2M1}", quantize=lambda x, f: (wrong if f == "mxfp8_e4m3" else right)(x, f)
    )
    assert report.verdict == (
        "has bug scales-2: every scale is 2 codes too small (and some answers are wrong otherwise)"
    )
    (finding,) = report.findings
    assert str(finding) == (
        "quantize mxfp8_e4m3: your output is nearest to ocp with scales-2: every scale is 2 codes "
        "too small, on 312 of 325 cases"
    )
    lines = "\n".join(report_lines(report, 10))
    assert "NEAREST: every scale is 2 codes too small (" in lines
    assert "one code too large" in lines
    assert "no pattern" not in lines
    (row,) = (row for row in report.rows if row.failures)
    assert {one.failures[0].want[0] for one in row.beside} == {0}
