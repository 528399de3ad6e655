"""The examples of tools/examples read the vectors in five languages, and find each planted bug."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from helpers import ROOT, VECTORS, built, run, tool
from tables import rows

from mxref.cli import main

EXAMPLES = ROOT / "tools" / "examples"
PLAIN = VECTORS / "plain/encode/e4m3.f32.txt"
DATA = Path(__file__).parent / "data"
ENCODER = (DATA / "encode.c").read_text("ascii")


def export(*words: object) -> int:
    return main(["export", *map(str, words)])


@pytest.fixture(scope="module")
def testbench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the example, as its comment makes them."""
    folder = tmp_path_factory.mktemp("testbench")
    assert export("table", "--format", "e4m3", "--as", "verilog", "-o", folder / "e4m3.v") == 0
    selected = ("--op", "encode", "--format", "e4m3", "--float", "f32")
    assert export("vectors", *selected, "--as", "readmemh", "-o", folder / "hex") == 0
    return folder


@pytest.mark.parametrize(
    ("planted", "status", "verdict"),
    [
        ("nothing", 0, "3104 cases, 0 wrong\n"),
        ("rom", 1, r"case \d+: in [0-9a-f]{8}, want 3c, got 3d\n3104 cases, \d wrong\n"),
        ("sticky", 1, r"case \d+: .*\n3104 cases, \d+ wrong\n"),
        ("cut", 1, r"case 3103: in ffffffff, want xx, got 7f\n3104 cases, 1 wrong\n"),
    ],
)
def test_the_testbench(
    planted: str, status: int, verdict: str, testbench: Path, tmp_path: Path
) -> None:
    shutil.copytree(testbench, tmp_path, dirs_exist_ok=True)
    if planted == "rom":
        words = (tmp_path / "e4m3.hex").read_text("ascii").splitlines()
        wrong = words.index("3c")  # the code of 1.5
        words[wrong : words.index("3d")] = ["3d"] * (words.index("3d") - wrong)
        (tmp_path / "e4m3.hex").write_text("\n".join(words) + "\n", "ascii")
    if planted == "sticky":
        module = (tmp_path / "e4m3.v").read_text("ascii")
        assert module.count("|x[18:0]") == 1
        (tmp_path / "e4m3.v").write_text(module.replace("|x[18:0]", "|x[18:1]"), "ascii")
    want = tmp_path / "hex/encode/e4m3.f32/ocp.hex"
    if planted == "cut":
        want.write_text("".join(want.read_text("ascii").splitlines(keepends=True)[:-1]), "ascii")
    sources = (tmp_path / "e4m3.v", EXAMPLES / "encode_tb.v")
    built(tool("iverilog"), "-g2012", "-Wall", "-o", tmp_path / "tb", *sources)
    words = ("+cases=3104", "+in=hex/encode/e4m3.f32/in.hex", "+want=hex/encode/e4m3.f32/ocp.hex")
    result = run(tool("vvp"), tmp_path / "tb", *words, cwd=tmp_path)
    assert result.returncode == status
    printed = re.sub(r"(WARNING|FATAL|  +Time):? .*\n", "", result.stdout)
    assert re.fullmatch(verdict, printed), result.stdout


@pytest.mark.parametrize(("right", "planted", "status"), rows("golden", "planted", "c"))
def test_the_c_consumer(right: str, planted: str, status: str, tmp_path: Path) -> None:
    assert right == "nothing" or ENCODER.count(right) == 1
    wrong = int(status)
    (tmp_path / "mine.c").write_text(ENCODER.replace(right, planted), "ascii")
    strict = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")
    sources = (EXAMPLES / "check_encode.c", tmp_path / "mine.c")
    built(tool("gcc"), *strict, *sources, "-o", tmp_path / "check")
    result = run(tmp_path / "check", PLAIN)
    assert (result.returncode, result.stderr) == (wrong, "")
    *first, summary = result.stdout.splitlines()
    assert re.fullmatch(r"3104 cases, (0|[1-9]\d*) wrong", summary)
    assert len(first) == wrong
    assert bool(wrong) != summary.endswith(" 0 wrong")
    if first:
        match = re.fullmatch(r".*:(\d+): in (\w{8}), want (\w\w), got \w\w", first[0])
        assert match is not None
        line = PLAIN.read_text("ascii").splitlines()[int(match[1]) - 1]
        assert line.startswith(f"{match[2]} {match[3]}")


@pytest.mark.parametrize("content", ["", "{}\n", "3f800000\n", None])
def test_the_c_consumer_wants_a_file_of_cases(content: str | None, tmp_path: Path) -> None:
    sources = (EXAMPLES / "check_encode.c", DATA / "encode.c")
    built(tool("gcc"), *sources, "-o", tmp_path / "check")
    if content is not None:
        (tmp_path / "cases.txt").write_text(content, "ascii")
    assert run(tmp_path / "check", tmp_path / "cases.txt").returncode == 2


#: The nearest of the 127 magnitudes of E4M3 (OCP MX v1.0 5.3.1), in units of the smallest.
PYTHON_ENCODER = (DATA / "encode_in_python.txt").read_text("ascii")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("right", "planted", "policy", "status"), rows("golden", "planted", "python")
)
def test_the_python_consumer(
    right: str, planted: str, policy: str, status: str, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.py"
    assert right == "nothing" or PYTHON_ENCODER.count(right) == 1
    mine.write_text(PYTHON_ENCODER.replace(right, planted))
    command = (sys.executable, "-I", EXAMPLES / "check_encode.py", mine, policy)
    with (VECTORS / "encode/e4m3.f32.jsonl").open() as cases:
        result = run(*command, stdin=cases)
    assert (result.returncode, result.stderr) == (int(status), "")
    assert re.search(rf"(?m)^3104 cases, {'[1-9]' if int(status) else '0 '}", result.stdout)
    assert ("want" in result.stdout) == bool(int(status))


def test_the_python_consumer_wants_all_cases(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PYTHON_ENCODER)
    lines = (VECTORS / "encode/e4m3.f32.jsonl").read_text("ascii").splitlines(keepends=True)
    command = (sys.executable, "-I", EXAMPLES / "check_encode.py", tmp_path / "mine.py")
    assert run(*command, input="".join(lines[:20])).returncode == 1
    assert "mxref" not in (EXAMPLES / "check_encode.py").read_text()


# --- readers in C++ and Rust ----------------------------------------------------------------------

CONSUMERS = EXAMPLES / "consumers"
FILES = [
    VECTORS / "plain" / name for name in ("encode/e4m3.f32.txt", "quantize/mxfp8_e4m3.f32.txt")
]
CASES = sum(path.read_text().count("\n") for path in FILES)
#: Of each bug which of the files shows it first, and what it replaces in each kernel by what.
BUGS = json.loads((DATA / "consumer_bugs.json").read_text("utf-8"))


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


def test_the_consumers_are_small() -> None:
    for name, most in (("check_encode.c", 40), ("check_encode.py", 20), ("encode_tb.v", 40)):
        assert len((EXAMPLES / name).read_text("ascii").splitlines()) <= most
    for name in ("check.cpp", "check.rs"):
        assert len((CONSUMERS / name).read_text("ascii").splitlines()) <= 70
