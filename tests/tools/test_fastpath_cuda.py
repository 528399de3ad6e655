"""The CUDA fast path: its functions and its kernels, compiled by g++; nvcc takes them, too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, VECTORS, built, copy_vectors, run, tool

from mxref.cli import main

fcntl = pytest.importorskip("fcntl", reason="the kernels are emulated with what POSIX has")
Capture = pytest.CaptureFixture[str]

FOLDER = ROOT / "tools" / "fastpath" / "cuda"
#: A vector load that is not aligned ends the program, as it does on a GPU.
ALIGNED = ("-fsanitize=alignment", "-fno-sanitize-recover=alignment")
FLAGS = ("-std=c++17", "-O0", "-Wall", "-Wextra", "-pedantic", "-Werror", *ALIGNED)
#: The functions, and the kernels with their threads one after the other.
MACHINES = ("--host", "--device")
FORMATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")
READ = ("f32", "bf16", "f16")
BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")


#: What of level 1 the header has: every file but those of other floats, formats and layouts.
COVERED = sorted(
    [
        *(
            f"{op}/{name}.{x}"
            for op in ("encode", "shared_scale")
            for name in FORMATS
            for x in READ
        ),
        *(f"decode/{name}.f32" for name in FORMATS),
        *(f"encode_scale/e8m0.{x}" for x in READ),
        *(f"encode_stochastic/{name}.{x}" for name in FORMATS for x in ("f32", "bf16")),
        *(f"quantize/{name}.f16" for name in BLOCKS),
        "decode_scale/e8m0.f32",
        *(
            f"{op}/{name}.{x}"
            for op in ("quantize", "quantize_tensor", "dequantize")
            for name in BLOCKS
            for x in ("f32", "bf16")
        ),
        *(f"{op}/{name}.bytes" for op in ("pack_blocks", "unpack_blocks") for name in BLOCKS),
        *(f"pack/{name}.bytes" for name in ("e3m2", "e2m3", "e2m1")),
        "unpack/e3m2.lsb_first",
        "unpack/e2m3.lsb_first",
        "unpack/e2m1.low_nibble_first",
        "pack_scales/e8m0.bytes",
        "unpack_scales/e8m0.row_major",
        "unpack_scales/e8m0.tiles_128x4",
    ]
)


@contextmanager
def once(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """A folder that all workers of a run share, one after the other."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def tables(folder: Path) -> tuple[str, str]:
    """Options for g++: the hardware's conversions, by tables that are written into the folder."""
    for name in FORMATS[:-1]:
        what = ["--format", name, "--as", "c", "-o", str(folder / f"{name}.h")]
        assert main(["export", "table", *what]) == 0
    return "-DMX_CVT_TABLES", f"-I{folder}"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with once(tmp_path_factory, "cuda") as folder:
        path = folder / "mx_check"
        if not path.exists():
            flags = (*FLAGS, *tables(folder))
            built(tool("g++"), *flags, FOLDER / "mx_check.cpp", "-o", path)
    return path


def report(*command: object, status: int = 0) -> Any:
    result = run(*command, "--json")
    assert (result.returncode, result.stderr) == (status, "")
    return json.loads(result.stdout)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("machine", MACHINES)
