"""The examples of tools/examples read the vectors in Verilog, C and Python, and find each bug."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from helpers import ROOT, VECTORS, built, run, tool

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


@pytest.mark.parametrize(
    ("right", "planted", "status"),
    [
        ("", "", 0),
        ("return 0x7f;", "return 0xff;", 0),  # another NaN: one class
        ("&& (whole & 1)", "&& 1", 1),  # ties away
        ("rest == half", "0", 1),  # ties down
        ("sign | 0x7e", "sign | 0x7f", 1),  # overflow to NaN
        ("20 + 121", "19 + 121", 1),  # subnormals are twice as large
        ("return (uint8_t)sign;", "return 0;", 1),  # sign of underflow
        ("mag >= 0x43e80000u", "mag > 0x43e80000u", 0),  # equivalent: the tie goes to the even 7e
    ],
)
def test_the_c_consumer(right: str, planted: str, status: int, tmp_path: Path) -> None:
    assert right == "" or ENCODER.count(right) == 1
    (tmp_path / "mine.c").write_text(ENCODER.replace(right, planted), "ascii")
    strict = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")
    sources = (EXAMPLES / "check_encode.c", tmp_path / "mine.c")
    built(tool("gcc"), *strict, *sources, "-o", tmp_path / "check")
    result = run(tmp_path / "check", PLAIN)
    assert (result.returncode, result.stderr) == (status, "")
    *first, summary = result.stdout.splitlines()
    assert re.fullmatch(r"3104 cases, (0|[1-9]\d*) wrong", summary)
    assert len(first) == status
    assert bool(status) != summary.endswith(" 0 wrong")
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
PYTHON_ENCODER = """
import struct
VALUES = [m if e == 0 else (8 + m) << (e - 1) for e in range(16) for m in range(8)][:127]
def encode(bits):
    x = struct.unpack(">f", bits.to_bytes(4, "big"))[0]
    if x != x:
        return 0x7F
    sign = bits >> 31 << 7
    x = min(abs(x), 1e9) * 512  # differences from the two nearest are exact in float64
    return sign | min(range(127), key=lambda code: (abs(VALUES[code] - x), code % 2))
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("right", "planted", "policy", "status"),
    [
        ("", "", "ocp", 0),
        ("0x7F", "0xFF", "ocp", 0),
        ("code % 2", "1 - code % 2", "ocp", 1),
        ("sign | ", "", "ocp", 1),
        ("", "", "ocp+overflow=nonsaturating", 1),
        ("code % 2", "-code", "ocp", 1),
        ("code % 2", "-code", "ocp+rounding=ties_to_away", 0),
    ],
)
def test_the_python_consumer(
    right: str, planted: str, policy: str, status: int, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.py"
    assert right == "" or PYTHON_ENCODER.count(right) == 1
    mine.write_text(PYTHON_ENCODER.replace(right, planted))
    command = (sys.executable, "-I", EXAMPLES / "check_encode.py", mine, policy)
    with (VECTORS / "encode/e4m3.f32.jsonl").open() as cases:
        result = run(*command, stdin=cases)
    assert (result.returncode, result.stderr) == (status, "")
    assert re.search(rf"(?m)^3104 cases, {'[1-9]' if status else '0 '}", result.stdout)
    assert ("want" in result.stdout) == bool(status)


def test_the_python_consumer_wants_all_cases(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PYTHON_ENCODER)
    lines = (VECTORS / "encode/e4m3.f32.jsonl").read_text("ascii").splitlines(keepends=True)
    command = (sys.executable, "-I", EXAMPLES / "check_encode.py", tmp_path / "mine.py")
    assert run(*command, input="".join(lines[:20])).returncode == 1
    assert "mxref" not in (EXAMPLES / "check_encode.py").read_text()


def test_the_consumers_are_small() -> None:
    for name, most in (("check_encode.c", 40), ("check_encode.py", 20), ("encode_tb.v", 40)):
        assert len((EXAMPLES / name).read_text("ascii").splitlines()) <= most
