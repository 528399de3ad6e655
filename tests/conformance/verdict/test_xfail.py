"""Known divergences: a file lists them, and nothing else may fail."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from planted_bugs import BUGS, line_of
from verify_helpers import ENCODE, RIGHT, Kit, Vectors, assert_sentence, read, target_file

from mxref import golden
from mxref.conformance import XfailError, load_target, read_xfail, verify, write_xfail

Diverging = tuple[str, list[str], list[str]]

LINK = "https://example.org/1"


@pytest.fixture
def diverging(tmp_path: Path, vectors: Vectors) -> Diverging:
    """A target with known divergences, how it is run, and the ids that it fails."""
    spec = target_file(tmp_path, RIGHT + BUGS["INT8 uses -128"].body)
    folder = vectors("encode/int8.f32", "decode/int8.f32")
    report = verify(load_target(spec), golden.read_vectors(Path(folder)))
    ids = [failure.case.id for _, failure in report.failures]
    assert len(ids) > 3
    return spec, ["--vectors", folder], ids


def xfail_file(folder: Path, *groups: Iterable[str], **changed: object) -> Path:
    path = folder / "known.xfail.json"
    records = [
        {"reason": f"reason {i}", "link": LINK, "cases": list(ids), **changed}
        for i, ids in enumerate(groups)
    ]
    path.write_text(json.dumps({"target": "mine", "groups": records}))
    return path


def test_listed_failures_pass(kit: Kit, diverging: Diverging) -> None:
    spec, options, ids = diverging
    path = xfail_file(kit.folder, ids[:2], ids[2:])
    run = kit.run(spec, *options, "--xfail", path)
    assert run.status == 0
    assert f"known: 2 x reason 0 ({LINK})\n" in run.out
    assert f"known: {len(ids) - 2} x reason 1 ({LINK})\n" in run.out
    assert re.search(rf"^known +encode +int8 +ocp +\d+ +0 +{len(ids)}$", run.out, re.MULTILINE)
    summary = rf"PASS {spec}: \d+ cases, 0 failed, {len(ids)} known to fail"
    assert re.fullmatch(summary + r": conforms under ocp\+int8_range=full", run.last_line)
    report = kit.run(spec, *options, "--xfail", path, "--json").json
    assert report["passed"] is True
    assert report["stale"] == []
    assert {f["known"] for f in report["failures"]} == {f"reason {i} ({LINK})" for i in (0, 1)}
    assert {row["op"]: row["known"] for row in report["rows"]} == {"encode": len(ids), "decode": 0}


def test_a_failure_that_is_not_listed_fails(kit: Kit, diverging: Diverging) -> None:
    spec, options, ids = diverging
    run = kit.run(spec, *options, "--xfail", xfail_file(kit.folder, ids[1:]))
    assert run.status == 1
    assert f"  {ids[0]}: " in run.out
    numbers = f" cases, 1 failed, {len(ids) - 1} known to fail: "
    assert re.fullmatch(rf"FAIL {spec}: \d+{numbers}.*", run.last_line)


def test_a_listed_case_that_passes_fails(kit: Kit, diverging: Diverging) -> None:
    spec, options, ids = diverging
    id = "encode.int8.f32.3f800000"
    path = xfail_file(kit.folder, ids, [id])
    run = kit.run(spec, *options, "--xfail", path)
    assert run.status == 1
    assert f"{id}: is listed as a known divergence but passes\n" in run.out
    numbers = f"0 failed, {len(ids)} known to fail, 1 wrongly listed as known"
    assert re.fullmatch(rf"FAIL {spec}: \d+ cases, {numbers}: conforms under .*", run.last_line)
    report = kit.run(spec, *options, "--xfail", path, "--json")
    assert report.status == 1
    assert report.json["stale"] == [id]


def test_a_listed_case_that_is_not_compared_fails(kit: Kit) -> None:
    spec = kit.target(RIGHT + "FORMATS = ['int8']\n")
    options = ["--vectors", kit.vectors("decode/int8.f32", "decode/e2m1.f32")]
    path = xfail_file(kit.folder, ["decode.e2m1.f32.00"])
    run = kit.run(spec, *options, "--xfail", path)
    assert run.status == 1
    assert "decode.e2m1.f32.00: is listed as a known divergence but was not compared\n" in run.out
    assert "\nknown: " not in run.out
    numbers = "256 cases, 0 failed, 0 known to fail, 1 wrongly listed as known"
    assert run.last_line == f"FAIL {spec}: {numbers}: conforms"
    # What is not asked cannot fail.
    assert kit.run(spec, *options, "--xfail", path, "--format", "int8").status == 0


@pytest.mark.parametrize("id", ["encode.e2m1.f32.00000000", "encode.int8.f32.nonsense", ""])
def test_a_listed_case_that_does_not_exist_is_refused(
    kit: Kit, diverging: Diverging, id: str
) -> None:
    spec, options, ids = diverging
    path = xfail_file(kit.folder, ids, [id])
    for filters in ([], ["--op", "decode"]):
        run = kit.run(spec, *options, *filters, "--xfail", path)
        message = f"mxref: error: {path}: there is no case {id!r}\n"
        assert (run.status, run.out, run.err) == (2, "", message)


@pytest.mark.parametrize(
    "filters", [["--op", "decode"], ["--format", "e2m1"], ["--float", "f64"], ["--op", "encode"]]
)
def test_known_divergences_outside_the_filter_do_not_count(
    kit: Kit, diverging: Diverging, filters: list[str]
) -> None:
    spec, _, ids = diverging
    folder = kit.vectors(
        "encode/int8.f32", "decode/int8.f32", "decode/e2m1.f32", "shared_scale/int8.f64"
    )
    options = ["--vectors", folder, *filters, "--xfail", xfail_file(kit.folder, ids)]
    run = kit.run(spec, *options)
    assert run.status == 0
    inside = filters == ["--op", "encode"]
    assert (f", {len(ids)} known to fail" in run.last_line) == inside
    assert ("known to fail" in run.last_line) == inside
    assert ("known: " in run.out) == inside


def test_a_mended_target_no_longer_passes(kit: Kit, diverging: Diverging) -> None:
    spec, options, ids = diverging
    path = xfail_file(kit.folder, ids)
    Path(spec).write_text(RIGHT)
    assert kit.run(spec, *options, "--xfail", path).status == 1
    assert kit.run(spec, *options).status == 0


#: name -> changed keys of a group, what the sentence says
BAD_GROUPS: dict[str, tuple[dict[str, object], str]] = {
    "no link": ({"link": ""}, "group 'reason 0' must have an http link, got ''"),
    "link no address": ({"link": "see the wiki"}, "must have an http link, got 'see the wiki'"),
    "no reason": ({"reason": ""}, "every group must have a reason that you have written, got ''"),
    "reason left open": (
        {"reason": "to be explained: encode int8 N15"},
        "a reason that you have written, got 'to be explained: encode int8 N15'",
    ),
    "extra key": ({"note": ""}, "is no xfail file"),
    "reason no string": ({"reason": 3}, "is no xfail file"),
    "cases a string": ({"cases": "abc"}, "is no xfail file"),
    "cases no list": ({"cases": None}, "is no xfail file"),
    "cases no strings": ({"cases": [3]}, "is no xfail file"),
}


@pytest.mark.parametrize("name", BAD_GROUPS)
def test_group_that_explains_nothing_is_refused(kit: Kit, diverging: Diverging, name: str) -> None:
    spec, options, ids = diverging
    changed, reason = BAD_GROUPS[name]
    path = xfail_file(kit.folder, ids, **changed)
    with pytest.raises(XfailError, match=reason) as caught:
        read_xfail(path)
    assert_sentence(str(caught.value))
    assert str(path) in str(caught.value)
    run = kit.run(spec, *options, "--xfail", path)
    assert (run.status, run.out, run.err) == (2, "", f"mxref: error: {caught.value}\n")


def test_a_group_without_a_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.xfail.json"
    path.write_text(json.dumps({"groups": [{"reason": "x", "cases": []}]}))
    with pytest.raises(XfailError, match="is no xfail file"):
        read_xfail(path)


@pytest.mark.parametrize("groups", [(["a", "b", "a"],), (["a", "b"], ["c", "a"])])
def test_an_id_listed_twice_is_refused(tmp_path: Path, groups: tuple[list[str], ...]) -> None:
    with pytest.raises(XfailError, match="'a' is listed twice"):
        read_xfail(xfail_file(tmp_path, *groups))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "{}", '{"groups": 3}', '{"groups": [3]}', '{"groups": {"a": 1}}']
)
def test_a_file_that_is_no_xfail_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known.xfail.json"
    path.write_text(text)
    with pytest.raises(XfailError, match="is no xfail file") as caught:
        read_xfail(path)
    assert_sentence(str(caught.value))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.xfail.json"
    path.write_bytes(b'{"groups": "\xff"}')
    with pytest.raises(XfailError, match="is no xfail file"):
        read_xfail(path)


def test_write_xfail_and_back(kit: Kit, diverging: Diverging) -> None:
    spec, options, ids = diverging
    path = kit.folder / "known.xfail.json"
    run = kit.run(spec, *options, "--write-xfail", path)
    assert run.status == 0
    assert run.out == f"{path}: {len(ids)} cases, {len(ids)} still without a reason and a link\n"
    again = kit.run(spec, *options, "--write-xfail", path)
    assert again.out == run.out
    # What nobody has explained is not accepted.
    run = kit.run(spec, *options, "--xfail", path)
    assert (run.status, run.out) == (2, "")
    assert "a reason that you have written, got 'to be explained: encode int8 N15" in run.err
    record = json.loads(path.read_text())
    assert record["target"] == spec
    first = {"reason": "uses -2", "link": LINK, "cases": ids[:2]}
    second = {"reason": "also", "link": LINK, "cases": ids[2:]}
    path.write_text(json.dumps({**record, "groups": [first, second]}))
    assert kit.run(spec, *options, "--xfail", path).status == 0
    # A reason without a link is not accepted, nor counted as one.
    path.write_text(json.dumps({**record, "groups": [first, {**second, "link": ""}]}))
    assert kit.run(spec, *options, "--xfail", path).status == 2
    run = kit.run(spec, *options, "--write-xfail", path)
    assert f" {len(ids) - 2} still without a reason and a link\n" in run.out
    # Reasons stay when it is written again; what is new stands apart, what passes goes.
    path.write_text(json.dumps({**record, "groups": [first]}))
    run = kit.run(spec, *options, "--write-xfail", path)
    assert (
        run.out == f"{path}: {len(ids)} cases, {len(ids) - 2} still without a reason and a link\n"
    )
    kept, *groups = json.loads(path.read_text())["groups"]
    assert kept == first
    assert sorted(id for group in groups for id in group["cases"]) == sorted(ids[2:])
    for group in groups:
        assert group["reason"].startswith("to be explained: encode int8 N15")
        assert group["link"] == ""
    Path(spec).write_text(RIGHT)
    assert kit.run(spec, *options, "--write-xfail", path).status == 0
    assert json.loads(path.read_text())["groups"] == []


def test_write_xfail_groups_by_kind(kit: Kit) -> None:
    body = BUGS["raises on NaN"].body + BUGS["INT8 80 as +2"].body
    spec = kit.target(RIGHT + body)
    folder = kit.vectors("encode/e4m3.f32", "decode/int8.f32", "decode/e2m1.f32")
    path = kit.folder / "known.xfail.json"
    run = kit.run(spec, "--vectors", folder, "--write-xfail", path)
    nans = ["7f800001", "7fc00000", "7fffffff", "ff800001", "ffc00000", "ffffffff"]
    where = f"target.py:{line_of('raises on NaN', 'raise ValueError')}"
    assert json.loads(path.read_text()) == {
        "target": spec,
        "groups": [
            {
                "reason": f"to be explained: encode e4m3 ValueError: no NaN here ({where})",
                "link": "",
                "cases": [f"encode.e4m3.f32.{nan}" for nan in nans],
            },
            {
                "reason": "to be explained: decode int8 N15",
                "link": "",
                "cases": ["decode.int8.f32.80"],
            },
        ],
    }
    assert run.out == f"{path}: 7 cases, 7 still without a reason and a link\n"


def test_write_xfail_keeps_what_was_not_compared(kit: Kit, diverging: Diverging) -> None:
    spec, options, ids = diverging
    path = xfail_file(kit.folder, ids[:3], ids[3:])
    before = json.loads(path.read_text())["groups"]
    run = kit.run(spec, *options, "--op", "decode", "--write-xfail", path)
    assert run.status == 0
    assert json.loads(path.read_text())["groups"] == before


def test_write_xfail_starts_from_the_file_that_is_used(kit: Kit, diverging: Diverging) -> None:
    spec, options, ids = diverging
    path, new = xfail_file(kit.folder, ids), kit.folder / "new.json"
    before = path.read_bytes()
    run = kit.run(spec, *options, "--xfail", path, "--write-xfail", new)
    assert (run.status, run.out) == (
        0,
        f"{new}: {len(ids)} cases, 0 still without a reason and a link\n",
    )
    assert json.loads(new.read_text())["groups"] == json.loads(before)["groups"]
    assert path.read_bytes() == before


def test_write_xfail_of_nothing_compared_is_a_failure(kit: Kit) -> None:
    spec = kit.target(ENCODE + "FORMATS = []\n")
    path = kit.folder / "known.xfail.json"
    options = ["--vectors", kit.vectors("encode/e2m1.f16"), "--write-xfail", path]
    assert kit.run(spec, *options).status == 1
    assert not path.exists()


def test_write_xfail_leaves_nothing_when_it_fails(tmp_path: Path, diverging: Diverging) -> None:
    spec, (_, folder), _ = diverging
    report = verify(load_target(spec), read(folder))
    path = tmp_path / "folder" / "known.xfail.json"
    path.mkdir(parents=True)
    with pytest.raises(XfailError, match="cannot be read"):
        write_xfail(path, path, report)
    with pytest.raises(OSError, match=r"known\.xfail\.json"):
        write_xfail(path, tmp_path / "no_such_file", report)
    assert list(path.parent.rglob("*")) == [path]