def test_every_vector(machine: str, program: Path) -> None:
    found = report(program, machine, "vectors", VECTORS / "plain")
    assert (found["pass"], found["failed"]) == (True, 0)
    cases = {row["file"]: row["cases"] for row in found["rows"] if row.get("covered", True)}
    assert [name for name in cases if " " not in name] == COVERED
    for name in COVERED:
        assert cases[name] == len((VECTORS / "plain" / f"{name}.txt").read_bytes().splitlines())
    assert sorted(name for name in cases if " " in name) == [
        *(
            f"encode/{name}.{x} ocp+overflow=nonsaturating"
            for name in ("e4m3", "e5m2")
            for x in sorted(READ)
        ),
        *(
            f"encode_scale/e8m0.{x} ocp+scale_rounding={rounding}"
            for x in sorted(READ)
            for rounding in ("ties_to_away", "toward_positive")
        ),
        *(
            f"{op}/{name}.{x} in other places"
            for op in ("quantize", "quantize_tensor")
            for name in sorted(BLOCKS)
            for x in sorted(READ)
            if op == "quantize" or x != "f16"
        ),
        "unpack_scales/e8m0.tiles_128x4 packed again",
    ]
    for name in cases:  # each case in each place
        if name.endswith(" in other places"):
            assert cases[name] == PLACES * cases[name.split()[0]]
    assert found["cases"] == sum(cases.values())


@pytest.mark.parametrize("machine", MACHINES)
def test_every_bfloat16(machine: str, program: Path) -> None:
    found = report(program, machine, "sweep", VECTORS / "thresholds", "--float", "bf16")
    assert found["pass"]
    # The host asks about inputs near thresholds only once.
    assert [(row["format"], row["inputs"], row["wrong"]) for row in found["rows"]] == [
        (name, 1 << 16, 0) for name in FORMATS
    ]


def test_the_encoders_of_the_kernels(program: Path) -> None:
    found = report(program, "encoders")
    assert [(row["format"], row["wrong"]) for row in found["rows"]] == [(f, 0) for f in FORMATS]
    assert found["cases"] > 8_000_000


def test_both_directions(program: Path) -> None:
    found = report(program, "--device", "both")
    assert (found["pass"], found["cases"]) == (True, 8 * 11 + 4)


def test_more_than_32_bits_of_indices(program: Path) -> None:
    found = report(program, "--device", "wide")
    assert (found["pass"], found["cases"]) == (True, 4)


def test_a_share_of_float32(program: Path) -> None:
    found = report(program, "--host", "sweep", VECTORS / "thresholds", "--stride", "2571")
    assert found["pass"]
    assert all(row["inputs"] > 1 << 20 and row["wrong"] == 0 for row in found["rows"])


LEVEL_2 = {"dequantize.": 12, "shared_scale.": 24, "encode": 11, "pack.": 3}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("beginning", LEVEL_2)
def test_level_2(beginning: str, program: Path) -> None:
    script = [sys.executable, FOLDER / "level2.py", program, "--only", beginning]
    found = report(*script)
    assert found["pass"]
    assert len(found["rows"]) == LEVEL_2[beginning]


def test_level_2_from_a_copied_folder(tmp_path: Path, program: Path) -> None:
    script = shutil.copy(FOLDER / "level2.py", tmp_path)
    assert report(sys.executable, script, program, "--only", "pack.")["pass"]


RULES = ("ceil", "rceil", "even")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("machine", MACHINES)
def test_other_rules(machine: str, rule: str, program: Path, capsys: Capture) -> None:
    policy = f"ocp+scale_rule={rule}"
    only = ["--op", "shared_scale", "--op", "quantize", "--float", "bf16"]
    command = f"{program} {machine} answer --policy {policy}"
    assert main(["verify", "--cmd", command, *only]) == 0
    assert capsys.readouterr().out.endswith(f"conforms under {policy}\n")


@pytest.mark.sampled(0)
@pytest.mark.parametrize("machine", MACHINES)
def test_blocks_that_do_not_saturate(machine: str, program: Path, capsys: Capture) -> None:
    policy = "ocp+overflow=nonsaturating"
    only = ["--op", "quantize", "--format", "mxfp8_e4m3", "--format", "mxfp8_e5m2"]
    assert main(["verify", "--cmd", f"{program} {machine} answer --policy {policy}", *only]) == 0
    assert f"conforms under {policy}" in capsys.readouterr().out


