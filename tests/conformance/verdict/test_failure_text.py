"""How failures are described and counted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from planted_bugs import BUGS, line_of
from verify_helpers import RIGHT, UNEXPLAINED, Kit, Vectors, read, target_file

from mxref.conformance import load_target, verify
from mxref.conformance.compare.compare import asked
from mxref.conformance.compare.failure_text import describe
from mxref.conformance.verdict.report_text import verdict_text
from mxref.conformance.verdict.verify import begun, with_rows


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "ties away among subnormals only",
            "encode.e2m1.f32.3e800000: in 3e800000 = 0x1p-2 = 0.25, want 00 = 0 (0 00 0), got "
            "01 = 0.5 (0 00 1), "
            "1 code away; MX-5.3.3 [tie underflow]",
        ),
        (
            "scale 00 as zero",
            "decode_scale.e8m0.f32.00: code 00 = 2^-127, want 00400000 = 0x1p-127 = "
            "5.8774718e-39, got 00000000 = 0x0p+0 = 0; N22 [product_subnormal]",
        ),
        (
            "zero block with scale one",
            "quantize.mxfp4_e2m1.f32.zeros: scale: amax 00000000 = 0x0p+0 = 0, want 00 = "
            "2^-127, got 7f = 2^0, 127 codes away; N6 [zero_block]",
        ),
        (
            "sign of one position wrong",
            "quantize.mxfp4_e2m1.f32.ones: element 17: in 3f800000 = 0x1p+0 = 1, scale 7d = 2^-2, "
            "want 06 = 4 (0 11 0), got 0e = -4 (1 11 0), 12 codes away; MX-6.3 [binade_edge]",
        ),
        (
            "raises on NaN",
            "encode.e4m3.f32.7f800001: ValueError: no NaN here (target.py:"
            f"{line_of('raises on NaN', 'raise ValueError')}); N13 [nan]",
        ),
        (
            "sign of zero lost",  # -0 and +0 are no codes apart
            "encode.e4m3.f32.80000000: in 80000000 = -0x0p+0 = -0, want 80 = -0 (1 0000 000), got "
            "00 = 0 (0 0000 000); "
            "N25 [zero negative_zero]",
        ),
        (
            "NaN to the largest number",
            "encode.e4m3.f32.7f800001: in 7f800001 = nan, want 7f = nan (0 1111 111), got "
            "7e = 448 (0 1111 110); N13 [nan]",
        ),
        (
            "largest element taken with its sign",
            "quantize.mxfp4_e2m1.f32.largest_15: scale: amax c1300000 = -0x1.6p+3 = -11, want 80 "
            "= 2^1, got 7b = 2^-4, 5 codes away; MX-6.3 [position]",
        ),
        (
            "NaN block with a finite scale",
            "quantize.mxfp8_e4m3.f32.nan_00: scale: amax 7fc00000 = nan, want ff = nan, got fe = "
            "2^127; N4 [nan nan_block]",
        ),
    ],
)
def test_a_failure_is_described_in_one_line(kit: Kit, name: str, line: str) -> None:
    spec = kit.target(RIGHT + BUGS[name].body)
    run = kit.run(spec, "--vectors", kit.vectors(BUGS[name].stem), "--show", 1000)
    assert f"  {line}\n" in run.out


@pytest.mark.sampled(6)
def test_an_element_is_described_with_its_own_input(tmp_path: Path, vectors: Vectors) -> None:
    bug = BUGS["sign of one position wrong"]
    report = verify(load_target(target_file(tmp_path, RIGHT + bug.body)), read(vectors(bug.stem)))
    lines = [describe(file, failure) for file, failure in report.failures]
    (line,) = [line for line in lines if line.startswith(f"{bug.case.id[:-4]}alternating: ")]
    assert "element 17: in bf800000 = -0x1p+0 = -1, " in line  # 1, -1, 1 ...: odd ones are -1
    assert "want 0e = -4 (1 11 0), got 06 = 4 (0 11 0), 12 codes away" in line


def test_unexplained(kit: Kit) -> None:
    spec = kit.target(RIGHT + BUGS["NaN to three"].body)
    run = kit.run(spec, "--vectors", kit.vectors("encode/e2m1.f32"))
    assert run.status == 1
    assert re.search(rf"FAIL .*: \d+ cases, \d+ failed: {UNEXPLAINED}$", run.last_line)
    assert "your output" not in run.out


@pytest.mark.parametrize(
    ("op", "result", "verdict"),
    [
        ("quantize", "values[:, :1] < 0, 0", "unexplained: the standard recommends other scales"),
        ("quantize_tensor", "values[0, 0] < 0, 0", "unexplained: the standard recommends other"),
        ("quantize_tensor", "False, codes == 5", "violates MX-6.3"),
    ],
)
def test_what_the_standard_says_of_scales(
    tmp_path: Path, vectors: Vectors, op: str, result: str, verdict: str
) -> None:
    body = f"""
