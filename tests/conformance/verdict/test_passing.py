"""What conforms, and in which words; how failures are told and counted; planted bugs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import VECTORS, table
from planted_bugs import BUGS
from verify_helpers import OPERATIONS, RIGHT, Kit, Vectors, read, target_file

from mxref.conformance import load_target, verify
from mxref.conformance.compare.compare import asked
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.verify import begun, with_rows
from mxref.golden import VectorFile
from mxref.operations import registry
from mxref.targets import asked_files as asked_module

KERNELS = table("passing_kernels")


def test_a_right_target_conforms(
    kit: Kit, everything: list[VectorFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def read(path: Path, wanted: Callable[[str], bool], _: object) -> list[VectorFile]:
        asked.append(path)  # they take a second to read, and have been read
        return [file for file in everything if wanted(file.stem)]

    monkeypatch.setattr(asked_module, "read_vectors", read)
    run = kit.run(kit.target(RIGHT), "--json")
    assert run.status == 0
    assert asked == [VECTORS]
    report = run.json
    assert report["verdict"] == "conforms"
    assert report["passed"] is True
    assert report["policy"] == "ocp"
    assert (report["failures"], report["stale"]) == ([], [])
    # It has the seven operations on numbers and blocks of the MX formats, and no others.
    others = list(registry.OPERATIONS)[len(OPERATIONS) :]
    assert {line.split(" ")[0] for line in report["not_covered"]} == {
        *others,
        *("encode", "decode"),  # of FNUZ
        *("quantize", "dequantize"),  # of NVFP4
    }
    assert {row["op"] for row in report["rows"]} == set(OPERATIONS)
    assert report["compared"] == sum(row["compared"] for row in report["rows"])
    # Every case of every committed file of these was put to it.
    lines = [
        path.read_bytes().count(b"\n") - 1
        for path in VECTORS.rglob("*.jsonl")
        if path.parent.name not in others
        and not path.name.startswith(("nvfp4", "fp4_", "fp8_"))
        and "fnuz" not in path.name
    ]
    assert report["compared"] == sum(lines) > 0


def test_what_a_target_prints_is_no_part_of_the_report(kit: Kit) -> None:
    body = """
print("loading")
right = decode
def decode(codes, format):
    print("decoding")
    return right(codes, format)
