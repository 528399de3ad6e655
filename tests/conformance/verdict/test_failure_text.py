"""How failures are described and counted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from planted_bugs import BUGS
from verify_helpers import RIGHT, Kit, Vectors, read, target_file

from mxref.conformance import load_target, verify
from mxref.conformance.compare.compare import asked
from mxref.conformance.verdict.report_text import verdict_text
from mxref.conformance.verdict.verify import begun, with_rows


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


# --- planted bugs ---------------------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str, tmp_path: Path, vectors: Vectors) -> None:
    bug, case = BUGS[name], BUGS[name].case
    report = verify(load_target(target_file(tmp_path, RIGHT + bug.body)), read(vectors(bug.stem)))
    is_error = isinstance(case.got, str)
    wanted = "fails with errors" if is_error else f"violates {case.rule}"
    assert (report.verdict, report.passed) == (case.verdict or wanted, False)
    failures = {failure.case.id: failure for _, failure in report.failures}
    assert len(failures) == len(report.failures)
    failure = failures[case.id]
    assert failure.want[case.word] == case.want
    assert failure.case.rule == case.rule
    if isinstance(case.got, str):
        assert failure.got is None
        assert re.fullmatch(case.got, failure.error)
    else:
        assert failure.got is not None
        assert failure.got[case.word] == case.got
        assert failure.got[: case.word] == failure.want[: case.word]
