"""Which vector files are read for a target: those that it is asked about."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import VECTORS, copy_vectors
from verify_helpers import looking_up

import mxref
import mxref.cases.read as reading
from mxref.cli import main
from mxref.conformance import target_of, verify
from mxref.golden import VectorError, VectorFile, read_vectors
from mxref.policy.policy import Policy
from mxref.targets.asked_files import is_asked, read_for

STEMS = ("decode/e2m1.f32", "decode/e2m3.f32", "encode/e2m1.f16", "unpack/e2m1.halves")
DECODER = target_of(SimpleNamespace(decode=mxref.decode, FORMATS=["e2m1"]), "decoder")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files of the vectors, one of which is damaged."""
    copy_vectors(tmp_path, *(f"{stem}.jsonl" for stem in STEMS))
    path = tmp_path / "decode/e2m3.f32.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    return tmp_path


def with_cases(files: list[VectorFile]) -> list[str]:
    return [file.stem for file in files if file.cases]


def test_only_what_the_target_has_is_read(folder: Path) -> None:
    files = read_for(folder, DECODER, Policy())
    assert sorted(file.stem for file in files) == sorted(STEMS)
    assert with_cases(files) == ["decode/e2m1.f32"]
    report = verify(DECODER, files)
    assert (report.compared, report.passed) == (16, True)
    assert sorted(report.not_covered) == ["decode e2m3", "encode", "unpack"]


def test_what_it_has_is_checked(folder: Path) -> None:
    every = target_of(SimpleNamespace(decode=mxref.decode), "every")
    with pytest.raises(VectorError, match=r"e2m3\.f32\.jsonl:\d+: must end with a line end"):
        read_for(folder, every, Policy())
    some = read_for(folder, every, Policy(), only=lambda op, format, float: format == "e2m1")
    assert with_cases(some) == ["decode/e2m1.f32"]


def test_the_files_of_named_cases_are_read(folder: Path) -> None:
    files = read_for(folder, DECODER, Policy(), ["encode.e2m1.f16.0000", "no case", "a.b.c.d"])
    assert with_cases(files) == ["encode/e2m1.f16", "decode/e2m1.f32"]  # as in the manifest
    with pytest.raises(VectorError):
        read_for(folder, DECODER, Policy(), ["decode.e2m3.f32.00"])


def test_what_has_been_read_is_not_read_again(folder: Path) -> None:
    every = target_of(SimpleNamespace(decode=mxref.decode), "every")
    whole = read_vectors(VECTORS, lambda stem: stem == "decode/e2m3.f32")
    files = read_for(folder, every, Policy(), read=whole)  # although it is damaged
    assert with_cases(files) == ["decode/e2m3.f32", "decode/e2m1.f32"]
    assert with_cases(read_for(folder, DECODER, Policy(), read=whole)) == ["decode/e2m1.f32"]


@pytest.mark.parametrize("how", ["check", "--results", "--cmd"])
def test_answers_that_are_there_cost_one_reading(
    how: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = read_vectors(folder, lambda stem: stem == "decode/e2m1.f32")
    other = folder.with_name(f"{folder.name}_answers")
    answers = other / "answers" / "decode.e2m1.f32.txt"
    answers.parent.mkdir(parents=True)
    answers.write_text("".join(f"{c.id} {c.output(0)[0]:08x}\n" for c in file.cases))
    script = other / "program.py"
    script.write_text(looking_up(answers))
    parsed: list[str] = []
    parse = reading.parse

    def counted(text: str, name: str) -> VectorFile:
        parsed.append(name)
        return parse(text, name)

    monkeypatch.setattr(reading, "parse", counted)
    arguments = {
        "check": ["check", "decode", "e2m1"],
        "--results": ["verify", "--results", str(answers.parent)],
        "--cmd": ["verify", "--cmd", f"{sys.executable} {script}", "--no-search"],
    }[how]
    narrowed = [] if how == "check" else ["--op", "decode", "--format", "e2m1"]
    with answers.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert main([*arguments, *narrowed, "--vectors", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("16 cases, 0 failed: conforms")
    assert parsed == [str(folder / "decode/e2m1.f32.jsonl")]


def test_a_policy_without_answers_asks_nothing(folder: Path) -> None:
    unpacker = target_of(SimpleNamespace(unpack=mxref.unpack), "unpacker")
    assert not is_asked(unpacker, "unpack", "e2m1", "halves", Policy())
    assert with_cases(read_for(folder, unpacker, Policy())) == []
    halves = Policy.parse("ocp+fp4_packing=halves")
    assert with_cases(read_for(folder, unpacker, halves)) == ["unpack/e2m1.halves"]


def test_a_file_of_an_unknown_name_is_refused(folder: Path) -> None:
    for old, new in (("decode/e2m1", "decoder/e2m1"), ("decode/e2m1", "decode/e2m7")):
        path = folder / "manifest.json"
        text = path.read_text()
        path.write_text(text.replace(old, new))
        (folder / new).parent.mkdir(exist_ok=True)
        (folder / f"{old}.f32.jsonl").rename(folder / f"{new}.f32.jsonl")
        with pytest.raises(VectorError, match="must hold the 16 cases"):
            read_for(folder, DECODER, Policy())
        (folder / f"{new}.f32.jsonl").rename(folder / f"{old}.f32.jsonl")
        path.write_text(text)