@pytest.mark.sampled(0)
def test_answers_made_elsewhere(program: Path, tmp_path: Path, capsys: Capture) -> None:
    files = [f"{name}.jsonl" for name in COVERED if "encode/" not in name]
    vectors = copy_vectors(tmp_path / "vectors", *files, "encode/e2m1.f32.jsonl")
    assert main(["prompts", str(tmp_path / "q"), "--vectors", str(vectors)]) == 0
    (tmp_path / "a").mkdir()
    for path in (tmp_path / "q").iterdir():
        with path.open() as questions:
            (tmp_path / "a" / path.name).write_text(run(program, "answer", stdin=questions).stdout)
    assert main(["verify", "--results", str(tmp_path / "a"), "--vectors", str(vectors)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith(": conforms under ocp+scale_place=before+scale_layout=tiles_128x4")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("a encode e4m3 f32 43e80001", "a 7e"),
        ("a encode e4m3 f64 407d000000000001", "a unsupported"),
        ("a encode_stochastic e4m3 f32 3f880000 80 08", "a 39"),
        ("a encode e4m3 f32 xyz", "a error stoul"),
        ("a encode e4m3 f32 1x", "a error not hex: 1x"),
        ("a quantize mxfp4_e2m1 f32 00000000", "a error the words do not belong together"),
        ("a unpack e2m1 low_nibble_first 03 12", "a error the words do not belong together"),
    ],
)
def test_an_answer(question: str, answer: str, program: Path) -> None:
    result = run(program, "answer", input=f"# mxref lines 1\n{question}\n")
    lines = [line for line in result.stdout.splitlines() if not line.startswith("#")]
    assert (result.returncode, lines, result.stderr) == (0, [answer], "")


#: What the program must not take for vectors: a name in the folder, its text, what is said.
BROKEN = [
    ("encode/e4m3.f32.txt", "", "it has no cases"),
    ("encode/e4m3.f32.txt", "43e80001 7e\n", "a line has 2 words"),
    ("encode/e4m3.f32.txt", "43e80001 7e 7g\n", "not hex"),
    ("encode/e4m3.f32.txt", "43e80001 7e 7f\n00000000 00 00 00 00\n", "different numbers"),
    ("pack/e2m1.bytes.txt", "00 01 10 00\n", "words came"),
]


def plain(folder: Path, name: str, text: str, cases: int) -> Path:
    """A folder with one file, and a manifest that tells how many cases it has."""
    (folder / name).parent.mkdir()
    (folder / name).write_text(text)
    entry = {"file": name, "sha256": "", "cases": cases}
    (folder / "manifest.json").write_text(json.dumps({"files": [entry]}, indent=1))
    return folder


@pytest.mark.parametrize(("name", "text", "said"), BROKEN)
def test_broken_file_fails(name: str, text: str, said: str, program: Path, tmp_path: Path) -> None:
    folder = plain(tmp_path, name, text, text.count("\n"))
    found = report(program, "vectors", folder, status=1)
    assert not found["pass"]
    assert said in found["rows"][0]["error"]


def test_a_wrong_answer_fails(program: Path, tmp_path: Path) -> None:
    text = "43e80001 7e 7f\n43e80000 7d 7e\n"
    folder = plain(tmp_path, "encode/e4m3.f32.txt", text, 2)
    found = report(program, "vectors", folder, status=1)
    assert (found["cases"], found["failed"]) == (4, 1)
    assert found["rows"][0]["first"] == "in 43e80000, want 7d, got 7e"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("cut", "it has 1 cases, the manifest says 2"),
        ("doubled", "it has 3 cases, the manifest says 2"),
        ("deleted", "it cannot be read"),
        ("unlisted", "it has 1 cases, the manifest says 0"),
    ],
)
def test_every_case_of_the_manifest_is_asked(
    change: str, said: str, program: Path, tmp_path: Path
) -> None:
    right = "43e80001 7e 7f\n"
    text = right * {"cut": 1, "doubled": 3}.get(change, 2)
    folder = plain(tmp_path, "encode/e4m3.f32.txt", text, 2)
    if change == "deleted":
        (folder / "encode" / "e4m3.f32.txt").unlink()
    if change == "unlisted":
        (folder / "encode" / "e4m3.bf16.txt").write_text("43e9 7e 7f\n")
    found = report(program, "vectors", folder, status=1)
    assert not found["pass"]
    (error,) = [row["error"] for row in found["rows"] if "error" in row]
    assert error == said