import numpy as np
import mxref
def {op}(values, format, axis=-1):
    rules = [mxref.quantize(values, format, axis=axis, scale_rule=r) for r in ("floor", "ceil")]
    (scales, codes), other = [(one.scale_codes, one.codes) for one in rules]
    is_other, flipped = {result}
    return np.where(is_other, other[0], scales), np.where(is_other, other[1], codes) ^ flipped
"""
    target = load_target(target_file(tmp_path, body))
    report, files = begun(target, read(vectors(f"{op}/mxfp4_e2m1.f32")))
    report = with_rows(report, [(asked(target, file),) for file in files], why=False)
    assert verdict_text(report).startswith(verdict)


def test_several_clauses_are_violated(kit: Kit) -> None:
    body = BUGS["scale 00 as zero"].body + BUGS["E4M3 has an infinity"].body
    folder = kit.vectors("decode/e4m3.f32", "decode_scale/e8m0.f32")
    run = kit.run(kit.target(RIGHT + body), "--vectors", folder)
    assert run.status == 1
    assert run.last_line.endswith(": 512 cases, 2 failed: violates MX-5.3.1, N22")


def test_a_permitted_difference_does_not_hide_a_violation(kit: Kit) -> None:
    body = BUGS["INT8 uses -128"].body + BUGS["INT8 80 as +2"].body
    folder = kit.vectors("decode/int8.f32", "encode/int8.f32")
    run = kit.run(kit.target(RIGHT + body), "--vectors", folder)
    assert run.last_line.endswith(": violates N15")


def test_show_limits_the_kinds_that_are_printed(kit: Kit) -> None:
    spec = kit.target(RIGHT + "def encode(v, f): return np.zeros(v.shape, 'u1')\n")
    options = ["--vectors", kit.vectors("encode/e2m1.f32")]
    everything = kit.run(spec, *options, "--show", 1000).out
    kinds = everything.count("; the first:\n")
    assert kinds > 3
    assert "more kinds of failure" not in everything
    some = kit.run(spec, *options, "--show", 2).out
    assert some.count("; the first:\n") == 2
    assert f"... and {kinds - 2} more kinds of failure" in some


def test_no_format_crowds_out_the_others(kit: Kit) -> None:
    body = "def encode(v, f): return np.zeros(v.shape, 'u1')\n"
    body += BUGS["INT8 80 as +2"].body
    folder = kit.vectors("encode/e2m1.f32", "encode/e3m2.f32", "decode/int8.f32")
    run = kit.run(kit.target(RIGHT + body), "--vectors", folder, "--show", 1000)
    kinds = re.findall(r"^(\w+ \w+): (\d+) x .*; the first:$", run.out, re.MULTILINE)
    names = [name for name, _ in kinds]
    assert sorted(names[:5]) == sorted(["encode e2m1", "encode e3m2"] * 2 + ["decode int8"])
    assert "decode int8" not in names[5:]
    for part in (kinds[:5], kinds[5:]):
        counts = [int(count) for _, count in part]
        assert counts == sorted(counts, reverse=True)


def test_identical_errors_are_one_kind_of_one_line(kit: Kit) -> None:
    text = RIGHT + "def encode(v, f): raise ValueError('one\\ntwo')\n"
    run = kit.run(kit.target(text), "--vectors", kit.vectors("encode/e2m1.f16"))
    assert run.status == 1
    (cases,) = re.findall(r"^FAIL +encode +e2m1 +ocp +(\d+) +\1 +0$", run.out, re.MULTILINE)
    where = f"(target.py:{text.count(chr(10))})"
    assert run.out.splitlines()[2:] == [
        f"encode e2m1: {cases} x ValueError: one two {where}; the first:",
        f"  encode.e2m1.f16.0000: ValueError: one two {where}; MX-5.3.3 [zero]",
        f"FAIL {kit.folder / 'target.py'}: {cases} cases, {cases} failed: fails with errors",
    ]
