"""Damaged vector files and manifests are refused in one sentence; a case has one spelling."""

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
from helpers import FILES, VECTORS, copy_vectors, records, words
from hypothesis import given
from hypothesis import strategies as st

import mxref
from mxref import golden
from mxref.cases.spelling import CASE, canonical, spelling
from mxref.cli import main
from mxref.golden import store

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


def damages(file: str) -> list[Any]:
    """The rows of a file of damages: what is done, by what, and the reason that is given."""
    rows = json.loads((Path(__file__).parent / "data" / file).read_text("ascii"))
    return [pytest.param(row, id=row["name"]) for row in rows]


def damaged(lines: list[bytes], edit: str, by: Any) -> list[bytes]:
    """Lines, counted from 1, of which one is changed, or some are others."""
    match edit:
        case "lines":
            first, last, texts = by
            return [*lines[:first], *(text.encode() for text in texts), *lines[last:]]
        case "copy":
            place, to = by
            return [*lines[: to - 1], lines[place - 1], *lines[to - 1 :]]
        case "column":  # another first one
            columns = json.loads(lines[0])["columns"]
            return damaged(lines, "set", [1, "columns", [by, *columns[1:]]])
    number, *what = by
    line = lines[number - 1].decode("ascii")
    if edit == "replace":
        line = line.replace(*what, 1)
    elif edit == "cut":
        line = line[: what[0]]
    elif edit == "repeat":
        line = what[0] * what[1]
    else:
        record = json.loads(line)
        if edit == "set":
            record[what[0]] = what[1]
        else:
            assert edit == "without"
            del record[what[0]]
        line = json.dumps(record, separators=(",", ":"))
    return [*lines[: number - 1], line.encode(), *lines[number:]]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("sealed", [False, True], ids=["old manifest", "new manifest"])
@pytest.mark.parametrize("row", damages("damaged_lines.json"))
def test_a_damaged_file_is_refused(folder: Path, row: dict[str, Any], *, sealed: bool) -> None:
    path = folder / DAMAGED
    data = b"\n".join(damaged(path.read_bytes().split(b"\n"), row["edit"], row["by"]))
    assert data != path.read_bytes()
    path.write_bytes(data)
    if sealed:
        reseal(folder)
    message = refusal(folder)
    assert message.startswith(f"{path}:{row['line']}: ")
    assert re.search(row["reason"], message)


SUM = " does not have the sha256"
PLAIN = "plain/decode/e2m1.f32.txt"


@pytest.mark.parametrize(
    ("file", "change", "reason"),
    [
        pytest.param(DAMAGED, lambda d: flip_digit(d, 7), SUM, id="in"),
        pytest.param(DAMAGED, lambda d: flip_digit(d, 2, b"out"), SUM, id="out"),
        pytest.param(DAMAGED, lambda d: d.replace(b'["06"', b'["04"', 1), SUM, id="one of several"),
        pytest.param(PLAIN, lambda d: d.replace(b"bf000000", b"bf000001"), SUM, id="plain"),
        pytest.param("quantize/mxfp4_e2m1.f32.jsonl", lambda d: flip_digit(d, 7), SUM, id="block"),
        (DAMAGED, lambda data: data[:-1], r":343: must end with a line end"),
        *[
            (DAMAGED, lambda data, share=share: data[: int(len(data) * share)], ":.*(cut off|JSON)")
            for share in (0.0, 0.01, 0.3, 0.999)
        ],
        *[
            (file, lambda data: b"\xef\xbb\xbf" + data, " is not ASCII text at byte 0$")
            for file in (DAMAGED, PLAIN)
        ],
        (DAMAGED, lambda d: d[:100] + b"\xe9" + d[101:], " is not ASCII text at byte 100$"),
        (DAMAGED, lambda data: data.replace(b"\n", b"\r\n"), ": has CR line ends"),
    ],
)
def test_other_bytes_are_refused(
    folder: Path, file: str, change: Callable[[bytes], bytes], reason: str
) -> None:
    path = folder / file
    data = path.read_bytes()
    assert change(data) != data
    path.write_bytes(change(data))
    assert re.match(f"{re.escape(str(path))}{reason}", refusal(folder))


def test_line_ends_are_named_of_a_file_that_the_manifest_has(folder: Path) -> None:
    path = folder / DAMAGED
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    reseal(folder)
    assert refusal(folder).startswith(f"{path}: has CR line ends")


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


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / DAMAGED).unlink()
    message = refusal(folder)
    assert str(folder / DAMAGED) in message
    assert "No such file" in message