def test_a_folder_in_the_vectors_has_their_manifest(program: Path, tmp_path: Path) -> None:
    some = report(program, "vectors", VECTORS / "plain" / "decode")
    names = [row["file"] for row in some["rows"] if row.get("covered", True)]
    assert names == [name for name in COVERED if name.startswith("decode/")]
    copied = shutil.copytree(VECTORS / "plain" / "decode", tmp_path / "decode")
    result = run(program, "vectors", copied)
    assert result.returncode == 1
    assert "no manifest.json in" in result.stderr


@pytest.mark.parametrize("folder", ["empty", "absent"])
def test_nothing_compared_fails(folder: str, program: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = run(program, "vectors", tmp_path / folder)
    assert result.returncode == 1
    assert run(program, "sweep", tmp_path / folder).returncode == 1


@pytest.mark.parametrize(
    "words",
    ["", "verify", "vectors", "vectors . --frobnicate", "sweep . --float f16", "sweep . --stride 0",
     "sweep . --stride -1", "sweep . --stride 4294967296",
     "answer --policy ocp+scale_rule=nearest", "raw unpack e2m1 f32", "bench"],
)  # fmt: skip
def test_misuse(words: str, program: Path) -> None:
    result = run(program, *words.split(), stdin=subprocess.DEVNULL)
    assert (result.returncode, result.stdout) == (2, "")
    assert "usage: mx_check" in result.stderr


@pytest.mark.sampled(0)
@pytest.mark.parametrize("number", [80, 90, 100])
def test_nvcc_takes_it(number: int, tmp_path: Path) -> None:
    tool("nvcc")
    architecture = f"-gencode=arch=compute_{number},code=sm_{number}"
    options = ["-std=c++17", "-O0", "-Xcicc=-O0", "-Werror=all-warnings"]
    built("nvcc", *options, architecture, "-x", "cu", "-c", FOLDER / "mx_check.cpp",
          "-o", tmp_path / "mx_check.o")  # fmt: skip


#: Bugs of the museum: what is replaced, by what, who shows it, and what `verify` says of it if it
#: is not "mutant" and the name.
MUTANTS = {
    "A1": (
        "(1u << (drop - 1)) - 1u + odd",
        "1u << (drop - 1)",
        "encode e5m2",
        "ocp+rounding=ties_to_away",
    ),
    "A2": ("(1u << (drop - 1)) - 1u + odd", "0u", "encode e4m3", "ocp+rounding=toward_zero"),
    "A3": ("n.significand >> drop & 1u", "~n.significand >> drop & 1u", "encode e2m1"),
    "A7": (
        "n.significand >> drop & 1u",
        "above < 0 ? 1u : n.significand >> drop & 1u",
        "encode e2m1",
    ),
    "A17a": ("drop < 25 ? drop : 25", "(drop - 1) % 32 + 1", "encode e3m2", "violates MX-5.3.2"),
    "B6a": (
        "!SATURATE && F::infinity > 0",
        "F::infinity > 0",
        "encode e5m2",
        "ocp+overflow=nonsaturating",
    ),
    "B7": ("code > F::largest", "(code &= (1u << (F::bits - 1)) - 1u, false)", "encode e2m3"),
    "B12b": ("x >> 31", "0u", "encode e2m1"),
    "F4": (
        "F::complement ? 0u - code : code | 1u << (F::bits - 1)",
        "code | 1u << (F::bits - 1)",
        "encode int8",
    ),
    "C3": (
        "(0xffffffu - last)",
        "0x7fffffu",
        "shared_scale e4m3",
        "ocp+scale_rule=ceil",
    ),
    "C5a": (
        "static_cast<int>(exponent) - emax",
        "static_cast<int>(exponent) - emax + 1",
        "shared_scale e4m3",
    ),
    "C11e": (
        "magnitude >= INFINITE",
        "magnitude > INFINITE",
        "encode_scale e8m0",
        "ocp+scale_of_inf=largest",
    ),
    "C13": (
        "code < 0 ? 0 : code > 0xfe ? 0xfe : code",
        "code < 0 ? 0 : code > 0xfd ? 0xfd : code",
        "shared_scale int8",
    ),
    "C14": (
        "code < 0 ? 0 : code > 0xfe ? 0xfe : code",
        "magnitude ? number(magnitude).exponent - emax + SCALE_BIAS : 0",
        "shared_scale e5m2",
        "ocp+scale_underflow=wrap",
    ),
    "E1": ("0x00400000u", "0u", "decode_scale e8m0", "ocp+scale_00=zero"),
    "E5": (
        "field ? hidden : 0u",
        "magnitude ? hidden : 0u",
        "decode e2m1",
        "wrong exactly where the code is a subnormal number",
    ),
    "E7b": ("static_cast<int>(magnitude) == F::infinity", "false", "decode e5m2"),
    "E8": ("significand << (unit + 149)", "0u", "dequantize mxfp8_e5m2"),
    "F1b": ("top - low", "low ? top - low : top - 1u", "decode int8"),
    "G1": (
        "low >> offset | high << (BITS - offset)",
        "BITS == 4 ? high | low << 4 : low >> offset | high << (BITS - offset)",
        "pack e2m1",
        "ocp+fp4_packing=high_nibble_first",
    ),
    "G1u": (
        "packed[byte] | high << 8",
        "BITS == 4 ? packed[byte] >> 4 | packed[byte] << 4 : packed[byte] | high << 8",
        "unpack e2m1",
        "ocp+fp4_packing=high_nibble_first",
    ),
    "G9": ("i % 16 / 4 * 32 + i % 512 / 16", "i % 512 / 16 * 4 + i % 16 / 4", "pack_scales e8m0"),
    "G9u": (
        "row % 32 * 16 + row % 128 / 32 * 4",
        "row % 128 / 4 * 16 + row % 4 * 4",
        "unpack_scales e8m0",
    ),
}
#: The same of the kernels.
KERNEL_MUTANTS = {
    "C8": (
        "words[i] & 0x7fffffffu",
        "words[i] >> 31 ? 0u : words[i] & 0x7fffffffu",  # also 0 for a block of negative numbers
        "quantize mxfp4_e2m1 f32",
        "MX-6.3, scale from the largest magnitude",
    ),
    "G7": ("__shfl_xor_sync(mask, amax, 1)", "amax", "quantize mxfp8_e4m3"),
    "lanes": (
        "codes + i * C::bytes",
        "codes + (i ^ 1) * C::bytes",
        "dequantize mxfp4_e2m1",
        "halves_exchanged",
    ),
}
#: Bugs of kernels that are no wrong implementation of a format: what is replaced, and by what.
KERNEL_BUGS = {
    "lane swap": ("chunk * C::bytes", "(chunk ^ 1) * C::bytes"),
    "division": ("chunk / C::in_a_block", "chunk / 2"),
    "packing order": ("WIDTH * j", "WIDTH * (WIDTH == 4 ? j ^ 1 : j)"),
    "packing order of pairs": ("4 * j", "4 * (WIDTH == 4 ? j ^ 2 : j)"),
    "packing order of four": ("(24 - 8 * (i % 3))", "(24 - 8 * (i % 2))"),
    "squeezed": ("bytes >> 2 & 0x0fc00fc0u", "bytes >> 2 & 0x0f800f80u"),
    "edge": ("i < t.length", "i < t.length + 1"),
    "tiles transposed": (
        "tiled_offset(line, block, blocks_of(t))",
        "tiled_offset(block, line, t.lines)",
    ),
    "reused scale": (
        "shared_scale<F>(Lying<T>::widened(amax), rule)",
        "[](uint8_t now) { static uint8_t first = now; return first; }"
        "(shared_scale<F>(Lying<T>::widened(amax), rule))",
    ),
    "NaN block": ("scale == NAN_SCALE ? 0u : ~0u", "~0u"),
    "halves": ("larger(a & 0xffffu, b & 0xffffu)", "a & 0xffffu"),
    "lines of a block of threads": ("blockIdx.y * size_t(blockDim.y)", "size_t(blockIdx.y)"),
    "no lift": ("scale >= least_plain<F>()", "true"),
}
#: Bugs of the kernel of dequantize.
DEQUANTIZE_BUGS = {
    "code across words": ("words[word + 1] << (32 - bit)", "0u"),
    "two codes": ("(j + 1) % C::numbers", "j"),
    "rounding of bfloat16": ("store(high, halves[1])", "store(high & 0xffff0000u, halves[1])"),
    "NaN codes": ("magnitude > F::largest && !infinite", "false"),
    "NaN scales": ("nan || scale == QUIET_NAN", "nan"),
    "infinity": ("x = INFINITE", "x = QUIET_NAN"),
    "codes anywhere": ("first % C::store == 0", "true"),
    "numbers anywhere": ("out_at % 16 == 0", "true"),
    "scale of a chunk": ("scales[i / C::in_a_block]", "scales[i / 2]"),
}
#: Bugs of element encoders that only `encoders` is sure to find.
ENCODER_BUGS = {
    "a sticky bit": (
        "((x & 0x7fffffu) | 0x800000u) << 7 >> below",
        "((x & 0x7fffffu) | 0x800000u) >> below << 7",
    ),
    "ties": ("(significand >> gone & 1u)", "1u"),
    "sign of infinity": ("beyond | (x >> 31) << 7", "beyond"),
    "scale fe": ("0x00400000u", "0u"),
    "lift by one less": ("scale + LIFT", "scale + LIFT - 1"),
    "spread": ("(pairs & 0x00f000f0u) << 4", "(pairs & 0x007000f0u) << 4"),
}
#: Bugs of the kernel of both directions.
BOTH_BUGS = {
    "transposition": (
        "i * pitch + static_cast<int>(column / 2)",
        "(i ^ 2) * pitch + static_cast<int>(column / 2)",
    ),
    "pair of rows": ("upper >> 16 | (lower & 0xffff0000u)", "lower >> 16 | (upper & 0xffff0000u)"),
    "half": ("16 * half * pitch", "16 * (1 - half) * pitch"),
    "edge of a tile": ("at < across.lines", "at <= across.lines"),
    "edge of columns": ("chunk < blocks_of(across) * C::in_a_block", "true"),
    "lines down": ("line < down.lines", "line + 1 < down.lines"),
    "place of a half": ("block * C::in_a_block + half", "block * C::in_a_block + 1 - half"),
    "next tile": ("block += gridDim.y", "block += gridDim.y + 1"),
}
#: Indices of 32 bits, which only large tensors show.
WIDE_BUGS = {
    "32 bits of a line's values": (
        "values + line * t.values.line",
        "values + static_cast<uint32_t>(line * t.values.line)",
    ),
    "32 bits of a line's codes": (
        "codes + line * t.codes.line",
        "codes + static_cast<uint32_t>(line * t.codes.line)",
    ),
    "32 bits of both directions": (
        "values + at * across.values.line",
        "values + static_cast<uint32_t>(at * across.values.line)",
    ),
    "32 bits of numbers": (
        "values + i * C::numbers",
        "values + static_cast<uint32_t>(i * C::numbers)",
    ),
}
#: Bugs of rounding by chance, in the functions and in the kernel.
STOCHASTIC_BUGS = {
    "shift": ("gone < 63 ? gone : 63", "gone < 25 ? gone : 25"),
    "carry": ("kept + random", "kept + random + 1u"),
}
PHILOX_BUGS = {"rounds": ("round < 10", "round < 7"), "key": ("k1 += 0xbb67ae85u", "k1 += k0")}
CHANCE_BUGS = {
    "counter of a line": ("(blocks_of(t) * BLOCK)", "t.length"),
    "counter of a chunk": ("first + static_cast<uint64_t>(j)", "first"),
    "word of a counter": ("random.x[i - j] >> (32 - width)", "random.x[0] >> (32 - width)"),
    "upper bits": ("philox(seed, index / 4).x[index % 4]", "philox(seed, index / 4).x[0]"),
}
#: Ways to the same codes, and places in memory, that each case is asked in.
PLACES = 11
#: What vector loads and stores of the kernels require, and what is said where it is missing.
GUARDS = {
    "t.length % BLOCK == 0": " failed: lines 16 apart: in",
    "t.values.step == 1": " failed: every second value: in",
    "t.codes.step == 1": "quantize/mxfp8_e4m3.f32: every second code: memory beside it is written",
    "t.values.line % (16 / sizeof(T)) == 0": "misaligned address",
    "t.codes.line % C::store == 0": "store to misaligned address",
    "reinterpret_cast<uintptr_t>(values) % 16 == 0": "misaligned address",
    "reinterpret_cast<uintptr_t>(codes) % C::store == 0": "store to misaligned",
}


@pytest.fixture(scope="session")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with all mutants, each of which MX_MUTANT turns on: one compilation for all."""
    with once(tmp_path_factory, "wrong") as folder:
        path = folder / "mx_check"
        if not path.exists():
            planted = folder / "cuda"
            shutil.copytree(FOLDER, planted)
            plant(planted / "mx_fastpath.cuh", MUTANTS | STOCHASTIC_BUGS | PHILOX_BUGS, {})
            plant(
                planted / "mx_kernels.cuh",
                KERNEL_MUTANTS
                | KERNEL_BUGS
                | ENCODER_BUGS
                | BOTH_BUGS
                | DEQUANTIZE_BUGS
                | WIDE_BUGS
                | CHANCE_BUGS,
                GUARDS,
            )
            options = ("-std=c++17", "-O0", "-w", *ALIGNED, *tables(folder))
            built(tool("g++"), *options, planted / "mx_check.cpp", "-o", path)
    return path


def plant(header: Path, mutants: dict[str, Any], guards: dict[str, str]) -> None:
    text = header.read_text("ascii")
    news = defaultdict(list)
    for id, (old, new, *_) in mutants.items():
        assert text.count(old) == 1, id
        news[old].append((id, new))
    for guard in guards:
        assert text.count(guard) == 1, guard
        text = text.replace(guard, f'(is("{guard}") || {guard})')
    for old, some in news.items():
        planted = f"({old})"
        for id, new in some:
            planted = f'(is("{id}") ? ({new}) : {planted})'
        text = text.replace(old, planted)
    start = "namespace mx {\n"
    assert text.count(start) == 1
    text = text.replace(
        start,
        "#ifndef MX_MUTANT\n#define MX_MUTANT\n#include <cstdlib>\n#include <cstring>\n"
        'static const char *const chosen = std::getenv("MX_MUTANT");\n'
        "static inline bool is(const char *id) { return std::strcmp(chosen, id) == 0; }\n#endif\n"
        + start,
    )
    header.write_text(text)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("id", [*MUTANTS, *KERNEL_MUTANTS])
def test_mutants_are_caught(id: str, wrong: Path, capsys: Capture) -> None:
    _, _, shown, *said = (MUTANTS | KERNEL_MUTANTS)[id]
    options = ("--op", "--format", "--float")
    asked = [word for pair in zip(options, shown.split(), strict=False) for word in pair]
    machine = MACHINES[id in KERNEL_MUTANTS]
    command = f"env MX_MUTANT={id} {wrong} {machine} answer"
    assert main(["verify", "--cmd", command, *asked]) == 1
    (wanted,) = said or [f"mutant {id}"]
    assert wanted in capsys.readouterr().out


@pytest.mark.sampled(0)
def test_bugs_of_kernels_are_caught(wrong: Path, tmp_path: Path) -> None:
    formats = ("mxfp8_e5m2", "mxfp6_e2m3", "mxfp4_e2m1")
    ops = ("quantize", "quantize_tensor")
    names = [f"{op}/{name}.{x}" for op in ops for name in formats for x in ("f32", "bf16")]
    folder = copy_vectors(tmp_path / "vectors", *(f"plain/{name}.txt" for name in names))
    vectors = ("--device", "vectors", folder / "plain")
    both = ("--device", "both")
    numbers = ("--device", "vectors", VECTORS / "plain" / "dequantize")
    shows = (
        (KERNEL_BUGS, vectors),
        (ENCODER_BUGS, ("encoders",)),
        (BOTH_BUGS | CHANCE_BUGS | PHILOX_BUGS, both),
        (STOCHASTIC_BUGS, ("vectors", VECTORS / "plain" / "encode_stochastic")),
        (DEQUANTIZE_BUGS, numbers),
        (WIDE_BUGS, ("--device", "wide")),
    )
    for bugs, command in shows:
        assert run("env", "MX_MUTANT=none", wrong, *command).returncode == 0
        missed = [b for b in bugs if not run("env", f"MX_MUTANT={b}", wrong, *command).returncode]
        assert missed == []


@pytest.mark.sampled(0)
@pytest.mark.parametrize("guard", GUARDS)
def test_a_missing_guard_of_vector_loads_is_caught(guard: str, wrong: Path, tmp_path: Path) -> None:
    names = ("quantize/mxfp8_e4m3.f32", "quantize_tensor/mxfp8_e4m3.f32")
    folder = copy_vectors(tmp_path / "vectors", *(f"plain/{name}.txt" for name in names))
    result = run("env", f"MX_MUTANT={guard}", wrong, "--device", "vectors", folder / "plain")
    assert result.returncode == 1
    assert GUARDS[guard] in result.stdout + result.stderr


@pytest.mark.sampled(0)
@pytest.mark.parametrize("machine", MACHINES)
def test_without_its_mutants_it_is_right(machine: str, wrong: Path) -> None:
    assert report("env", "MX_MUTANT=none", wrong, machine, "vectors", VECTORS / "plain")["pass"]


@pytest.mark.sampled(0)
@pytest.mark.parametrize(("machine", "float"), [("--host", "f32"), ("--device", "bf16")])
def test_a_sweep_finds_every_wrong_input(machine: str, float: str, wrong: Path) -> None:
    digits = slice(0, 8 if float == "f32" else 4)
    command = [wrong, machine, "sweep", VECTORS / "thresholds", "--float", float]
    options = {"--host": ["--stride", "1000003"], "--device": []}[machine]
    result = run("env", "MX_MUTANT=A7", *command, *options, "--json")
    (found,) = [row for row in json.loads(result.stdout)["rows"] if row["format"] == "e2m1"]
    assert (result.returncode, found["wrong"], found["intervals"]) == (1, 2, 2)
    assert [(run["first"], run["last"], run["want"]) for run in found["longest"]] == [
        ("3e800000"[digits], "3e800000"[digits], "00"),
        ("be800000"[digits], "be800000"[digits], "08"),
    ]
