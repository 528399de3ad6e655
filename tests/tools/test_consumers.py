"""The readers of plain vectors in C++ and Rust pass a right kernel, and find planted bugs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import ROOT, VECTORS, built, run, tool

CONSUMERS = ROOT / "tools" / "examples" / "consumers"
FILES = [
    VECTORS / "plain" / name for name in ("encode/e4m3.f32.txt", "quantize/mxfp8_e4m3.f32.txt")
]
CASES = sum(path.read_text().count("\n") for path in FILES)
#: Of each bug which of the files shows it first, and what it replaces in each kernel by what.
BUGS = json.loads((ROOT / "tests" / "tools" / "data" / "consumer_bugs.json").read_text("utf-8"))


def consumer(language: str, folder: Path, kernel: str) -> Path:
    """The reader of a language, built beside a kernel."""
    source = "check.cpp" if language == "c++" else "check.rs"
    (folder / source).write_text((CONSUMERS / source).read_text())
    (folder / ("kernel.hpp" if language == "c++" else "kernel.rs")).write_text(kernel)
    out = folder / "check"
    if language == "c++":
        strict = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic")
        built(tool("g++"), *strict, folder / source, "-o", out)
    else:
        built(tool("rustc"), "--edition", "2021", "-D", "warnings", folder / source, "-o", out)
    return out


def kernel_of(language: str) -> str:
    return (CONSUMERS / ("kernel.hpp" if language == "c++" else "kernel.rs")).read_text()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("language", ["c++", "rust"])
def test_the_right_kernel(language: str, tmp_path: Path) -> None:
    program = consumer(language, tmp_path, kernel_of(language))
    done = run(program, *FILES)
    assert (done.returncode, done.stdout) == (0, f"{CASES} cases, 0 wrong\n")
    for wrong in ([], [*FILES, VECTORS / "plain/decode/e4m3.f32.txt"], [tmp_path / "absent"]):
        assert run(program, *wrong).returncode == 2
    cut = tmp_path / "encode" / "e4m3.f32.txt"
    cut.parent.mkdir()
    cut.write_text("00000000 00 00\n00000001\n")
    done = run(program, cut)
    assert (done.returncode, done.stderr) == (2, f"{cut}:2: is no case\n")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("language", ["c++", "rust"])
def test_a_planted_bug_is_found(language: str, bug: str, tmp_path: Path) -> None:
    right, wrong = BUGS[bug][language]
    kernel = kernel_of(language)
    assert kernel.count(right) == 1
    program = consumer(language, tmp_path, kernel.replace(right, wrong))
    done = run(program, *FILES)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{FILES[BUGS[bug]['file']]}:")
    assert int(done.stdout.split()[-2]) > 0


def test_they_are_short_and_know_nothing_of_mxref() -> None:
    for name in ("check.cpp", "check.rs"):
        assert len((CONSUMERS / name).read_text().splitlines()) <= 70
