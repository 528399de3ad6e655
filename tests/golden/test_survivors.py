"""What `regen` builds, for two files: the committed bytes; what stops it."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import pytest
from helpers import VECTORS

from mxref.cases.parse import parse
from mxref.cases.records import VectorFile
from mxref.golden import regen
from mxref.golden.schema import schema_lines

STEMS = ("encode/e2m1.f32", "decode/e2m1.f32")


def committed(path: str) -> bytes:
    return (VECTORS / path).read_bytes()


def built(monkeypatch: pytest.MonkeyPatch, *files: VectorFile) -> dict[str, bytes]:
    monkeypatch.setattr(regen, "file_tasks", lambda: [lambda file=file: file for file in files])
    return regen.build()


def test_the_committed_schema_is_what_is_written() -> None:
    assert committed("schema.json").decode("ascii") == "\n".join(schema_lines()) + "\n"


def test_two_files_are_written_as_they_are_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = built(monkeypatch, *(parse(committed(f"{s}.jsonl").decode(), s) for s in STEMS))
    for stem in STEMS:
        for path in (f"{stem}.jsonl", f"plain/{stem}.txt"):
            assert texts[path] == committed(path)
    header, whole = (
        text.decode().split("\n") for text in (texts["plain/encode.h"], committed("plain/encode.h"))
    )
    cases = [line for line in header if line.startswith("{0x")]
    assert header[:6] == whole[:6]
    assert header[-2:] == whole[-2:] == ["#endif", ""]
    first = whole.index(header[6])  # the array of E2M1
    assert header[6:-2] == whole[first : first + len(cases) + 2]
    some, every = (
        json.loads(data)
        for data in (texts["thresholds/e2m1.json"], committed("thresholds/e2m1.json"))
    )
    tables = some.pop("tables"), every.pop("tables")
    assert some == every
    assert tables[0] == [one for one in tables[1] if one["float"] == "f32"]
    assert 0 < len(tables[0]) < len(tables[1])
    manifest = json.loads(texts["manifest.json"])
    listed = {entry["file"]: entry for entry in manifest["files"]}
    assert set(listed) == set(texts) - {"manifest.json"}
    assert list(texts)[-1] == "manifest.json"
    for path, entry in listed.items():
        assert entry["sha256"] == hashlib.sha256(texts[path]).hexdigest()
    counts = {path: entry["cases"] for path, entry in listed.items() if entry["cases"]}
    assert counts == {
        **{f"{stem}.jsonl": texts[f"{stem}.jsonl"].count(b"\n") - 1 for stem in STEMS},
        **{f"plain/{stem}.txt": texts[f"plain/{stem}.txt"].count(b"\n") for stem in STEMS},
        "plain/encode.h": len(cases),
    }


@pytest.mark.parametrize("side", [0x3E800000, 0x3E800001, 0xBF3FFFFF])
def test_a_missing_side_of_a_threshold_stops_it(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """0.25, on the lower side of a step, the float above it, and the one above -0.75."""
    file = parse(committed("encode/e2m1.f32.jsonl").decode(), "f")
    rest = tuple(case for case in file.cases if case.inputs != (side,))
    assert len(rest) == len(file.cases) - 1
    with pytest.raises(RuntimeError, match=r"^encode/e2m1.f32 lacks 1 sides of thresholds$"):
        built(monkeypatch, dataclasses.replace(file, cases=rest))


def test_a_wrong_answer_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    file = parse(committed("decode/e2m1.f32.jsonl").decode(), "f")
    case = dataclasses.replace(file.cases[3], answers=((0x3FC00001,),), by=())
    cases = (*file.cases[:3], case, *file.cases[4:])
    with pytest.raises(RuntimeError, match=r"^the two references disagree on decode.e2m1.f32.03 "):
        built(monkeypatch, dataclasses.replace(file, cases=cases))
