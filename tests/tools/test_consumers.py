"""The readers of plain vectors in C++ and Rust pass a right kernel, and find planted bugs."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import ROOT, VECTORS, built, run, tool

CONSUMERS = ROOT / "tools" / "examples" / "consumers"
FILES = [
    VECTORS / "plain" / name for name in ("encode/e4m3.f32.txt", "quantize/mxfp8_e4m3.f32.txt")
]
CASES = sum(path.read_text().count("\n") for path in FILES)
#: Of each bug: which of the files shows it first, and what it replaces in each kernel by what.
BUGS = {
    "ties away": (0, "std::nearbyint(", "std::round(",
                  "power_of_two(3 - exponent) + power_of_two(52)) - power_of_two(52)",
                  "power_of_two(3 - exponent)).round()"),
    "overflows": (0, "448.0)", "480.0)", "min(448.0)", "min(480.0)"),
    "no subnormals": (0, "std::max(std::ilogb(magnitude), -6)", "std::ilogb(magnitude)",
                      "exponent_of(magnitude).max(-6)", "exponent_of(magnitude)"),
    "scale": (1, "std::ilogb(largest) - 8, -127", "std::ilogb(largest) - 7, -127",
              "exponent_of(largest) - 8", "exponent_of(largest) - 7"),
    "no NaN block": (1, "finite ? uint8_t(exponent + 127) : 0xff", "uint8_t(exponent + 127)",
                     "return (0xff,", "return (0,"),
}  # fmt: skip


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
    first, *changes = BUGS[bug]
    right, wrong = changes[:2] if language == "c++" else changes[2:]
    kernel = kernel_of(language)
    assert kernel.count(right) == 1
    program = consumer(language, tmp_path, kernel.replace(right, wrong))
    done = run(program, *FILES)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{FILES[first]}:")
    assert int(done.stdout.split()[-2]) > 0


def test_they_are_short_and_know_nothing_of_mxref() -> None:
    for name in ("check.cpp", "check.rs"):
        assert len((CONSUMERS / name).read_text().splitlines()) <= 70
