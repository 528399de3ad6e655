"""Damaged vector files and manifests are refused, with file, line and reason in one sentence."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import VECTORS, copy_vectors, records, words

import mxref
from mxref import golden
from mxref.cli import main

DAMAGED = "encode/e2m1.f16.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small vector folder: some committed files and a manifest of them."""
    return copy_vectors(
        tmp_path / "vectors",
        DAMAGED,
        "decode/e2m1.f32.jsonl",
        "quantize/mxfp4_e2m1.f32.jsonl",
        "plain/decode/e2m1.f32.txt",
    )


def flip_digit(data: bytes, line: int, key: bytes = b"in") -> bytes:
    """Another hex digit at the end of the input or output of a line (counted from 1)."""
    lines = data.split(b"\n")
    found = re.match(rb'(.*"' + key + rb'":"[0-9a-f ]*)([0-9a-f])(".*)', lines[line - 1])
    assert found is not None
    digit = b"1" if found[2] == b"0" else b"0"
    lines[line - 1] = found[1] + digit + found[3]
    return b"\n".join(lines)


def reseal(folder: Path) -> None:
    """Bring the manifest's digests and counts up to date with the files."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for entry in manifest["files"]:
        data = (folder / entry["file"]).read_bytes()
        entry["sha256"] = hashlib.sha256(data).hexdigest()
        if entry["file"].endswith(".jsonl"):
            entry["cases"] = data.count(b"\n") - 1
    (folder / "manifest.json").write_text(json.dumps(manifest))


def refusal(folder: Path) -> str:
    with pytest.raises(golden.VectorError) as caught:
        golden.read_vectors(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert not re.search(r"[.?!] +[A-Z]", message)
    # The command line says the same, and that is all it says.
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main(["score", "--vectors", str(folder)]) == 2
    assert (out.getvalue(), err.getvalue()) == ("", f"mxref: error: {message}\n")
    return message


def test_the_undamaged_folder_is_read(folder: Path) -> None:
    files = golden.read_vectors(folder)
    assert sorted(file.stem for file in files) == [
        "decode/e2m1.f32",
        "encode/e2m1.f16",
        "quantize/mxfp4_e2m1.f32",
    ]
    for file in files:
        header, cases = records(file.stem)
        assert file.columns == tuple(header["columns"])
        assert (file.op, file.format, file.float) == (
            header["op"],
            header["format"],
            header["float"],
        )
        assert file.plain == header["plain"]
        for case, record in zip(file.cases, cases, strict=True):
            assert (case.id, case.rule, case.model) == tuple(
                record[key] for key in ("id", "rule", "model")
            )
            assert list(case.inputs) == words(record["in"])
            outputs = [list(case.output(index)) for index in range(len(file.columns))]
            assert outputs == list(map(words, record["outs"]))
            assert case.required == (record["rule"] in header["required"])
            assert list(case.flags) == record.get("flags", [])


def test_the_garbage_collector_is_left_as_it_was(folder: Path) -> None:
    (folder / DAMAGED).write_bytes(b"")
    try:
        for switch in (gc.disable, gc.enable):
            switch()
            was = gc.isenabled()
            golden.read_vectors(folder, lambda stem: stem == "decode/e2m1.f32")
            assert gc.isenabled() == was
            with pytest.raises(golden.VectorError):
                golden.read_vectors(folder)
            assert gc.isenabled() == was
    finally:
        gc.enable()


Edit = Callable[[list[bytes]], None]


def replace(line: int, old: bytes, new: bytes) -> Edit:
    def edit(lines: list[bytes]) -> None:
        assert old in lines[line - 1], lines[line - 1]
        lines[line - 1] = lines[line - 1].replace(old, new, 1)

    return edit


def change_key(line: int, key: str, value: object) -> Edit:
    """Set a key to a value, or take it away where the value is `...`."""

    def edit(lines: list[bytes]) -> None:
        record = json.loads(lines[line - 1])
        assert value is ... or record.get(key) != value
        record[key] = value
        if value is ...:
            del record[key]
        lines[line - 1] = json.dumps(record, separators=(",", ":")).encode()

    return edit


def change_column(value: object) -> Edit:
    """Another first column."""

    def edit(lines: list[bytes]) -> None:
        columns = json.loads(lines[0])["columns"]
        change_key(1, "columns", [value, *columns[1:]])(lines)

    return edit


def upper_case(lines: list[bytes]) -> None:
    number = next(i for i, line in enumerate(lines) if b'"in":"3c00"' in line)  # 1.0
    lines[number] = lines[number].replace(b'"in":"3c00"', b'"in":"3C00"')
    lines[1:] = [lines[number], *lines[1:number], *lines[number + 1 :]]


#: name -> what is done to the lines of the file, the line that is named, the reason that is given
LINE_DAMAGE: dict[str, tuple[Edit, int, str]] = {
    "upper-case hex": (upper_case, 2, "lower-case hex digits, got '3C00'"),
    "too few digits": (change_key(5, "in", "003"), 5, "4 lower-case hex digits, got '003'"),
    "too many digits": (change_key(5, "in", "00003"), 5, "got '00003'"),
    "too many digits out": (change_key(2, "out", "006"), 2, "2 lower-case hex digits, got '006'"),
    "no hex": (change_key(5, "in", "00g3"), 5, "got '00g3'"),
    "signed hex": (change_key(5, "in", "+003"), 5, "got '\\+003'"),
    "underscored hex": (change_key(5, "in", "0_03"), 5, "got '0_03'"),
    "two spaces": (change_key(2, "out", "00  00"), 2, "got ''"),
    "words without a name": (change_key(5, "in", "0003 0003"), 5, "must have a name"),
    "a name with a dot": (change_key(5, "name", "00.00"), 5, "must have a name that is a word"),
    "a number as input": (change_key(5, "in", 3), 5, "has 3 as 'in'"),
    "a number as output": (change_key(5, "out", ["00", 3]), 5, "out must hold strings"),
    "a line lost": (lambda lines: lines.pop(9), 1, r"says \d+ cases, the file has \d+"),
    "a line twice": (lambda lines: lines.insert(9, lines[8]), 10, "name .* must be new"),
    "two headers": (lambda lines: lines.insert(1, lines[0]), 2, "lacks 'in'"),
    "header not first": (
        lambda lines: lines.__setitem__(slice(0, 2), lines[1::-1]),
        1,
        "lacks 'mxref_vectors'",
    ),
    "a blank line at the end": (lambda lines: lines.append(b""), 344, "not a JSON object"),
    "a null byte": (replace(5, b'"out"', b'"o\0ut"'), 5, "not a JSON object"),
    "header only": (lambda lines: lines.__delitem__(slice(1, -1)), 1, "the file has 0"),
    "no header": (lambda lines: lines.pop(0), 1, "lacks 'mxref_vectors'"),
    "duplicate input": (change_key(5, "in", "0000"), 5, "name '0000' must be new"),
    "a name beside one word": (change_key(5, "name", "0003"), 5, "must have no name"),
    "name of another case": (change_key(5, "name", "0000"), 5, "must have no name"),
    "name no string": (change_key(5, "name", 3), 5, "has 3 as 'name'"),
    "an id": (change_key(5, "id", "encode.e2m1.f16.0200"), 5, "unknown key 'id'"),
    "extra key": (change_key(5, "note", "x"), 5, "unknown key 'note'"),
    "no input": (change_key(5, "in", ...), 5, "lacks 'in'"),
    "no output": (change_key(5, "out", ...), 5, "lacks 'out'"),
    "no model": (change_key(5, "model", ...), 5, "lacks 'model'"),
    "a key twice": (replace(5, b'{"in"', b'{"model":"M1","in"'), 5, "a key stands twice"),
    "no by": (change_key(5, "by", ...), 5, "by must name an answer of out for each of 14 columns"),
    "by too short": (change_key(5, "by", "0000101000000"), 5, "by must name an answer"),
    "by too long": (change_key(5, "by", "000010100000000"), 5, "by must name an answer"),
    "by beyond out": (change_key(5, "by", "00001010000002"), 5, "got '00001010000002' for 2 "),
    "by not in order": (change_key(5, "by", "11110101111111"), 5, "every answer in order"),
    "by no digits": (change_key(5, "by", "0000-010000000"), 5, "by must name an answer"),
    "by in capitals": (change_key(5, "by", "0000A010000000"), 5, "by must name an answer"),
    "by beyond ASCII": (change_key(5, "by", "0000\u0661010000000"), 5, "by must name an answer"),
    "by no string": (change_key(5, "by", 101000000), 5, "has 101000000 as 'by'"),
    "by for one answer": (change_key(2, "by", "0" * 14), 2, "by must be absent"),
    "one answer as a list": (change_key(2, "out", ["00"]), 2, "by must name an answer"),
    "all the same answer": (change_key(5, "by", "0" * 14), 5, "by must name an answer"),
    "an answer without a column": (
        change_key(5, "out", ["00", "01", "02"]),
        5,
        "by must name .* for 3 answers",
    ),
    "an answer twice": (change_key(5, "out", ["00", "00"]), 5, "out must hold different answers"),
    "no answers": (change_key(5, "out", []), 5, "by must name .* for 0 answers"),
    "keys in another order": (
        replace(2, b'{"in":"0000","out":"00",', b'{"out":"00","in":"0000",'),
        2,
        "not in canonical form",
    ),
    "a blank more": (replace(5, b'","', b'", "'), 5, "not in canonical form"),
    "an empty line": (lambda lines: lines.insert(4, b""), 5, "not a JSON object"),
    "no object": (lambda lines: lines.__setitem__(4, b"[]"), 5, "must be a JSON object"),
    "cut-off JSON": (lambda lines: lines.__setitem__(4, lines[4][:40]), 5, "not a JSON object"),
    "unknown flag": (change_key(5, "flags", ["tied"]), 5, "'tied' is no known flag"),
    "unknown model": (change_key(5, "model", "M99"), 5, "'M99' is no known flag, model or rule"),
    "unknown rule": (change_key(5, "rule", "FOO"), 5, "'FOO' is no known flag, model or rule"),
    "a flag no string": (change_key(5, "flags", [["tie"]]), 5, "is no known flag"),
    "rules not explained": (change_key(1, "rules", ...), 1, "lacks 'rules'"),
    "another rule explained": (
        replace(1, b'"rules":{', b'"rules":{"N4":"NaN in a block",'),
        1,
        "not in canonical form",
    ),
    "another explanation of a rule": (
        replace(1, b"clamping", b"clipping"),
        1,
        "not in canonical form",
    ),
    "nested without end": (
        lambda lines: lines.__setitem__(4, b"[" * 100_000),
        5,
        "not a JSON object",
    ),
    "two words in": (
        replace(5, b'"in":"0200"', b'"name":"x","in":"0200 0200"'),
        5,
        "must have 1 words in and 1 out",
    ),
    "two words out": (change_key(2, "out", "00 00"), 2, "must have 1 words in and 1 out"),
    "no code of the format": (change_key(2, "out", "10"), 2, "no code of e2m1"),
    "no code among answers": (change_key(5, "out", ["00", "10"]), 5, "no code of e2m1"),
    "empty flags": (change_key(2, "flags", []), 2, "not in canonical form"),
    "a rule that is the header's": (change_key(5, "rule", "MX-5.3.3"), 5, "not in canonical form"),
    "the header's rule is another": (change_key(1, "rule", "N25"), 1, "not in canonical form"),
    "more is required": (change_key(1, "required", ["MX-5.3.3", "N4"]), 1, "not in canonical form"),
    "required no list": (change_key(1, "required", "N14"), 1, "has 'N14' as 'required'"),
    "no plain column": (change_key(1, "plain", 0), 1, "plain must count columns, got 0"),
    "too many plain columns": (change_key(1, "plain", 15), 1, "plain must count .*, got 15"),
    "a column lost": (
        lambda lines: replace(1, b',"ocp+rounding=to_odd"', b"")(lines),
        3,
        "each of 13 columns",
    ),
    "a column twice": (
        replace(1, b'"ocp+rounding=to_odd"', b'"ocp+zero_sign=dropped"'),
        1,
        "columns must be different policies",
    ),
    "no columns": (change_key(1, "columns", []), 1, "columns must be .*, at least one"),
    "unknown format": (change_key(1, "format", "e2m2"), 1, "must be known ones, got 'e2m2'"),
    "unknown float": (change_key(1, "float", "f8"), 1, "must be known ones, .* and 'f8'"),
    "format no string": (change_key(1, "format", 3), 1, "has 3 as 'format'"),
    "wrong count": (change_key(1, "cases", 3), 1, r"says 3 cases, the file has \d+"),
    "count no number": (change_key(1, "cases", True), 1, "has True as 'cases'"),
    "unknown column": (change_column("ocq"), 1, "'ocq' is no policy"),
    "unknown choice": (change_column("ocp+rounding=up"), 1, "'ocp\\+rounding=up' is no policy"),
    "column not in its one spelling": (
        change_column("ocp+rounding=ties_to_even"),
        1,
        "must be spelled 'ocp'",
    ),
    "column no string": (change_column(3), 1, "column 3 is no policy"),
    "unknown operation": (
        lambda lines: lines.__setitem__(
            slice(None), [line.replace(b"encode", b"encrypt") for line in lines]
        ),
        1,
        "op must be one of",
    ),
    "another version": (change_key(1, "mxref_vectors", "99.0.0"), 1, "version .*got '99.0.0'"),
    "another standard": (change_key(1, "spec", "OCP MX v2.0"), 1, "got .* of 'OCP MX v2.0'"),
    "wrong digits": (change_key(1, "in_digits", 8), 2, "8 lower-case hex digits, got '0000'"),
    "no digits": (change_key(1, "in_digits", 0), 2, "hex digits, got '0000'"),
    "another explanation": (replace(1, b"both signs", b"both sign"), 1, "not in canonical form"),
    "header cut off": (lambda lines: lines.__setitem__(0, lines[0][:50]), 1, "not a JSON object"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("sealed", [False, True], ids=["old manifest", "new manifest"])
@pytest.mark.parametrize("damage", LINE_DAMAGE)
def test_a_damaged_file_is_refused(folder: Path, damage: str, *, sealed: bool) -> None:
    edit, line, reason = LINE_DAMAGE[damage]
    path = folder / DAMAGED
    lines = path.read_bytes().split(b"\n")
    edit(lines)
    damaged = b"\n".join(lines)
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    if sealed:
        reseal(folder)
    message = refusal(folder)
    assert message.startswith(f"{path}:{line}: ")
    assert re.search(reason, message)


@pytest.mark.parametrize("sealed", [False, True], ids=["old manifest", "new manifest"])
def test_line_ends_are_named(folder: Path, *, sealed: bool) -> None:
    path = folder / DAMAGED
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    if sealed:
        reseal(folder)
    message = refusal(folder)
    assert message.startswith(f"{path}: has CR line ends")


@pytest.mark.parametrize(
    ("file", "flip", "reason"),
    [
        (DAMAGED, lambda data: flip_digit(data, 7), "does not have the sha256"),
        (DAMAGED, lambda data: flip_digit(data, 2, b"out"), "does not have the sha256"),
        (DAMAGED, lambda data: data.replace(b'["06"', b'["04"', 1), "does not have the sha256"),
        (
            "plain/decode/e2m1.f32.txt",
            lambda data: data.replace(b"bf000000", b"bf000001"),
            "does not have the sha256",
        ),
        (
            "quantize/mxfp4_e2m1.f32.jsonl",
            lambda data: flip_digit(data, 7),
            "does not have the sha256",
        ),
    ],
    ids=["in", "out", "one of several", "plain", "in a block"],
)
def test_a_flipped_digit_is_refused(
    folder: Path, file: str, flip: Callable[[bytes], bytes], reason: str
) -> None:
    path = folder / file
    data = path.read_bytes()
    flipped = flip(data)
    assert flipped != data
    path.write_bytes(flipped)
    message = refusal(folder)
    assert message.startswith(str(path))
    assert re.search(reason, message)


def test_a_file_without_its_last_line_end_is_refused(folder: Path) -> None:
    path = folder / DAMAGED
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    last = data.count(b"\n")
    assert refusal(folder).startswith(f"{path}:{last}: must end with a line end")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.999])
def test_a_truncated_file_is_refused(folder: Path, share: float) -> None:
    path = folder / DAMAGED
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert re.match(re.escape(str(path)) + r":\d+: .*(cut off|JSON)", refusal(folder))


@pytest.mark.parametrize("file", [DAMAGED, "plain/decode/e2m1.f32.txt"])
def test_a_byte_order_mark_is_refused(folder: Path, file: str) -> None:
    path = folder / file
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert refusal(folder) == f"{path} is not ASCII text at byte 0"


@pytest.mark.parametrize(
    "file", ["encode/e1m2.f32.jsonl", "more.jsonl", "plain/encode/e2m1.f16.txt", "old.json", "a.h"]
)
def test_a_file_that_the_manifest_does_not_list_is_refused(folder: Path, file: str) -> None:
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("{}\n")
    assert refusal(folder) == f"{folder / file} is not listed in the manifest of its folder"


def test_files_of_others_are_left_alone(folder: Path) -> None:
    before = golden.read_vectors(folder)
    (folder / "README.md").write_text("for people\n")
    (folder / "encode" / ".e2m1.f16.jsonl.4711.tmp").write_bytes(b'{"mxref_vec')
    (folder / ".manifest.json.4711.tmp").write_bytes(b"")
    assert golden.read_vectors(folder) == before


def test_a_byte_beyond_ascii_is_refused(folder: Path) -> None:
    path = folder / DAMAGED
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xe9" + data[101:])
    message = refusal(folder)
    assert str(path) in message
    assert "not ASCII text at byte 100" in message


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / DAMAGED).unlink()
    message = refusal(folder)
    assert str(folder / DAMAGED) in message
    assert "No such file" in message


def test_a_file_under_another_name_is_refused(folder: Path) -> None:
    shutil.copy(folder / "decode/e2m1.f32.jsonl", folder / DAMAGED)
    reseal(folder)
    assert re.search(r"must hold .* got \d+ of decode/e2m1.f32", refusal(folder))


def entry(**changed: object) -> Callable[[dict[str, Any]], None]:
    def edit(manifest: dict[str, Any]) -> None:
        manifest["files"][0].update(changed)

    return edit


#: name -> what is done to the manifest, the reason that is given
MANIFEST_DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "wrong sha256": (entry(sha256="0" * 64), "does not have the sha256 that the manifest lists"),
    "wrong count": (entry(cases=3), "must hold the 3 cases that the manifest says"),
    "parent folder": (entry(file="../x.jsonl"), "'../x.jsonl', which is no file of its folder"),
    "parent in between": (entry(file="a/../../x.jsonl"), "no file of its folder"),
    "absolute path": (entry(file="/etc/x.jsonl"), "no file of its folder"),
    "backslashes": (entry(file="..\\x.jsonl"), "no file of its folder"),
    "the folder": (entry(file="."), "no file of its folder"),
    "empty path": (entry(file=""), "no file of its folder"),
    "a null byte": (entry(file="a\0.jsonl"), "no file of its folder"),
    "a line end": (entry(file="a.jsonl\n"), "no file of its folder"),
    "a drive": (entry(file="c:x.jsonl"), "no file of its folder"),
    "another ending": (entry(file="encode/e2m1.f16.npz"), "no file of its folder"),
    "listed twice": (lambda manifest: manifest["files"].append(manifest["files"][0]), "twice"),
    "a number as list": (lambda manifest: manifest.update(files=5), "must hold a version and a"),
    "null as list": (lambda manifest: manifest.update(files=None), "must hold a version and a"),
    "extra key": (entry(note=""), "unknown key 'note'"),
    "no path": (entry(file=None), "has None as 'file'"),
    "count no number": (entry(cases="3"), "has '3' as 'cases'"),
    "missing key": (lambda manifest: manifest["files"][0].pop("cases"), "lacks 'cases'"),
    "empty list": (lambda manifest: manifest["files"].clear(), "lists no files"),
    "no list": (lambda manifest: manifest.pop("files"), "cannot be read: it lacks "),
    "entry no object": (lambda manifest: manifest.update(files=["x"]), "must be a JSON object"),
    "no version": (lambda manifest: manifest.pop("mxref_vectors"), "cannot be read: it lacks "),
    "another version": (
        lambda manifest: manifest.update(mxref_vectors="99.0.0"),
        "has vectors version '99.0.0', this is",
    ),
    "version no string": (lambda manifest: manifest.update(mxref_vectors=1), "version 1, this is"),
}


@pytest.mark.parametrize("damage", MANIFEST_DAMAGE)
def test_a_damaged_manifest_is_refused(folder: Path, damage: str) -> None:
    edit, reason = MANIFEST_DAMAGE[damage]
    manifest = json.loads((folder / "manifest.json").read_bytes())
    edit(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    message = refusal(folder)
    assert str(folder) in message
    assert reason in message


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"5", b"null", b"\xff", b"not JSON", b"[" * 100_000, b"{}\0"]
)
def test_a_manifest_that_is_no_json_object_is_refused(folder: Path, text: bytes) -> None:
    (folder / "manifest.json").write_bytes(text)
    assert "manifest.json cannot be read: " in refusal(folder)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_manifest_is_refused(folder: Path, share: float) -> None:
    data = (folder / "manifest.json").read_bytes()
    (folder / "manifest.json").write_bytes(data[: int(len(data) * share)])
    assert "manifest.json cannot be read: " in refusal(folder)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_manifest_with_a_byte_order_mark_is_refused(folder: Path, codec: str) -> None:
    path = folder / "manifest.json"
    path.write_bytes(path.read_text("ascii").encode(codec))
    assert "manifest.json cannot be read: it is no JSON text" in refusal(folder)


def test_a_manifest_with_a_key_twice_is_refused(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text('{"files": [], ' + path.read_text()[1:])
    assert "a key stands twice" in refusal(folder)


def test_a_missing_manifest_is_refused(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    assert refusal(folder) == (
        f"no vectors in {folder}: pass --vectors DIR, or make them there with "
        "`mxref regen --out DIR` (15 MB, half a minute)"
    )


def test_folder_used_where_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert golden.vectors_folder() == golden.vectors_folder(writing=True) == VECTORS
    package = tmp_path / "site" / "mxref"
    monkeypatch.setattr(mxref, "__file__", str(package / "__init__.py"))
    assert golden.vectors_folder() == golden.vectors_folder(writing=True) == Path("vectors")
    (package / "_vectors").mkdir(parents=True)  # as in a wheel
    for _ in range(2):
        assert golden.vectors_folder() == package / "_vectors"
        assert golden.vectors_folder(writing=True) == Path("vectors")
        (package.parent / "pyproject.toml").touch()  # a project that installs into its own folder


def test_a_wheel_has_the_plain_files_in_one_archive(folder: Path) -> None:
    """What build hook `hatch_build.py` makes of them is read, checked and none of the vectors."""
    texts = {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*.*")}
    with tarfile.open(folder / "plain.tar.xz", "w:xz") as archive:
        archive.add(folder / "plain", "plain")
    before = golden.read_vectors(folder)
    (path,) = folder.rglob("*.txt")
    shutil.rmtree(folder / "plain")
    assert golden.read_vectors(folder) == before
    assert [line for line in golden.check(folder, texts) if "plain" in line] == []
    other = folder.with_name("other")
    folder.rename(other)
    with tarfile.open(other / "plain.tar.xz", "w:xz") as archive:
        path.parent.mkdir(parents=True)
        path.write_bytes(texts["plain/decode/e2m1.f32.txt"].replace(b"3f", b"3e", 1))
        archive.add(path, "plain/decode/e2m1.f32.txt")
    name = other / "plain/decode/e2m1.f32.txt"
    assert refusal(other) == f"{name} does not have the sha256 that the manifest lists"


@pytest.mark.parametrize("data", [b"", b"\xfd7zXZ\0", b"mine"])
def test_a_damaged_archive_is_refused(folder: Path, data: bytes) -> None:
    shutil.rmtree(folder / "plain")
    (folder / "plain.tar.xz").write_bytes(data)
    archive = folder / "plain.tar.xz"
    assert refusal(folder) == f"{archive} must be a tar.xz archive, it is damaged"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("file", ["manifest.json", "encode/e2m1.f16.jsonl"])
@pytest.mark.parametrize("device", [None, "/dev/zero"])
def test_a_pipe_or_device_is_refused(folder: Path, file: str, device: str | None) -> None:
    """It might never end, or begin."""
    path = folder / file
    path.unlink()
    if device is None:
        os.mkfifo(path)
    else:
        path.symlink_to(device)
    assert "must be a regular file, it is a device, a pipe or a socket" in refusal(folder)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("5", "it has values of other types"),
        ("{}", "it lacks files"),
        ("{", "it is no JSON text"),
        ("[" * 100000, "it is no JSON text"),
    ],
)
def test_what_is_wrong_with_a_manifest_is_said_without_python(
    folder: Path, text: str, why: str
) -> None:
    (folder / "manifest.json").write_text(text)
    assert refusal(folder) == f"{folder / 'manifest.json'} cannot be read: {why}"
