"""The archives of `mxref regen --archive`: small, the same each time, readable by themselves."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from archive_helpers import archives_made, unpacked
from helpers import ROOT, SOURCES, VECTORS, built, records, run, tool

from mxref._version import VECTORS_VERSION
from mxref.cases.read import VectorError, read_manifest, read_vectors
from mxref.cli.archive_choices import choices_page
from mxref.cli.archive_profiles import extras
from mxref.golden.archive_page import SUBJECTS
from mxref.golden.archives import archives, read_all
from mxref.operations.registry import CALL_OPERATIONS

NAMES = [subject.name for subject in SUBJECTS]
MAIN = {subject.name: subject.main for subject in SUBJECTS}
LICENCE = (ROOT / "LICENSE").read_text("utf-8")
CONTRACT = (VECTORS / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archives, and each unpacked."""
    return archives_made(tmp_path_factory)


def test_every_file_is_in_an_archive_of_a_subject() -> None:
    files = [entry["file"] for entry in read_manifest(VECTORS)]
    lacking = [one for one in files if not any(s.has(one) for s in SUBJECTS if not s.whole)]
    assert lacking == ["plain/encode.h"]  # arrays of all formats


def test_the_archives_are_small(made: Path) -> None:
    sizes = {path.stem.rpartition("-")[2]: path.stat().st_size for path in made.glob("*.zip")}
    assert {*sizes} == {*NAMES}
    assert sizes.pop("all") < 4_000_000
    assert max(sizes.values()) < 1_000_000


def digest_of_mxfp4() -> str:
    """The digest of the archive of MXFP4 with what libraries answer to its files."""
    files = read_all(VECTORS)
    own = extras({name: data for name, data in files.items() if "e2m1." in name})
    made = dict(itertools.islice(archives(files, LICENCE, CONTRACT, choices_page, own), 4, 5))
    return hashlib.sha256(*made.values()).hexdigest()


def test_a_second_run_makes_the_same_bytes() -> None:
    """In another process with another hash seed."""
    code = "import test_archives; print(test_archives.digest_of_mxfp4())"
    folders = os.pathsep.join([str(Path(__file__).parent), str(ROOT / "tests/helpers"), *sys.path])
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": folders}
    result = run(sys.executable, "-c", code, cwd=ROOT, env=environment)
    assert (result.stdout, result.stderr) == (f"{digest_of_mxfp4()}\n", "")


def test_dates_and_permissions_are_fixed(made: Path) -> None:
    with zipfile.ZipFile(made / f"mxref-vectors-{VECTORS_VERSION}-mxfp4.zip") as archive:
        members = archive.infolist()
    assert {one.date_time for one in members} == {(1980, 1, 1, 0, 0, 0)}
    assert {one.external_attr >> 16 for one in members} == {0o100644}
    assert len({one.filename for one in members}) == len(members)


@pytest.mark.parametrize("name", NAMES)
def test_an_archive_is_whole_by_itself(name: str, made: Path) -> None:
    folder = unpacked(made, name)
    listed = dict(
        line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text("ascii").splitlines()
    )
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    assert listed.keys() == there.keys() - {"SHA256SUMS"}
    for file, path in there.items():
        data = path.read_bytes()
        assert file == "SHA256SUMS" or hashlib.sha256(data).hexdigest() == listed[file]
        if (VECTORS / file).exists() and file not in ("README.md", "manifest.json"):
            assert data == (VECTORS / file).read_bytes()
    read_vectors(folder, lambda stem: stem == MAIN[name])
    assert (folder / "VERSION").read_text("ascii") == f"{VECTORS_VERSION}\n"
    licence = (folder / "LICENSE").read_text("utf-8")
    assert licence.endswith(LICENCE)
    assert "made to be copied into the tests of other projects" in licence
    assert "](../" not in (folder / "CONTRACT.md").read_text("utf-8")
    assert len((folder / "README.md").read_text("ascii").splitlines()) < 170


