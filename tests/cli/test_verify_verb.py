"""`mxref verify`: what is compared, filters, misuse and the report as JSON."""

from __future__ import annotations

import argparse
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import ocp_files, table
from json_tables import cases
from planted_bugs import BUGS
from tables import rows
from verify_helpers import ENCODE, OPERATIONS, RIGHT, Kit

import mxref
from mxref.cli.verify_verb import add_extent_arguments
from mxref.conformance import target_of, verify

#: One file of every operation, in the order of `OPERATIONS`.
SLOTS = ("e2m1.f16", "e2m1.f32", "e8m0.f16", "e8m0.f32", "e2m1.f32", *["mxfp4_e2m1.f32"] * 2)
ONE_OF_EACH = [f"{op}/{slot}" for op, slot in zip(OPERATIONS, SLOTS, strict=True)]


def test_nothing_compared_is_a_failure(kit: Kit) -> None:
    spec = kit.target(ENCODE + "FORMATS = ['mxfp4_e2m1', 'e8m0']\n")
    options = ["--vectors", kit.vectors(*ONE_OF_EACH)]
    run = kit.run(spec, *options)
    assert run.status == 1
    assert run.last_line == f"FAIL {spec}: 0 cases, 0 failed: nothing compared"
    assert "FORMATS and FLOATS beside its functions say which these are\n" in run.out
    assert f"not covered: {len(OPERATIONS)} operations (--verbose lists them)\n" in run.out
    run = kit.run(spec, *options, "--verbose")
    assert f"not covered: {'; '.join(OPERATIONS)}\n" in run.out
    run = kit.run(spec, *options, "--json")
    assert run.status == 1
    assert (run.json["compared"], run.json["passed"]) == (0, False)
    assert run.json["verdict"] == "nothing compared"


@pytest.mark.parametrize(("options", "why"), cases(__file__, "why nothing is compared is said"))
def test_why_nothing_is_compared_is_said(kit: Kit, options: list[str], why: str) -> None:
    spec = kit.target(ENCODE + "FORMATS = ['e2m1']\n")
    folder = kit.vectors("encode/e2m1.f16", "decode/e4m3.f32")
    run = kit.run(spec, "--vectors", folder, *options)
    assert run.status == 1
    assert why in run.out


#: NVFP4 as Transformer Engine's core_nvfp4.cuh computes it, float32 by float32 (SPEC_NOTES N41).
TRANSFORMER_ENGINE = table("kernels")["verify_verb_transformer_engine"]


@pytest.mark.parametrize("claimed", [False, True])
def test_nvfp4_is_compared_under_the_arithmetic_of_a_library(kit: Kit, *, claimed: bool) -> None:
    policy = "ocp+nan_to_finite=opposite_zero+scale_arithmetic=transformer_engine"  # ml_dtypes' NaN
    spec = kit.target(TRANSFORMER_ENGINE + f"POLICY = {policy!r}\n" * claimed)
    options = ["--vectors", kit.vectors("quantize/nvfp4.f32")]
    run = kit.run(spec, *options, *["--policy", policy] * (not claimed))
    cases = re.findall(rf"^\w+ +quantize +nvfp4 +{re.escape(policy)} +(\d+) ", run.out, re.M)
    assert cases == ["521"]
    assert run.last_line.endswith(f": 521 cases, 0 failed: conforms under {policy}")


def test_calls_that_all_raise_where_all_is_refused_are_a_failure() -> None:
    def quantize(values: object, format: str) -> None:
        raise TypeError("broken")

    (file,) = (one for one in ocp_files("quantize", "mxfp4_e2m1") if one.float == "f32")
    nans = [case for case in file.cases if "nan" in case.flags]
    profile, target = mxref.profile("gfloat"), target_of(SimpleNamespace(quantize=quantize), "it")
    report = verify(target, [replace(file, cases=nans)], profile=profile)
    assert (report.compared, report.judged, report.failures) == (len(nans), 0, [])
    assert (report.passed, report.verdict) == (False, "nothing compared")
    with_others = verify(target, [file], profile=profile)
    assert with_others.judged == len(with_others.failures) == len(file.cases) - len(nans) > 0


ONE_FORMAT = (Path(__file__).parent / "data" / "one_format_kernel.txt").read_text("ascii")


