"""Scales and values that are all shifted alike are told by how much."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import shifted_kernels as kernels
from helpers import VECTORS

import mxref
from mxref import golden
from mxref.cli import main
from mxref.conformance import Report, target_of, verify
from mxref.conformance.compare.compare import run_file
from mxref.conformance.verdict.cause.evidence import Evidence, all_of
from mxref.conformance.verdict.cause.shifts import Shift, shift_of
from mxref.conformance.verdict.report_text import report_lines
from mxref.policy.policy import Policy


def report_on(stems: str, **wrong: Any) -> Report:
    files = golden.read_vectors(VECTORS, lambda stem: stem in stems.split())
    return verify(target_of(SimpleNamespace(**wrong), "kernel"), files)


E4M3, E2M1 = "quantize/mxfp8_e4m3.f32", "quantize/mxfp4_e2m1.f32"
UNCLAMPED = ", and elements are divided by it before it is clamped"

#: What a kernel is, one file it is asked, the shift and the policy it is over.
CASES = {
    "bias 130": (kernels.quantizer(lambda f: 3), E2M1, "3 codes too large", "ocp"),
    "stored with bias 122": (
        kernels.quantizer(lambda f: 0, stored=-5),
        "quantize/mxfp4_e2m1.f64",
        "5 codes too small, but not the elements",
        "ocp",
    ),
    "every byte stored with bias 129": (
        kernels.quantizer(lambda f: 0, stored=2, every_byte=True),
        E2M1,
        "2 codes too large, modulo 256, also NaN, but not the elements",
        "ocp",
    ),
    "emax of E5M2": (kernels.quantizer(lambda f: -7), E4M3, "7 codes too small", "ocp"),
    "bias of the element added": (
        kernels.quantizer(lambda f: kernels.bias_of(f)),
        "quantize/mxfp6_e3m2.f64",
        "3 codes too large",
        "ocp",
    ),
    "divided before it is clamped": (
        kernels.quantizer(lambda f: -2, unclamped=True),
        "quantize/mxfp8_e4m3.bf16",
        f"2 codes too small{UNCLAMPED}",
        "ocp",
    ),
    "two less than the smallest that fits": (
        kernels.quantizer(lambda f: -2, fits=True),
        E4M3,
        "2 codes too small",
        "ocp+scale_rule=rceil",
    ),
    "tensors": (
        kernels.tensors(lambda f: 2),
        "quantize_tensor/mxfp8_e4m3.f32",
        "2 codes too large",
        "ocp",
    ),
    "bias 132": (kernels.encoder(5), "encode_scale/e8m0.f64", "5 codes too large", "ocp"),
    "three too small when clamped": (
        kernels.encoder(-3, last=True),
        "encode_scale/e8m0.f64",
        "3 codes too small, after it is clamped",
        "ocp",
    ),
    "bias 124, modulo 256": (
        kernels.encoder(-3, wraps=True),
        "encode_scale/e8m0.bf16",
        "3 codes too small, modulo 256",
        "ocp",
    ),
    "bias 0": (
        kernels.reader(0),
        "decode_scale/e8m0.f32",
        "every value is 2^127 times too large",
        "ocp",
    ),
    "bias 130, read": (
        kernels.dequantizer(130),
        "dequantize/mxfp8_e4m3.f32",
        "every value is 8 times too small",
        "ocp",
    ),
    "bias 126, read as float16": (
        kernels.dequantizer(126),
        "dequantize/mxfp8_e4m3.f16",
        "every value is 2 times too large",
        "ocp",
    ),
}


def evidence(stem: str, function: Any) -> tuple[str, list[Evidence]]:
    (file,) = golden.read_vectors(VECTORS, lambda one: one == stem)
    target = target_of(SimpleNamespace(**{file.op: function}), "kernel")
    return file.op, [all_of(run_file(target, file, Policy()))]


@pytest.mark.parametrize("name", CASES)
def test_a_shift_is_found(name: str) -> None:
    function, stem, text, over = CASES[name]
    op, answers = evidence(stem, function)
    found = shift_of(op, answers, (Policy(),))
    assert found is not None
    shift, policy, same = found
    assert shift.text.removeprefix("every scale is ") == text
    assert Shift.named(shift.name) == shift
    assert str(policy) == over
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
    (file,) = golden.read_vectors(VECTORS, lambda one: one == "encode_scale/e8m0.f32")
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
    assert "without a pattern" not in lines
    (row,) = (row for row in report.rows if row.failures)
    assert {one.failures[0].want[0] for one in row.beside} == {0}


def test_identify_names_it(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text(
        "import numpy as np\n\n"
        "def decode_scale(codes):\n"
        "    wide = codes.astype(np.int64)\n"
        "    with np.errstate(over='ignore'):\n"
        "        scale = np.ldexp(1.0, wide - 124).astype(np.float32)\n"
        "    return np.where(wide == 255, np.float32(np.nan), scale)\n"
    )
    told = "every value is 8 times too large: 63 of 63 answers are those of ocp but for that"
    assert main(["identify", str(kernel), "--in-process"]) == 1
    assert told in capsys.readouterr().out.splitlines()
    assert main(["identify", str(kernel), "--in-process", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["shift"] == told