@pytest.mark.parametrize("name", NAMES)
def test_every_column_and_clause_is_explained(name: str, made: Path) -> None:
    folder = unpacked(made, name)
    text = (folder / "CHOICES.md").read_text("utf-8")
    told = {
        f"{choice}={member}"
        for choice, members in re.findall(r"^- `(\w+)`: .*\n((?:  - .*\n)*)", text, re.MULTILINE)
        for member in re.findall(r"^  - `([^`]+)`", members, re.MULTILINE)
    }
    for path in folder.glob("*/*.jsonl"):
        header, *cases = map(json.loads, path.read_text("ascii").splitlines())
        assert f"\n- `{header['op']}`: " in text
        named = {one for column in header["columns"] for one in column.split("+") if "=" in one}
        assert named <= told
        rules = {header.get("rule", ""), *(case.get("rule", "") for case in cases)}
        for rule in (one for one in rules if re.fullmatch(r"[NQ]\d+", one)):
            assert f"\n## {rule}: " in text, rule


def test_the_whole_archive_is_a_folder_of_vectors(made: Path) -> None:
    whole = json.loads((unpacked(made, "all") / "manifest.json").read_bytes())
    every = json.loads((VECTORS / "manifest.json").read_bytes())
    plain = {f"plain/{op}/" for op in CALL_OPERATIONS}
    left = [one for one in every["files"] if one["file"].rpartition("/")[0] + "/" not in plain]
    assert whole["files"] == left
    assert len(left) < len(every["files"])
    assert whole["level2"] == every["level2"]


def reader(made: Path, name: str, language: str) -> str:
    text = (unpacked(made, name) / "README.md").read_text("ascii")
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(code)


def answers(name: str, planted: int) -> str:
    """The right answers of the first column, or with the last digit of one case wrong."""
    rows = [case["outs"][0] for case in records(MAIN[name])[1]]
    if planted:
        rows[planted] = f"{rows[planted][:-1]}{int(rows[planted][-1], 16) ^ 1:x}"
    return "\n".join(rows)


@pytest.mark.parametrize("planted", [0, 3])
@pytest.mark.parametrize("name", [one for one in NAMES if one != "all"])
def test_the_reader_in_python(name: str, planted: int, made: Path, tmp_path: Path) -> None:
    code = reader(made, name, "python")
    right, count = re.subn(
        r"^(def kernel\(words\):.*\n) .*$",
        r"\1    return [int(word, 16) for word in next(ANSWERS).split()]",
        code,
        flags=re.MULTILINE,
    )
    assert count == 1
    (tmp_path / "answers.txt").write_text(answers(name, planted), "ascii")
    right = f"ANSWERS = open({str(tmp_path / 'answers.txt')!r})\n{right}"
    (tmp_path / "reader.py").write_text(right, "ascii")
    result = run(sys.executable, tmp_path / "reader.py", cwd=unpacked(made, name))
    cases = len(records(MAIN[name])[1])
    assert (result.stdout, result.stderr) == (f"{cases} cases, {planted and 1} wrong\n", "")


@pytest.mark.parametrize("name", [one for one in NAMES if one != "all"])
def test_the_reader_in_c(name: str, made: Path, tmp_path: Path) -> None:
    code = reader(made, name, "c")
    stub = "    for (int i = 0; i < OUT; ++i) out[i] = in[i % n];\n"
    assert code.count(stub) == 1
    right = (
        '    static FILE *file; if (!file) file = fopen(ANSWERS, "r");\n'
        "    (void)in; (void)n;\n    for (int i = 0; i < OUT; ++i)\n"
        '        if (fscanf(file, "%llx", out + i) != 1) exit(3);\n'
    )
    (tmp_path / "reader.c").write_text(code.replace(stub, right), "ascii")
    (tmp_path / "stub.c").write_text(code, "ascii")
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O1")
    where = f'-DANSWERS="{tmp_path / "answers.txt"}"'
    built(tool("gcc"), *strict, where, tmp_path / "reader.c", "-o", tmp_path / "reader")
    cases = len(records(MAIN[name])[1])
    for planted in (0, 3):
        (tmp_path / "answers.txt").write_text(answers(name, planted), "ascii")
        result = run(tmp_path / "reader", cwd=unpacked(made, name))
        assert result.stdout == f"{cases} cases, {planted and 1} wrong\n"
        assert result.returncode == bool(planted)
    built(tool("gcc"), *strict, tmp_path / "stub.c", "-o", tmp_path / "stub")
    result = run(tmp_path / "stub", cwd=unpacked(made, name))
    assert re.fullmatch(rf"{cases} cases, [1-9]\d* wrong\n", result.stdout)