def test_a_kernel_of_one_format_is_told_to_name_it(kit: Kit) -> None:
    others = [f"encode/{format}.f16" for format in ("e5m2", "e4m3", "e3m2")]
    stems = ("encode/e2m1.f16", *others, "encode_scale/e8m0.f16")
    run = kit.run(kit.target(ONE_FORMAT), "--vectors", kit.vectors(*stems))
    *table, last = run.out.splitlines()
    first = last.partition(" failed: ")[2]
    assert first.startswith("FORMATS is missing: without it all formats are asked, ")
    assert 'right in e2m1 alone; write FORMATS = ("e2m1",), or name the others' in first
    assert [line.split()[:3] for line in table[1:3]] == [
        ["ok", "encode", "e2m1"],
        ["ok", "encode_scale", "e8m0"],
    ]
    assert len(table) == 3  # nothing of the other formats
    assert last.startswith("FAIL ")
    record = kit.run(kit.target(ONE_FORMAT), "--vectors", kit.vectors(*stems), "--json").json
    assert record["in_short"] == first
    assert [row["format"] for row in record["rows"]] == ["e2m1", "e8m0"]
    assert not record["failures"]
    claim = "FORMATS = ['e2m1', 'e4m3']\n"
    run = kit.run(kit.target(ONE_FORMAT + claim), "--vectors", kit.vectors(*stems))
    assert "FORMATS is missing" not in run.out
    assert "\nCAUSE UNKNOWN " in run.out
    few = 'ONE = 1\ndef encode(v, f): return mxref.encode(v, f) ^ (f == "e4m3") * (v == 1)\n'
    run = kit.run(kit.target(ENCODE + few), "--vectors", kit.vectors(*stems))
    assert "FORMATS is missing" not in run.out  # most of its answers are right


@pytest.mark.parametrize(
    ("command", "why"),
    [("true", "ended before an answer"), ("sleep 3600", "gave no answer within 0.2 s")],
)
def test_a_program_without_an_answer_is_told_once(kit: Kit, command: str, why: str) -> None:
    folder = kit.vectors("decode/e2m1.f32", "decode/e4m3.f32", "decode_scale/e8m0.f32")
    options = () if command == "true" else ("--timeout", "0.2")
    run = kit.run("--cmd", command, *options, "--vectors", folder)
    assert run.status == 1
    (last,) = run.out.splitlines()
    start, _, first = last.partition(": 528 cases, 528 failed: ")
    assert start == f"FAIL {command}"
    assert first.startswith("no question was answered: ")
    assert first.endswith(f"the program {why}")
    record = kit.run("--cmd", command, *options, "--vectors", folder, "--json").json
    assert record["in_short"] == first
    assert not any(record[name] for name in ("rows", "failures", "findings", "passed"))


def test_an_error_of_many_formats_is_told_once(kit: Kit) -> None:
    body = """
def decode(codes, format):
    if format != "e2m1":
        raise KeyError("its table is missing")
    return mxref.decode(codes, format)
"""
    stems = [f"decode/{name}.f32" for name in ("e2m1", "e4m3", "e3m2", "e2m3", "int8")]
    target = kit.target(RIGHT + body + f"FORMATS = {[stem[7:11] for stem in stems]}\n")
    run = kit.run(target, "--vectors", kit.vectors(*stems))
    found = [line for line in run.out.splitlines() if line.endswith("; the first:")]
    where = "decode e4m3, decode int8, decode e3m2 and 1 other"
    (line,) = found
    assert line.startswith(f"{where}: 640 x KeyError: 'its table is missing' (target.py:")


@pytest.mark.parametrize("claim", ["FORMATS = []", "FLOATS = ()"])
def test_an_empty_claim_is_a_failure(kit: Kit, claim: str) -> None:
    run = kit.run(kit.target(f"{ENCODE}{claim}\n"), "--vectors", kit.vectors("encode/e2m1.f16"))
    assert (run.status, run.last_line[-16:]) == (1, "nothing compared")


def test_a_filter_that_the_target_lacks_is_a_failure(kit: Kit) -> None:
    run = kit.run(kit.target(ENCODE), "--vectors", kit.vectors(*ONE_OF_EACH), "--op", "decode")
    assert (run.status, run.last_line[-16:]) == (1, "nothing compared")


@pytest.mark.parametrize(("options", "want"), rows("cli", "tables", "filter"))
def test_filters(kit: Kit, options: str, want: str) -> None:
    stems = [f"decode/{format}.f32" for format in ("e5m2", "e4m3", "e2m1", "int8")]
    stems += ["encode/e2m1.f16", "encode/int8.f16", "shared_scale/e2m1.f32"]
    folder = kit.vectors(*stems)
    run = kit.run(kit.target(RIGHT), "--vectors", folder, "--json", *options.split())
    assert run.status == 0
    assert {f"{row['op']} {row['format']}" for row in run.json["rows"]} == {*want.split(", ")}


def test_damaged_vectors_are_refused(kit: Kit) -> None:
    folder = kit.folder / "damaged"
    shutil.copytree(kit.vectors("decode/e2m1.f32"), folder)
    path = folder / "decode/e2m1.f32.jsonl"
    path.write_bytes(path.read_bytes().replace(b"3f000000", b"3f000001", 1))
    run = kit.run(kit.target(RIGHT), "--vectors", folder)
    assert (run.status, run.out) == (2, "")
    assert "does not have the sha256" in run.err