"""
    spec = kit.target(RIGHT + body)
    for more in (["--json"], []):
        run = kit.run(spec, "--vectors", kit.vectors("decode/e2m1.f32"), *more)
        assert run.status == 0
        assert run.out.split()[0] == ("{" if more else "op")
        # A call that a busy machine makes look slow is timed once more.
        assert run.err.startswith("loading\ndecoding\n")
        assert set(run.err.splitlines()) == {"loading", "decoding"}


@pytest.mark.parametrize("claimed", [True, False], ids=["claimed", "asked for"])
def test_a_target_conforms_under_another_policy(kit: Kit, *, claimed: bool) -> None:
    """An operation is compared under the choices that it reads."""
    policy = "ocp+rounding=ties_to_away"
    folder = kit.vectors("encode/e4m3.f32", "quantize/mxfp4_e2m1.f32", "decode/e4m3.f32")
    spec = kit.target(RIGHT + KERNELS["away"] + f"POLICY = {policy!r}\n" * claimed)
    run = kit.run(spec, "--vectors", folder, "--json", *["--policy", policy] * (not claimed))
    assert run.status == 0
    besides = "; rounding=ties_to_even (required) must be offered as well"
    assert (run.json["verdict"], run.json["policy"]) == (
        f"conforms under {policy}{besides}",
        policy,
    )
    rows = {row["op"]: row["policy"] for row in run.json["rows"]}
    assert rows == {"encode": policy, "quantize": policy, "decode": "ocp"}


@pytest.mark.parametrize("name", KERNELS["several"])
def test_rows_of_several_policies(kit: Kit, name: str) -> None:
    row = KERNELS["several"][name]
    spec, folder = kit.target(RIGHT + row["body"]), kit.vectors(*row["stems"])
    run = kit.run(spec, "--vectors", folder)
    assert run.status == 1
    assert run.last_line.endswith(f" failed: {row['verdict']}")
    if "policy" in row:
        run = kit.run(spec, "--vectors", folder, "--policy", row["policy"])
        besides = "; overflow=saturate (required) must be offered as well"
        assert run.status == 0
        assert run.last_line.endswith(f" 0 failed: conforms under {row['policy']}{besides}")


def test_the_nearest_policy_is_named(kit: Kit) -> None:
    spec = kit.target(RIGHT + KERNELS["nearly_away"])
    run = kit.run(spec, "--vectors", kit.vectors("encode/e2m1.f32"))
    (cases,) = re.findall(r"^FAIL +encode +e2m1 +ocp +(\d+) +\d+ +0$", run.out, re.MULTILINE)
    nearest = "encode e2m1: your output is nearest to ocp+rounding=ties_to_away"
    assert f"{nearest} on {int(cases) - 1} of {cases} cases\n" in run.out
    beside = "in the cases asked, wrong exactly where x is positive and |x| is 6 (1 of 1; "
    said = f"nearest is ocp+rounding=ties_to_away; beside it {beside}"
    assert f" failed: violates MX-5.3.3; {said}" in run.last_line


# --- what is left beside the nearest policy or profile --------------------------------------------


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    ("blocks", "nearest"),
    [
        ('mxref.quantize(values, format, scale_rule="rceil")', "ocp+scale_rule=rceil"),
        ('mxref.profile("pychop").quantize(values, format)', "profile pychop"),
    ],
)
def test_what_is_left_beside_what_is_nearest_is_described(
    kit: Kit, blocks: str, nearest: str
) -> None:
    spec = kit.target(RIGHT + KERNELS["wrong_at_one_and_a_half"].format(blocks))
    options = ["--vectors", kit.vectors("quantize/mxfp4_e2m1.f32", "quantize/mxfp8_e4m3.f32")]
    run = kit.run(spec, *options)
    (head, *_) = [line for line in run.out.splitlines()[3:] if not line.startswith(" ")]
    assert re.fullmatch(rf"NEAREST: {re.escape(nearest)} \(\d+ of \d+\)", head)
    text = "in the cases asked, elements wrong exactly where |x| is 1.5 ("
    assert f"  quantize mxfp8_e4m3, beside it: {text}" in run.out
    assert "scales wrong" not in run.out
    rows = {row["format"]: row for row in kit.run(spec, *options, "--json").json["rows"]}
    assert rows["mxfp8_e4m3"]["beside"] == nearest.removeprefix("profile ")
    assert rows["mxfp8_e4m3"]["description"]["text"].startswith(text)


# --- how failures are described and counted -------------------------------------------------------


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
    assert run.last_line.endswith(
        ": violates N15; in the cases asked, wrong exactly where the code is 80 (1 of 1): the sign "
        "is lost; elsewhere conforms under ocp+int8_range=full in encode int8"
    )


def test_show_limits_what_is_printed_and_no_format_crowds_out_the_others(kit: Kit) -> None:
    body = "def encode(v, f): return (v > 1).astype('u1')\n"
    spec = kit.target(RIGHT + body + BUGS["INT8 80 as +2"].body)
    folder = kit.vectors("encode/e2m1.f32", "encode/e3m2.f32", "decode/int8.f32")
    everything = kit.run(spec, "--vectors", folder, "--show", 1000).out
    assert "more kinds of failure" not in everything
    kinds = re.findall(r"^(\w+ \w+): (\d+) x .*; the first:$", everything, re.MULTILINE)
    some = kit.run(spec, "--vectors", folder, "--show", 2).out
    assert some.count("; the first:\n") == 2
    assert f"... and {len(kinds) - 2} more kinds of failure" in some
    names = [name for name, _ in kinds]
    assert sorted(names[:5]) == sorted(["encode e2m1", "encode e3m2"] * 2 + ["decode int8"])
    assert "decode int8" not in names[5:]
    for part in (kinds[:3], kinds[3:5], kinds[5:]):
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
    assert report.verdict.startswith(case.verdict or wanted)
    assert not report.passed
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
