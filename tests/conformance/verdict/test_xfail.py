"""Known divergences: a file lists them, also those of adapters, and nothing else may fail."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import table
from needs import needs
from planted_bugs import BUGS, line_of
from shares import Share
from verify_helpers import ADAPTERS, ENCODE, RIGHT, Kit, Vectors, assert_sentence, read, target_file

from mxref import golden
from mxref.cases.names import stem_of
from mxref.cases.records import Case
from mxref.conformance import Report, XfailError, load_target, read_xfail, verify, write_xfail
from mxref.conformance.checking.computed import compare_computed
from mxref.conformance.compare.compare import Failure
from mxref.conformance.verdict.failure_kinds import change_of, kind_of, listed_as, narrow_kinds
from mxref.golden import VectorFile
from mxref.golden.made_files import made_files
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

Diverging = tuple[str, list[str], list[str]]

LINK = "https://example.org/1"


@pytest.fixture
def diverging(tmp_path: Path, vectors: Vectors) -> Diverging:
    """A target with known divergences, how its vectors are asked, and the ids that it fails."""
    spec = target_file(tmp_path, RIGHT + BUGS["INT8 uses -128"].body)
    folder = vectors("encode/int8.f32", "decode/int8.f32")
    report = verify(load_target(spec), golden.read_vectors(Path(folder)))
    ids = [failure.case.id for _, failure in report.failures]
    assert len(ids) > 3
    return spec, ["--vectors", folder, "--no-search", "--sizes", "0"], ids


def xfail_file(folder: Path, *groups: Iterable[str], **changed: object) -> Path:
    path = folder / "known.xfail.json"
    records = [
        {"reason": f"reason {i}", "link": LINK, "cases": list(ids), **changed}
        for i, ids in enumerate(groups)
    ]
    path.write_text(json.dumps({"target": "mine", "groups": records}))
    return path


@pytest.mark.parametrize("listed", ["all", "all but one", "one that passes as well"])
def test_listed_failures_and_no_others_may_fail(
    kit: Kit, diverging: Diverging, listed: str
) -> None:
    spec, options, ids = diverging
    count, passes = len(ids), "encode.int8.f32.3f800000"
    match listed:
        case "all":
            groups = ids[:2], ids[2:]
            numbers, told = f"0 failed, {count} known to fail", f"known: 2 x reason 0 ({LINK})\n"
        case "all but one":
            groups = ids[1:], []
            numbers, told = f"1 failed, {count - 1} known to fail", f"  {ids[0]}: "
        case _:
            groups = ids, [passes]
            numbers = f"0 failed, {count} known to fail, 1 wrongly listed as known"
            told = f"{passes}: is listed as a known divergence but passes\n"
    path = xfail_file(kit.folder, *groups)
    run = kit.run(spec, *options, "--xfail", path)
    assert run.status == (listed != "all")
    assert told in run.out
    assert f" cases, {numbers}: " in run.last_line
    report = kit.run(spec, *options, "--xfail", path, "--json").json
    assert report["passed"] == (listed == "all")
    assert report["stale"] == [passes] * (passes in groups[1])
    known = {row["op"]: row["known"] for row in report["rows"]}
    assert known == {"encode": count - (listed == "all but one"), "decode": 0}
    if listed == "all":
        assert re.search(rf"^known +encode +int8 +ocp +\d+ +0 +{count}$", run.out, re.MULTILINE)
        assert {f["known"] for f in report["failures"]} == {f"reason {i} ({LINK})" for i in (0, 1)}
    Path(spec).write_text(RIGHT)  # mended
    assert kit.run(spec, *options, "--xfail", path).status == 1


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


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("encode.e2m1.f32.00000000", "there is no case 'encode.e2m1.f32.00000000'"),
        ("encode.int8.f32.nonsense", "there is no case 'encode.int8.f32.nonsense'"),
        ("", "there is no case ''"),
        ("encode e9m9 MX-5.3.3 tie", "there are no vectors of 'encode e9m9 MX-5.3.3 tie'"),
    ],
)
def test_what_does_not_exist_is_refused(kit: Kit, diverging: Diverging, id: str, said: str) -> None:
    spec, options, ids = diverging
    path = xfail_file(kit.folder, ids)
    record = json.loads(path.read_text())
    record["groups"][0]["kinds" if " " in id else "cases"] = [id]
    path.write_text(json.dumps(record))
    for filters in ([], ["--op", "decode"]):
        run = kit.run(spec, *options, *filters, "--xfail", path)
        assert (run.status, run.out, run.err) == (2, "", f"mxref: error: {path}: {said}\n")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "filters", [["--op", "decode"], ["--format", "e2m1"], ["--float", "f64"], ["--op", "encode"]]
)
def test_known_divergences_outside_the_filter_do_not_count(
    kit: Kit, diverging: Diverging, filters: list[str]
) -> None:
    spec, (_, _, *only), ids = diverging
    folder = kit.vectors(
        "encode/int8.f32", "decode/int8.f32", "decode/e2m1.f32", "shared_scale/int8.f64"
    )
    options = ["--vectors", folder, *only, *filters, "--xfail", xfail_file(kit.folder, ids)]
    run = kit.run(spec, *options)
    assert run.status == 0
    inside = filters == ["--op", "encode"]
    assert (f", {len(ids)} known to fail" in run.last_line) == inside
    assert ("known to fail" in run.last_line) == inside
    assert ("known: " in run.out) == inside


@pytest.mark.parametrize(
    "row", json.loads((Path(__file__).parent / "data" / "refused_xfails.json").read_text())
)
def test_what_is_no_xfail_file_is_refused(tmp_path: Path, row: dict[str, str]) -> None:
    path = tmp_path / "known.xfail.json"
    path.write_text(row["text"], "latin-1")
    with pytest.raises(XfailError, match=re.escape(row["reason"])) as caught:
        read_xfail(path)
    assert str(path) in str(caught.value)
    assert_sentence(str(caught.value))
    assert "Error" not in str(caught.value)  # a word of Python's


@pytest.mark.sampled(6)
def test_write_xfail_and_back(kit: Kit, diverging: Diverging) -> None:
    spec, options, ids = diverging
    path = kit.folder / "known.xfail.json"
    plain = kit.run(spec, *options)
    run = kit.run(spec, *options, "--write-xfail", path)
    # The list changes neither the verdict nor the report.
    assert (run.status, run.out) == (1, plain.out)
    many = len(json.loads(path.read_text())["groups"])
    groups = f"{many} group{'s' * (many != 1)}"
    rest = f"{groups} still without a reason and a link\n"
    assert run.err == f"{path}: {groups} of {len(ids)} cases, {rest}"
    assert kit.run(spec, *options, "--write-xfail", path).err == run.err
    # What nobody has explained is not accepted.
    run = kit.run(spec, *options, "--xfail", path)
    assert (run.status, run.out) == (2, "")
    assert "a reason that you have written, got 'to be explained: encode int8 N15" in run.err
    record = json.loads(path.read_text())
    assert record["target"] == spec
    first = {"reason": "uses -2", "link": LINK, "cases": ids[:2]}
    second = {"reason": "also", "link": "", "cases": ids[2:]}
    # A reason without a link is not counted as one.
    path.write_text(json.dumps({**record, "groups": [first, second]}))
    run = kit.run(spec, *options, "--write-xfail", path)
    assert run.err.endswith(" cases, 1 group still without a reason and a link\n")
    # Reasons stay when it is written again; what is new stands apart, what passes goes.
    path.write_text(json.dumps({**record, "groups": [first]}))
    kit.run(spec, *options, "--write-xfail", path)
    kept, *groups = json.loads(path.read_text())["groups"]
    assert kept == first
    assert sorted(id for group in groups for id in group["cases"]) == sorted(ids[2:])
    Path(spec).write_text(RIGHT)
    assert kit.run(spec, *options, "--write-xfail", path).status == 0
    assert json.loads(path.read_text())["groups"] == []


@pytest.mark.sampled(6)
def test_write_xfail_groups_by_kind(kit: Kit) -> None:
    body = BUGS["raises on NaN"].body + BUGS["INT8 80 as +2"].body
    spec = kit.target(RIGHT + body)
    folder = kit.vectors("encode/e4m3.f32", "decode/int8.f32", "decode/e2m1.f32")
    path = kit.folder / "known.xfail.json"
    run = kit.run(spec, "--vectors", folder, "--no-search", "--write-xfail", path)
    nans = ["7f800001", "7fc00000", "7fffffff", "ff800001", "ffc00000", "ffffffff"]
    where = f"target.py:{line_of('raises on NaN', 'raise ValueError')}"
    raises = f"to be explained: encode e4m3 ValueError: no NaN here ({where})"
    groups = json.loads(path.read_text())["groups"]
    assert {(one["reason"], one["link"], *one["cases"]) for one in groups} == {
        ("to be explained: decode int8 N15", "", "decode.int8.f32.80"),
        (raises, "", *(f"encode.e4m3.f32.{nan}" for nan in nans)),
    }
    assert run.err == f"{path}: 2 groups of 7 cases, 2 groups still without a reason and a link\n"


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
    said = f"1 group of {len(ids)} cases, 0 groups still without a reason and a link"
    assert (run.status, run.err) == (0, f"{new}: {said}\n")
    assert json.loads(new.read_text())["groups"] == json.loads(before)["groups"]
    assert path.read_bytes() == before


def test_write_xfail_of_nothing_compared_is_a_failure(kit: Kit) -> None:
    spec = kit.target(ENCODE + "FORMATS = []\n")
    path = kit.folder / "known.xfail.json"
    options = ["--vectors", kit.vectors("encode/e2m1.f16"), "--write-xfail", path]
    assert kit.run(spec, *options).status == 1
    assert not path.exists()


def test_write_xfail_leaves_nothing_when_it_fails(tmp_path: Path, diverging: Diverging) -> None:
    spec, (_, folder, *_), _ = diverging
    report = verify(load_target(spec), read(folder))
    path = tmp_path / "folder" / "known.xfail.json"
    path.mkdir(parents=True)
    with pytest.raises(XfailError, match="cannot be read"):
        write_xfail(path, path, report)
    with pytest.raises(OSError, match=r"known\.xfail\.json"):
        write_xfail(path, tmp_path / "no_such_file", report)
    assert list(path.parent.rglob("*")) == [path]


def test_write_xfail_into_a_folder_that_does_not_exist(
    kit: Kit, diverging: Diverging, tmp_path: Path
) -> None:
    spec, (*options,), _ = diverging
    path = tmp_path / "no_such_folder" / "known.xfail.json"
    run = kit.run(spec, *options, "--write-xfail", path)
    text = f"{path} must be in a folder that exists, and {path.parent} does not"
    assert (run.status, run.out, run.err) == (2, "", f"mxref: error: {text}\n")
    assert not path.parent.exists()


@pytest.mark.parametrize("link", ["#1234", "docs/wiki.md", "the vendor's erratum 7"])
def test_any_reference_is_a_link(tmp_path: Path, link: str) -> None:
    path = xfail_file(tmp_path, ["a"], link=link)
    assert read_xfail(path) == {"a": f"reason 0 ({link})"}


# --- kinds: what is in no vector file -------------------------------------------------------------

DIVERGING = table("kernels")["nan_and_calls"]


def explained(path: Path) -> list[dict[str, Any]]:
    """Give every group a reason and a link; the groups."""
    record = json.loads(path.read_text())
    for group in record["groups"]:
        assert group["reason"].startswith("to be explained: ")
        group |= {"reason": "by design", "link": "T-1"}
    path.write_text(json.dumps(record))
    groups: list[dict[str, Any]] = record["groups"]
    return groups


@pytest.mark.sampled(6)
def test_what_is_written_passes_with_the_search_and_the_calls(kit: Kit) -> None:
    spec = kit.target(RIGHT + DIVERGING)
    options = ["--vectors", kit.vectors("encode/e2m1.f32", "decode/e2m1.f32"), "--sizes", "4000"]
    path = kit.folder / "known.xfail.json"
    run = kit.run(spec, *options, "--write-xfail", path, extent=())
    assert run.status == 1
    groups = explained(path)
    kinds = [kind for group in groups for kind in group.get("kinds", [])]
    nan = "encode e2m1 N14 nan by -7 for 07"
    assert {nan, "decode e2m1 size"} <= set(kinds)
    run = kit.run(spec, *options, "--xfail", path, extent=())
    assert run.status == 0
    assert "known: decode e2m1: " in run.out
    assert ", 0 failed, " in run.last_line
    # Other seeds have other questions of the same kinds; what is not asked for is not stale.
    assert kit.run(spec, *options, "--xfail", path, "--seed", "7", extent=()).status == 0
    assert kit.run(spec, *options, "--xfail", path, "--no-search", extent=()).status == 0
    assert kit.run(spec, *options, "--xfail", path, "--op", "decode", extent=()).status == 0
    # Each of the kinds is needed.
    for left_out in (nan, "decode e2m1 size"):
        changed = [
            {**group, "kinds": [kind for kind in group.get("kinds", []) if kind != left_out]}
            for group in groups
        ]
        path.write_text(json.dumps({"groups": changed}))
        assert kit.run(spec, *options, "--xfail", path, extent=()).status == 1


def test_a_kind_that_nothing_fails_under_fails(kit: Kit) -> None:
    spec = kit.target(ENCODE)
    options = ["--vectors", kit.vectors("encode/e2m1.f32")]
    path = xfail_file(kit.folder, [], kinds=["encode e2m1 MX-5.3.3 tie", "encode e2m1 size"])
    run = kit.run(spec, *options, "--xfail", path, extent=())
    assert run.status == 1
    for kind in ("encode e2m1 MX-5.3.3 tie", "encode e2m1 size"):
        assert f"{kind}: is listed as a known divergence but nothing fails under it\n" in run.out
    assert ", 2 wrongly listed as known: " in run.last_line
    assert kit.run(spec, *options, "--xfail", path).status == 0  # where neither is asked


def test_known_kinds_do_not_hide_others(tmp_path: Path, vectors: Vectors) -> None:
    """Of 500 wrong answers 499 are of a known kind, and the last one is of another."""
    wrong = "import mxref\n\ndef encode(v, format):\n    return mxref.encode(v, format) ^ 1\n"
    target = load_target(target_file(tmp_path, wrong))
    (file,) = read(vectors("encode/e2m1.f32"))
    words = np.arange(0x7FC00000, 0x7FC00000 + 500, dtype=np.uint64)[:, np.newaxis]
    words[-1] = 0x40A00000  # 5, midway between 4 and 6
    nan = "encode e2m1 N14 nan"
    for known in ({nan}, set[str]()):
        found = compare_computed(target, file, [words], Policy(), None, known, name="search")
        assert found.wrong == 500
        assert found.outcome is not None
        kinds = [kind_of(file, failure) for failure in found.outcome.failures]
        assert kinds.count("encode e2m1 MX-5.3.3 tie") == 1
        assert kinds.count(nan) == len(kinds) - 1 < 499


def test_a_kind_covers_more_flags_and_the_narrowest_one_gives_the_reason() -> None:
    file = without_cases("encode", "e4m3", "f64")
    case = Case("x", (0,), ((0,),), (), True, "N36", "", ("near_tie", "subnormal"))
    failure = Failure(0, case, (0,), (1,))
    kinds = [f"encode e4m3 {why}" for why in ("N36", "N36 subnormal", "N36 subnormal nan", "N35")]
    assert listed_as(file, failure, set(kinds)) == kinds[1]
    assert listed_as(file, failure, set(kinds) - {kinds[1]}) == kinds[0]
    assert listed_as(file, failure, set(kinds[2:])) is None
    # A case of the vectors is listed by its id alone.
    ours = dataclasses.replace(failure, case=dataclasses.replace(case, model="M1"))
    assert listed_as(file, ours, set(kinds)) is None
    assert listed_as(file, ours, {"x"}) == "x"
    # Errors have one kind.
    error = dataclasses.replace(failure, got=None, error="ValueError: no")
    assert listed_as(file, error, {*kinds, "encode e4m3 ValueError:"}) is None
    assert listed_as(file, error, {"encode e4m3 ValueError: no"}) is not None


#: Wrong codes of E2M1: a midpoint that is too low, and with it another mistake.
_LOW = "codes = mxref.encode(np.where((abs(x) > 2.4) & (abs(x) <= 2.5), np.copysign(3, x), x), f)"
_OTHERS = {
    "elsewhere": "codes[(abs(x) > 3.1) & (abs(x) < 3.3)] = 0",
    "elsewhere, by as much": "codes[(abs(x) > 3.1) & (abs(x) < 3.3)] = 6",
    "as there, by more": "codes[(abs(x) > 2.3) & (abs(x) < 2.35)] = 7",
}


def test_a_kind_written_covers_no_other_mistake(tmp_path: Path, vectors: Vectors) -> None:
    """Not in other numbers, nor further from the right codes in the same numbers."""
    (file,) = read(vectors("encode/e2m1.f32"))

    def failures(other: str, first: float, known: Iterable[str] = ()) -> list[Failure]:
        lines = (_LOW, other or "pass", "return codes")
        body = "".join(f"    {line}\n" for line in lines)
        target = load_target(target_file(tmp_path, f"{RIGHT}\ndef encode(x, f):\n{body}"))
        values = np.arange(first, 6, 0.001, np.float32)
        words = np.append(values, -values).view(np.uint32).astype(np.uint64)[:, np.newaxis]
        found = compare_computed(target, file, [words], Policy(), None, [*known], name="search")
        return list(found.outcome.failures) if found.outcome else []

    kinds = narrow_kinds((file, one) for one in failures("", 2))
    assert {kind.partition(" by ")[2] for kind in kinds} == {"+1 for 04"}
    left = [one for one in failures("", 2.0005) if listed_as(file, one, kinds) is None]
    assert left == []  # nor any of other questions
    wide = {kind.partition(" by ")[0] for kind in kinds}
    for other in _OTHERS.values():
        found = failures(other, 2, kinds)
        assert not all(listed_as(file, one, kinds) for one in found)
        assert all(listed_as(file, one, wide) for one in found)  # it names no change: any is known


def test_what_is_kept_is_as_wide_as_what_was_found(tmp_path: Path, vectors: Vectors) -> None:
    """What is listed from 200 of many wrong answers covers all of them."""
    body = "import mxref\n\ndef encode(v, f):\n    return mxref.encode(v, f) * 0\n"
    target = load_target(target_file(tmp_path, body))
    (file,) = read(vectors("encode/e4m3.f32"))
    words = (np.arange(0x3A000000, 0x43000000, 0x8001, dtype=np.uint64))[:, np.newaxis]
    known: list[str] = []
    for _ in range(2):
        found = compare_computed(target, file, [words], Policy(), None, known, name="search")
        assert found.outcome is not None
        pairs = [(file, failure) for failure in found.outcome.failures]
        left = [pair for pair in pairs if listed_as(*pair, known) is None]
        assert bool(left) == (not known)
        known = narrow_kinds(pairs)
    assert found.wrong > 1000


def test_changes_of_blocks() -> None:
    """The scale alone where it is wrong, else the elements that are."""
    file = without_cases("quantize", "mxfp4_e2m1", "f32")
    case = Case("x", (0,) * 32, ((0x7F,) + (0x0B,) * 32,), (), True, "MX-6.3", "")
    want, got = case.answers[0], [0x7F] + [0x0B] * 32
    got[3], got[9] = 0x0C, 0x00  # one further from zero; to a zero of the other sign
    failure = Failure(0, case, want, tuple(got))
    assert str(change_of(file, failure)) == "by -3..+1 for 03"
    scaled = dataclasses.replace(failure, got=(0x80, *got[1:]))
    assert str(change_of(file, scaled)) == "scale by +1 for 7f"
    assert narrow_kinds([(file, failure), (file, scaled)]) == [
        "quantize mxfp4_e2m1 MX-6.3 by -3..+1 for 03",
        "quantize mxfp4_e2m1 MX-6.3 scale by +1 for 7f",
    ]
    assert change_of(file, dataclasses.replace(failure, got=(0x7F,))) is None


# --- listed adapters ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["ml_dtypes", "gfloat"])
def adapter(
    request: pytest.FixtureRequest, everything: list[VectorFile], share: Share
) -> tuple[str, Report]:
    """A real implementation, compared once with the vectors, with its known divergences.

    gfloat is slow: without --complete it is asked one case in seven, and its divergences.
    """
    name: str = request.param
    needs(name)
    target = load_target(str(ADAPTERS / f"{name}_adapter.py"))
    known = read_xfail(ADAPTERS / f"{name}.xfail.json")
    ids = (key for key in known if " " not in key)
    listed = set(map(stem_of, ids)) - {file.stem for file in everything}  # made when asked for
    everything = [*everything, *(made_files()[stem]() for stem in sorted(listed))]
    if name == "gfloat":
        everything = [
            dataclasses.replace(
                file,
                cases=tuple(
                    case
                    for index, case in enumerate(file.cases)
                    if case.id in known or share.takes(index, 7)
                ),
            )
            for file in everything
        ]
    return name, verify(target, everything, target.policy, known)


@pytest.mark.sampled(12)
@pytest.mark.complete
def test_an_adapter_passes_with_its_known_divergences(adapter: tuple[str, Report]) -> None:
    _, report = adapter
    assert report.passed
    assert report.unlisted == []
    assert report.stale == []
    ids = [key for key in report.known if " " not in key]  # kinds are for what is computed
    assert len(report.failures) == len(ids) > 0


@pytest.mark.sampled(12)
def test_an_adapter_fails_without_any_of_them(adapter: tuple[str, Report]) -> None:
    name, report = adapter
    assert not dataclasses.replace(report, known={}).passed
    groups = json.loads((ADAPTERS / f"{name}.xfail.json").read_text())["groups"]
    assert len(groups) > 1
    for dropped in groups:
        known = {id: why for id, why in report.known.items() if id not in set(dropped["cases"])}
        without = dataclasses.replace(report, known=known)
        assert not without.passed
        assert {f.case.id for _, f in without.unlisted} == set(dropped["cases"])


@pytest.mark.parametrize(
    ("stem", "call"),
    [
        ("encode/e2m1.f16", "def encode(v, f): return np.ma.array(mxref.encode(v, f), mask=True)"),
        ("decode/e2m1.f32", "def decode(c, f): return np.ma.array(mxref.decode(c, f), mask=True)"),
    ],
)
def test_masked_answers_do_not_pass(kit: Kit, stem: str, call: str) -> None:
    run = kit.run(kit.target(RIGHT + call + "\n"), "--vectors", kit.vectors(stem))
    assert run.status == 1
    assert "the result must not be masked" in run.out
