"""The promise of the vectors: what changed since the last release needs a version that says so."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import released
from helpers import VECTORS
from json_tables import cases

from mxref._version import VECTORS_VERSION

FILES = ("encode/e2m1.f16", "quantize/mxfp4_e2m1.f16")
RECORD = json.loads(released.RECORD.read_bytes())


def test_todays_vectors_keep_the_promise() -> None:
    """Of a version without a date, which is not released, nothing is promised yet."""
    found = released.changes(RECORD, VECTORS)
    need = max((need for need, _ in found), key=released.NEEDS.index, default="patch")
    if RECORD["released"] and found:
        assert released.is_enough(RECORD["version"], VECTORS_VERSION, need), found


def test_a_version_from_1_0_0_on_has_a_record() -> None:
    assert VECTORS_VERSION.startswith("0.") or RECORD["released"]


def _lines(change: Callable[[dict[str, Any], list[dict[str, Any]]], object]) -> Any:
    """A change of the lines of the first file."""

    def changed(folder: Path) -> None:
        path = folder / f"{FILES[0]}.jsonl"
        header, *cases = map(json.loads, path.read_text("ascii").splitlines())
        change(header, cases)
        lines = [json.dumps(one, separators=(",", ":")) for one in (header, *cases)]
        path.write_text("\n".join(lines) + "\n", "ascii")

    return changed


def _renamed(header: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    header["columns"][1] = "ocp+rounding=other"


def _answer_of_a_column(header: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    case = next(case for case in cases if "by" in case)
    case["by"] = f"{case['by'][:-1]}{1 - int(case['by'][-1])}"


def _before_the_first(header: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    header["columns"].insert(0, "new")
    for case in cases:
        if "by" in case:
            case["by"] = f"0{case['by']}"


def _with_wider_answers(header: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    header["out_digits"] = 4
    for case in cases:
        out = case["out"]
        case["out"] = [f"00{one}" for one in out] if isinstance(out, list) else f"00{out}"


def _manifest(change: Callable[[dict[str, Any]], object]) -> Any:
    """A change of the manifest."""

    def changed(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))

    return changed


def _without(part: str) -> Any:
    """The manifest without the files that have this in their names."""
    return _manifest(
        lambda manifest: manifest.update(
            files=[one for one in manifest["files"] if part not in one["file"]]
        )
    )


def _text(name: str, old: str, new: str) -> Any:
    """A change of the text of a file, which has the old text."""

    def changed(folder: Path) -> None:
        text = (folder / name).read_text("ascii")
        assert old in text
        (folder / name).write_text(text.replace(old, new), "ascii")

    return changed


def _optional(header: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    assert header["required"] == ["MX-5.3.3"]
    cases[3]["rule"] = "N11"


def _required(header: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    one = next(case["rule"] for case in cases if "rule" in case)
    assert one not in header["required"]
    header["required"].append(one)


def _said_otherwise(header: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    """The clause that a file's cases have stands in their lines; the same are required."""
    for case in cases:
        case.setdefault("rule", header["rule"])
    header["rule"] = "N11"


