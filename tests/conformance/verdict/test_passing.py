"""What conforms, to the standard or under another policy, and in which words."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import VECTORS
from verify_helpers import OPERATIONS, RIGHT, Kit

from mxref.golden import VectorFile
from mxref.operations import registry
from mxref.targets import asked_files as asked_module


def test_a_right_target_conforms(
    kit: Kit, everything: list[VectorFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def read(path: Path, wanted: Callable[[str], bool]) -> list[VectorFile]:
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
        and not path.name.startswith(("nvfp4", "fp4_"))
        and "fnuz" not in path.name
    ]
    assert report["compared"] == sum(lines) > 0


def test_a_right_target_conforms_in_words(kit: Kit) -> None:
    spec = kit.target(RIGHT)
    folder = kit.vectors("decode/e2m1.f32", "decode_scale/e8m0.f32")
    run = kit.run(spec, "--vectors", folder)
    assert run.status == 0
    assert run.err == ""
    header, *rows, last = run.out.splitlines()
    assert header.split() == ["op", "format", "policy", "cases", "failed", "known"]
    assert [row.split() for row in rows] == [
        ["ok", "decode", "e2m1", "ocp", "16", "0", "0"],
        ["ok", "decode_scale", "e8m0", "ocp", "256", "0", "0"],
    ]
    assert last == f"PASS {spec}: 272 cases, 0 failed: conforms"


def test_what_a_target_prints_is_no_part_of_the_report(kit: Kit) -> None:
    body = """
print("loading")
right = decode
def decode(codes, format):
    print("decoding")
    return right(codes, format)
"""
    spec = kit.target(RIGHT + body)
    options = ["--vectors", kit.vectors("decode/e2m1.f32")]
    run = kit.run(spec, *options, "--json")
    assert (run.status, run.json["passed"]) == (0, True)
    # A call that a busy machine makes look slow is timed once more.
    assert run.err.startswith("loading\ndecoding\n")
    assert set(run.err.splitlines()) == {"loading", "decoding"}
    run = kit.run(spec, *options)
    assert run.out.splitlines()[0].split()[0] == "op"
    # A call that a busy machine makes look slow is timed once more.
    assert run.err.startswith("loading\ndecoding\n")
    assert set(run.err.splitlines()) == {"loading", "decoding"}


AWAY = """
def encode(values, format):
    return mxref.encode(values, format, rounding="ties_to_away")

def quantize(values, format):
    blocks = mxref.quantize(values, format, rounding="ties_to_away")
    return blocks.scale_codes, blocks.codes
"""


@pytest.mark.parametrize(
    ("policy", "body"),
    [
        ("ocp+rounding=ties_to_away", AWAY),
        (
            "ocp+overflow=nonsaturating",
            'def encode(v, f): return mxref.encode(v, f, overflow="nonsaturating")\n'
            'def quantize(v, f): return mxref.quantize(v, f, overflow="nonsaturating")\n',
        ),
    ],
)
@pytest.mark.parametrize("claimed", [True, False], ids=["claimed", "asked for"])
def test_a_target_conforms_under_another_policy(
    kit: Kit, policy: str, body: str, *, claimed: bool
) -> None:
    folder = kit.vectors("encode/e4m3.f32", "quantize/mxfp4_e2m1.f32", "decode/e4m3.f32")
    claim = f"POLICY = {policy!r}\n" if claimed else ""
    options = [] if claimed else ["--policy", policy]
    spec = kit.target(RIGHT + body + claim)
    run = kit.run(spec, "--vectors", folder, "--json", *options)
    assert run.status == 0
    assert run.json["verdict"] == f"conforms under {policy}"
    assert run.json["policy"] == policy
    # An operation is compared under the choices that it reads.
    assert {row["op"]: row["policy"] for row in run.json["rows"]} == {
        "encode": policy,
        "quantize": policy,
        "decode": "ocp",
    }


def test_the_default_does_not_pass_under_another_policy(kit: Kit) -> None:
    folder = kit.vectors("encode/e2m1.f32")
    options = ["--policy", "ocp+rounding=toward_zero", "--vectors", folder]
    run = kit.run(kit.target(RIGHT), *options)
    assert run.status == 1
    assert "your output equals ocp on" in run.out


def test_ties_away_is_named(kit: Kit) -> None:
    folder = kit.vectors("encode/e2m1.f32", "quantize/mxfp4_e2m1.f32", "decode/e2m1.f32")
    spec = kit.target(RIGHT + AWAY)
    run = kit.run(spec, "--vectors", folder)
    assert run.status == 1
    assert run.last_line.startswith(f"FAIL {spec}: ")
    lacks = "lacks rounding=ties_to_even (required); gives ties_to_away everywhere"
    passes = 'it passes with POLICY = "ocp+rounding=ties_to_away" beside it, or with --policy'
    assert run.last_line.endswith(f" failed: {lacks}; {passes}")
    for op, format in (("encode", "e2m1"), ("quantize", "mxfp4_e2m1")):
        (cases,) = re.findall(rf"^FAIL +{op} +{format} +ocp +(\d+) +\d+ +0$", run.out, re.MULTILINE)
        equals = "your output equals ocp+rounding=ties_to_away"
        assert f"{op} {format}: {equals} on {cases} of {cases} cases\n" in run.out
    assert re.search(r"^ok +decode", run.out, re.MULTILINE)
    assert "decode e2m1: your output" not in run.out
    # The policy that it names is one under which it passes.
    options = ["--policy", "ocp+rounding=ties_to_away", "--vectors", folder]
    assert kit.run(spec, *options).status == 0


def test_a_target_that_overflows_to_nan_alone_lacks_what_is_required(kit: Kit) -> None:
    body = 'def encode(v, f): return mxref.encode(v, f, overflow="nonsaturating")\n'
    run = kit.run(kit.target(RIGHT + body), "--vectors", kit.vectors("encode/e4m3.f32"))
    assert run.status == 1
    lacks = "lacks overflow=saturate (required); gives nonsaturating everywhere"
    passes = 'it passes with POLICY = "ocp+overflow=nonsaturating" beside it, or with --policy'
    assert run.last_line.endswith(f" failed: {lacks}; {passes}")
    assert "your output equals ocp+overflow=nonsaturating on " in run.out


BY_FORMAT = """
def encode(v, f):
    return mxref.encode(v, f, overflow="nonsaturating" if f == "e4m3" else "saturate")