def test_what_is_not_covered_is_reported(kit: Kit) -> None:
    text = RIGHT.replace("def decode_scale", "def other")
    text += "FORMATS = ['e2m1', 'e4m3']\nFLOATS = ['f32']\n"
    stems = ["encode/e2m1.f32", "encode/e2m1.f16", "encode/e4m3.f16", "encode/int8.f32"]
    stems += ["encode_scale/e8m0.f32", "decode_scale/e8m0.f32", "quantize/mxint8.f32"]
    spec = kit.target(text)
    run = kit.run(spec, "--vectors", kit.vectors(*stems), "--json")
    assert run.status == 0
    assert {(row["op"], row["format"]) for row in run.json["rows"]} == {
        ("encode", "e2m1"),
        ("encode_scale", "e8m0"),
    }
    assert sorted(run.json["not_covered"]) == [
        "decode_scale",
        "encode e4m3, e2m1 (f16), int8",
        "quantize",
    ]
    text = kit.run(spec, "--vectors", kit.vectors(*stems)).out
    (line,) = [line for line in text.splitlines() if line.startswith("not covered: ")]
    assert sorted(line.removeprefix("not covered: ").split("; ")) == sorted(run.json["not_covered"])


def test_an_operation_that_needs_a_policy_says_so(kit: Kit) -> None:
    text = "def encode_stochastic(values, random_bits, width, format):\n    return values\n"
    options = ("--vectors", kit.vectors("encode_stochastic/e4m3.f32"), "--json")
    run = kit.run(kit.target(text), *options)
    assert run.status == 1
    assert run.json["asked"]["notes"] == [
        "encode_stochastic is not asked under ocp: its policy must have rounding=stochastic_a or "
        "rounding=stochastic_b or rounding=stochastic_c (write POLICY = "
        '"ocp+rounding=stochastic_a" beside it, or give --policy)'
    ]
    found = kit.run(kit.target(f"POLICY = 'ocp+rounding=stochastic_a'\n{text}"), *options).json
    assert (found["asked"]["notes"], found["compared"] > 0) == ([], True)


def test_the_json_report_is_consistent(kit: Kit) -> None:
    body = BUGS["INT8 uses -128"].body + BUGS["sign of zero lost on decode"].body
    stems = ["encode/int8.f32", "encode/int8.f64", "decode/e4m3.f32", "decode/int8.f32"]
    run = kit.run(kit.target(RIGHT + body), "--vectors", kit.vectors(*stems), "--json")
    report = run.json
    assert report["compared"] == sum(row["compared"] for row in report["rows"])
    for row in report["rows"]:
        prefix = f"{row['op']}.{row['format']}."
        failed = [f for f in report["failures"] if f["id"].startswith(prefix)]
        assert row["failed"] == len(failed) <= row["compared"]
        assert row["known"] == 0
    assert sum(row["failed"] for row in report["rows"]) == len(report["failures"])
    for failure in report["failures"]:
        digits = failure["id"].rpartition(".")[2]
        assert failure["in"] == digits
        assert failure["want"] != failure["got"]
        assert {len(failure[key]) for key in ("want", "got")} == {
            2 if failure["id"].startswith("encode") else 8
        }
        assert failure["text"].startswith(f"{failure['id']}: ")
        assert failure["text"].endswith(f"; {failure['rule']} [{' '.join(failure['flags'])}]")
        assert failure["known"] is None


def test_how_much_is_asked(kit: Kit) -> None:
    options = [kit.target(ENCODE), "--vectors", kit.vectors("encode/e2m1.f32")]
    alone = kit.run(*options, "--json").json["asked"]
    assert (alone["calls"], alone["searched"], alone["families"]) == (0, 0, 0)
    assert "\nasked: " not in kit.run(*options).out
    run = kit.run(*options, "--sizes", "40", "--seed", "3", "--json", extent=())
    asked = run.json["asked"]
    assert (run.status, asked["smallest"], asked["largest"], asked["elements"]) == (0, 1, 33, 40)
    assert (asked["seed"], asked["searched"]) == (3, 64)  # of a target as slow as that
    sizes = kit.run(*options, "--sizes", "40", "--no-search", extent=())
    calls = f"cases again, twice, in {asked['calls']} calls of 1 to 33 rows"
    follow = f"{asked['following']} calls that follow others"
    said = f"\nasked: the vectors (level 1); {calls}, at most 40 elements each; {follow}"
    assert said in sizes.out


def test_how_much_is_asked_unless_it_is_said() -> None:
    parser = argparse.ArgumentParser()
    add_extent_arguments(parser)
    assert vars(parser.parse_args([])) == {
        "sizes": None, "quick": False, "no_search": False, "seed": 0, "level": 1
    }  # fmt: skip