def test_a_file_under_another_name_is_refused(folder: Path) -> None:
    shutil.copy(folder / "decode/e2m1.f32.jsonl", folder / DAMAGED)
    reseal(folder)
    assert re.search(r"must hold .* got \d+ of decode/e2m1.f32", refusal(folder))


@pytest.mark.parametrize("row", damages("damaged_manifests.json"))
def test_a_damaged_manifest_is_refused(folder: Path, row: dict[str, Any]) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    first, by = manifest["files"][0], row["by"]
    match row["edit"]:
        case "entry":
            first.update(by)
        case "entry_without":
            del first[by]
        case "set":
            manifest.update(by)
        case "without":
            del manifest[by]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    message = refusal(folder)
    assert str(folder) in message
    assert row["reason"] in message


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (
            (b"", b"{", b"\xff", b"not JSON", b"[" * 100_000, b"{}\0"),
            "it is no JSON text",
        ),
        ((b"[]", b"5", b"null"), "it has values of other types"),
        ((b"{}",), "it lacks files"),
    ],
)
def test_a_manifest_that_is_no_json_object_is_refused(
    folder: Path, texts: tuple[bytes], why: str
) -> None:
    for text in texts:
        (folder / "manifest.json").write_bytes(text)
        assert refusal(folder) == f"{folder / 'manifest.json'} cannot be read: {why}"


def test_a_manifest_in_another_form_is_refused(folder: Path) -> None:
    path = folder / "manifest.json"
    text = path.read_text("ascii")
    path.write_text(f'{{"files": [], {text[1:]}')
    assert "a key stands twice" in refusal(folder)
    for codec in ("utf-8-sig", "utf-16"):
        path.write_bytes(text.encode(codec))
        assert "manifest.json cannot be read: it is no JSON text" in refusal(folder)
    for length in (len(text) // 10, len(text) // 2, len(text) - 9):
        path.write_text(text[:length])
        assert "manifest.json cannot be read: " in refusal(folder)


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
    own, packed = (
        sum(name.startswith("plain/") is there for name in texts) for there in (False, True)
    )
    assert store.files_there(folder, texts) == f"{own} files and {packed} in plain.tar.xz"
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


# --- the one spelling of a case -------------------------------------------------------------------


LINES = (
    '{"in":"3e800000","out":"00","model":"M5","flags":["tie","underflow"]}',
    '{"name":"nan_00","in":"00 01","out":["ff 00","7f 01"],"by":"011","rule":"N4","model":"M9"}',
)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("stem", FILES)
def test_every_line_is_read_in_one_step(stem: str) -> None:
    header, *lines = (VECTORS / f"{stem}.jsonl").read_text("ascii").splitlines()
    usual = json.loads(header)["rule"]
    for line in lines:
        record = json.loads(line)
        assert canonical(line, usual) == record
        assert spelling(record, usual) == line


@given(
    st.sampled_from(LINES), st.integers(0, 80), st.integers(0, 2), st.text('",:[]{} 0a', max_size=3)
)
def test_what_is_read_in_one_step_is_json_in_its_one_spelling(
    line: str, place: int, removed: int, added: str
) -> None:
    text = line[:place] + added + line[place + removed :]
    record = canonical(text, "MX-6.3")
    if record is not None and all('"' not in part for part in _parts(record)):  # checked later
        assert record == json.loads(text)
        assert [key for key in CASE if key in record] == list(json.loads(text))
        assert spelling(record, "MX-6.3") == text


def _parts(record: dict[str, object]) -> list[str]:
    values = (value if isinstance(value, list) else [value] for value in record.values())
    return [str(part) for value in values for part in value]


@pytest.mark.parametrize(
    "text",
    [
        LINES[0].replace('"out"', ' "out"'),
        LINES[0].replace('"model":"M5",', ""),
        LINES[0].replace('["tie","underflow"]', "[]"),
        LINES[0].replace('"00"', '["00"]'),
        LINES[0].replace('"00"', '"00","by":"01"'),
        LINES[1].replace(',"by":"011"', ""),
        LINES[1].replace("N4", "MX-6.3"),  # goes without saying
        LINES[0] + " ",
        LINES[0].replace("3e8", "3E8"),
    ],
)
def test_another_spelling_is_not(text: str) -> None:
    assert canonical(text, "MX-6.3") is None


def test_both_lines_are() -> None:
    for line in LINES:
        assert canonical(line, "MX-6.3") == json.loads(line)