"""


def test_one_policy_for_some_formats_is_not_one_policy(kit: Kit) -> None:
    run = kit.run(
        kit.target(RIGHT + BY_FORMAT),
        *("--vectors", kit.vectors("encode/e4m3.f32", "encode/e5m2.f32")),
    )
    assert run.status == 1
    # Each of the two answers is one of Table 3, but no policy gives both.
    lacks = "lacks overflow=saturate (required); gives nonsaturating in encode e4m3"
    assert run.last_line.endswith(f" failed: {lacks}")
    assert "encode e4m3: your output equals ocp+overflow=nonsaturating on " in run.out
    assert "encode e5m2: your output" not in run.out


def test_one_policy_may_explain_rows_of_different_choices(kit: Kit) -> None:
    body = """
def encode(v, f): return mxref.encode(v, f, overflow="nonsaturating")
def decode(c, f): return mxref.decode(c, f) + np.float32(0)
"""
    spec = kit.target(RIGHT + body)
    options = ["--vectors", kit.vectors("encode/e4m3.f32", "decode/e4m3.f32", "decode/int8.f32")]
    run = kit.run(spec, *options)
    assert run.status == 1
    lacks = "lacks overflow=saturate (required); gives nonsaturating everywhere"
    policy = "ocp+overflow=nonsaturating+decoded_zero=dropped"
    rest = "else conforms under ocp+decoded_zero=dropped"
    passes = f'it passes with POLICY = "{policy}" beside it, or with --policy'
    assert run.last_line.endswith(f"{lacks}; {rest}; {passes}")
    run = kit.run(spec, *options, "--policy", policy)
    besides = "; overflow=saturate (required) must be offered as well"
    assert run.status == 0
    assert run.last_line.endswith(f" 0 failed: conforms under {policy}{besides}")


def test_the_nearest_policy_is_named(kit: Kit) -> None:
    body = """
def encode(values, format):
    codes = mxref.encode(values, format, rounding="ties_to_away")
    return np.where(values == 6, 6, codes).astype(np.uint8)
"""
    run = kit.run(kit.target(RIGHT + body), "--vectors", kit.vectors("encode/e2m1.f32"))
    (cases,) = re.findall(r"^FAIL +encode +e2m1 +ocp +(\d+) +\d+ +0$", run.out, re.MULTILINE)
    nearest = "encode e2m1: your output is nearest to ocp+rounding=ties_to_away"
    assert f"{nearest} on {int(cases) - 1} of {cases} cases\n" in run.out
    assert run.last_line.endswith(" failed: violates MX-5.3.3")


def test_a_policy_that_contradicts_the_standard_is_named_but_is_no_conformance(kit: Kit) -> None:
    body = 'def decode_scale(c): return mxref.decode_scale(c, scale_00="zero")\n'
    spec = kit.target(RIGHT + body)
    run = kit.run(spec, "--vectors", kit.vectors("decode_scale/e8m0.f32"))
    assert run.status == 1
    equals = "decode_scale e8m0: your output equals ocp+scale_00=zero on 256 of 256 cases\n"
    assert equals in run.out
    assert run.last_line == f"FAIL {spec}: 256 cases, 1 failed: violates N22"
