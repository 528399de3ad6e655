"""The example program of the line protocol, in every way in which it can be used."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from helpers import ROOT, built, copy_vectors, records, run, tool

from mxref.cli import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a command needs POSIX")
Capture = pytest.CaptureFixture[str]

EXAMPLE = ROOT / "tools" / "examples" / "answer_lines.c"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("example") / "answer_lines"
    built(tool("gcc"), "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", EXAMPLE, "-o", path)
    return path


@pytest.fixture(scope="module")
def encode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ("encode/e2m1.f32.jsonl", "encode/e2m1.f16.jsonl", "decode/e2m1.f32.jsonl")
    return copy_vectors(tmp_path_factory.mktemp("encode"), *names)


COUNT = len(records("encode/e2m1.f32")[1])


def test_the_example_as_a_command(example: Path, encode: Path, capsys: Capture) -> None:
    assert main(["verify", "--cmd", str(example), "--vectors", str(encode)]) == 0
    out, _ = capsys.readouterr()
    assert out.splitlines()[-4:] == [
        "not covered: encode e2m1 (f16); decode",
        "asked: the vectors (level 1); a search of 3,584 questions (seed 0)",
        "note: each case was asked twice, the second time in another order",
        f"PASS {example}: {COUNT} cases, 0 failed: conforms",
    ]


def test_example_elsewhere(example: Path, encode: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["prompts", str(tmp_path / "q"), "--vectors", str(encode)]) == 0
    (tmp_path / "a").mkdir()
    for path in (tmp_path / "q").iterdir():
        with path.open() as questions:
            (tmp_path / "a" / path.name).write_text(run(example, stdin=questions).stdout)
    assert main(["verify", "--results", str(tmp_path / "a"), "--vectors", str(encode)]) == 0
    assert f"{COUNT} cases, 0 failed: conforms" in capsys.readouterr().out


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("reader", "status"), [("cat", 0), ("sed 's/ 07$/ 06/'", 1)])
def test_the_example_in_a_pipe(reader: str, status: int, example: Path, encode: Path) -> None:
    mxref = f"{sys.executable} -W error -m mxref"
    options = f"encode e2m1 --float f32 --vectors {encode}"
    pipe = f"{mxref} gen {options} | {example} | {reader} | {mxref} check {options}"
    result = run("sh", "-c", pipe)
    assert (result.returncode, result.stderr) == (status, "")
    assert f" standard input: {COUNT} cases, " in result.stdout.splitlines()[-1]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("right", "planted"),
    [
        ("lower % 2 == 1", "lower % 2 == 0"),
        ("return 7;", "return 0;"),
        ("(bits >> 31) << 3", "(magnitude != 0 && bits >> 31) << 3"),
        ("0x40a00000u", "0x40a00001u"),
    ],
)
def test_the_example_with_a_bug(
    right: str, planted: str, encode: Path, tmp_path: Path, capsys: Capture
) -> None:
    text = EXAMPLE.read_text("ascii")
    assert text.count(right) == 1
    (tmp_path / "wrong.c").write_text(text.replace(right, planted))
    built(tool("gcc"), "-std=c99", tmp_path / "wrong.c", "-o", tmp_path / "wrong")
    assert main(["verify", "--cmd", str(tmp_path / "wrong"), "--vectors", str(encode)]) == 1
    assert "FAIL" in capsys.readouterr().out