@pytest.mark.parametrize(
    ("change", "need", "said"),
    [
        (lambda folder: None, "", ""),
        (_lines(lambda _, cases: cases[3].update(out="05")), "major", "another answer"),
        (_lines(_answer_of_a_column), "major", "another answer"),
        (_lines(lambda _, cases: cases.pop(7)), "major", "or is gone"),
        (_lines(lambda _, cases: cases[5].update(name="x")), "major", "or is gone"),
        (_lines(_renamed), "major", "no column ocp+rounding"),
        (_lines(_before_the_first), "major", "first"),
        (_lines(lambda header, cases: header["columns"].append("new")), "minor", "columns"),
        (
            _lines(lambda _, cases: cases.insert(9, {**cases[9], "name": "n", "out": "01"})),
            "minor",
            "1 new cases",
        ),
        (_lines(lambda _, cases: cases[3].update(flags=["zero"])), "", ""),
        (_lines(lambda _, cases: cases.reverse()), "", ""),
        (_lines(_said_otherwise), "", ""),
        (_lines(_optional), "major", "below required"),
        (_lines(_required), "major", "below required"),
        (_lines(lambda header, cases: header.update(out_digits=1)), "major", "lengths"),
        (_lines(_with_wider_answers), "minor", "lengths"),
        (_without(FILES[1]), "major", f"{FILES[1]} is gone"),
        (_without(f"plain/{FILES[0]}"), "major", f"plain/{FILES[0]}.txt is gone"),
        (_without("thresholds"), "major", "thresholds/e2m1.json is gone"),
        (_without("encode.h"), "major", "plain/encode.h is gone"),
        (_without("schema"), "major", "schema.json is gone"),
        (_text("plain/encode.h", "mxref_encode_e3m2", "mxref_e3m2"), "major minor", "e3m2"),
        (_text("thresholds/e2m1.json", "to_odd", "odd"), "major minor", "to_odd + saturate"),
        (_text("thresholds/e2m1.json", "3e800001", "3e800002"), "major", "thresholds/e2m1"),
        (_manifest(lambda manifest: manifest["level2"].pop()), "major", "level2"),
        (_manifest(lambda one: one["level2"][0].update(sha256="0")), "major", "level2"),
        (
            _manifest(lambda one: one["level2"].append({**one["level2"][0], "name": "n"})),
            "minor",
            "level2 has new parts",
        ),
        (
            _manifest(lambda one: one["columns"][f"plain/{FILES[0]}.txt"].insert(0, "n")),
            "major",
            "other columns",
        ),
    ],
)
def test_what_a_change_needs(
    change: Callable[[Path], object], need: str, said: str, tmp_path: Path
) -> None:
    manifest = json.loads((VECTORS / "manifest.json").read_bytes())
    paths = [path for name in FILES for path in (f"{name}.jsonl", f"plain/{name}.txt")]
    paths += ["schema.json", "thresholds/e2m1.json", "plain/encode.h"]
    manifest["files"] = [one for one in manifest["files"] if one["file"] in paths]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(VECTORS / path, tmp_path / path)
    old = released.record(tmp_path, "2026-01-01")
    change(tmp_path)
    found = released.changes(old, tmp_path)
    assert {one for one, _ in found} == {*need.split()}
    assert not need or any(said in text for _, text in found)


def test_a_record_without_parts_says_nothing_of_them() -> None:
    old = {**RECORD, "files": {}, "parts": {}}
    assert {need for need, _ in released.changes(old, VECTORS)} == {"minor"}


def test_new_files_are_a_minor_change() -> None:
    less = {**RECORD, "files": {n: f for n, f in RECORD["files"].items() if n in FILES}}
    found = released.changes(less, VECTORS)
    assert {need for need, text in found if text.endswith("is new")} == {"minor"}


@pytest.mark.parametrize(("old", "new", "need", "enough"), cases(__file__, "versions"))
def test_versions(old: str, new: str, need: str, *, enough: bool) -> None:
    assert released.is_enough(old, new, need) is enough


def test_a_digest_is_of_name_input_and_answers() -> None:
    """By hand, of the first of two cases; the other order of names is the same record."""
    cases = [{"in": "02", "out": ["05", "06"], "by": "01"}, {"name": "a", "in": "01", "out": "04"}]
    found = [*released._digests(cases, ["q"], ["p", "q"])]
    texts = (b"02\n2\n6", b"a\n1\n4")
    assert found == [hashlib.sha256(text).digest()[:2] for text in texts]


def test_the_record_is_small() -> None:
    assert released.RECORD.stat().st_size < 500_000
    cases = sum(len(base64.b64decode(one["cases"])) // 2 for one in RECORD["files"].values())
    assert cases > 100_000