@pytest.mark.parametrize("source", ["f32", "f64", "bf16"])
def test_answers_of_a_library(source: str, made: Path) -> None:
    """Those of ml_dtypes as it is installed, which rounds float64 twice."""
    folder = unpacked(made, "mxfp8_e4m3") / "plain"
    lines = (folder / f"encode/e4m3.{source}.txt").read_text("ascii").splitlines()
    words = [line.split() for line in lines]
    want = [row[1] for row in words]
    own = (folder / f"profiles/ml_dtypes/encode/e4m3.{source}.txt").read_text("ascii")
    for number, code in map(str.split, own.splitlines()):
        assert want[int(number) - 1] != code
        want[int(number) - 1] = code
    word = {"f32": np.uint32, "f64": np.uint64, "bf16": np.uint16}[source]
    numbers = np.array([int(row[0], 16) for row in words], word).view(SOURCES[source])
    with np.errstate(all="ignore"):
        codes = numbers.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    got = [f"{code:02x}" for code in codes.tolist()]
    nan = {"7f", "ff"}
    wrong = [i for i, code in enumerate(got) if code != want[i] and not {code, want[i]} <= nan]
    assert wrong == []
    assert got != [row[1] for row in words]


def test_what_is_known_of_a_library(made: Path) -> None:
    folder = unpacked(made, "mxfp8_e4m3")
    text = (folder / "known/ml_dtypes.txt").read_text("ascii")
    assert "- overflow=nonsaturating N11\n" in text
    assert "MX-5.4.1; torch-e8m0-subnormal.md" in text
    own = (folder / "plain/profiles/ml_dtypes/encode/e4m3.f64.txt").read_text("ascii")
    assert f"- encode/e4m3.f64: {len(own.splitlines())}\n" in text
    assert "- decode/e4m3.f32: 0\n" in text
    profiles = {path.name for path in (folder / "plain/profiles").iterdir()}
    assert {path.stem for path in (folder / "known").iterdir()} == profiles
    assert "ml_dtypes" in (folder / "README.md").read_text("ascii")
    assert not (unpacked(made, "all") / "known").exists()


def test_the_checksums_of_a_release(made: Path) -> None:
    result = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=made, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0
    assert result.stdout.count(": OK\n") == len(NAMES)


@pytest.mark.parametrize("damage", ["byte", "version"])
def test_damaged_vectors_are_refused(damage: str, tmp_path: Path) -> None:
    for name in ("manifest.json", "schema.json"):
        shutil.copy(VECTORS / name, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    manifest["files"] = manifest["files"][:1]
    manifest["columns"] = {}
    if damage == "version":
        manifest["mxref_vectors"] = f"{VECTORS_VERSION}9"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    if damage == "byte":
        (tmp_path / "schema.json").write_bytes((tmp_path / "schema.json").read_bytes() + b" ")
    wanted = {"byte": "sha256", "version": f"must have vectors of version {VECTORS_VERSION}"}
    with pytest.raises(VectorError, match=wanted[damage]):
        read_all(tmp_path)
    assert not [*tmp_path.glob("*.zip")]
