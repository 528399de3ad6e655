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


def _gone(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["files"] = [one for one in manifest["files"] if FILES[1] not in one["file"]]
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "need", "said"),
    [
        (lambda folder: None, [], ""),
        (_lines(lambda header, cases: cases[3].update(out="05")), ["major"], "another answer"),
        (_lines(_answer_of_a_column), ["major"], "another answer"),
        (_lines(lambda header, cases: cases.pop(7)), ["major"], "or is gone"),
        (_lines(lambda header, cases: cases[5].update(name="x")), ["major"], "or is gone"),
        (_lines(_renamed), ["major"], "no column ocp+rounding"),
        (_lines(_before_the_first), ["major"], "first"),
        (_lines(lambda header, cases: header["columns"].append("new")), ["minor"], "columns"),
        (
            _lines(lambda header, cases: cases.insert(9, {**cases[9], "name": "n", "out": "01"})),
            ["minor"],
            "1 new cases",
        ),
        (_lines(lambda header, cases: cases[3].update(flags=["zero"])), [], ""),
        (_lines(lambda header, cases: cases.reverse()), [], ""),
        (_gone, ["major"], "is gone"),
    ],
)
def test_what_a_change_needs(
    change: Callable[[Path], object], need: list[str], said: str, tmp_path: Path
) -> None:
    manifest = json.loads((VECTORS / "manifest.json").read_bytes())
    manifest["files"] = [
        one for one in manifest["files"] if one["file"] in {f"{name}.jsonl" for name in FILES}
    ]
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for name in FILES:
        (tmp_path / name).parent.mkdir()
        shutil.copy(VECTORS / f"{name}.jsonl", tmp_path / f"{name}.jsonl")
    old = released.record(tmp_path, "2026-01-01")
    change(tmp_path)
    found = released.changes(old, tmp_path)
    assert {one for one, _ in found} == {*need}
    assert not need or any(said in text for _, text in found)


def test_new_files_are_a_minor_change() -> None:
    less = {**RECORD, "files": {n: f for n, f in RECORD["files"].items() if n in FILES}}
    found = released.changes(less, VECTORS)
    assert {need for need, text in found if text.endswith("is new")} == {"minor"}


@pytest.mark.parametrize(
    ("old", "new", "need", "enough"),
    [
        ("1.2.3", "1.2.4", "patch", True),
        ("1.2.3", "1.2.4", "minor", False),
        ("1.2.3", "1.3.0", "minor", True),
        ("1.2.3", "1.3.0", "major", False),
        ("1.2.3", "2.0.0", "major", True),
        ("0.5.0", "0.5.1", "major", False),
        ("0.5.0", "0.6.0", "major", True),
        ("0.5.0", "1.0.0", "major", True),
    ],
)
def test_versions(old: str, new: str, need: str, *, enough: bool) -> None:
    assert released.is_enough(old, new, need) is enough


def test_a_digest_is_of_name_input_and_answers() -> None:
    """By hand, of the first of two cases; the other order of names is the same record."""
    cases = [{"in": "02", "out": ["05", "06"], "by": "01"}, {"name": "a", "in": "01", "out": "04"}]
    found = [*released._digests(cases, ["q"], ["p", "q"])]
    texts = (b"02\n02\n06", b"a\n01\n04")
    assert found == [hashlib.sha256(text).digest()[:2] for text in texts]


def test_the_record_is_small() -> None:
    assert released.RECORD.stat().st_size < 500_000
    cases = sum(len(base64.b64decode(one["cases"])) // 2 for one in RECORD["files"].values())
    assert cases > 100_000
