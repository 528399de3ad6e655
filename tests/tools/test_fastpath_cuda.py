"""The CUDA fast path: its functions and its kernels, compiled by g++; nvcc takes them, too."""

from __future__ import annotations

import json
import os
import runpy
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import cuda_bugs
import ml_dtypes
import numpy as np
import pytest
from helpers import ROOT, VECTORS, built, copy_vectors, run, tool
from made_once import compiled
from numpy.typing import NDArray
from ptx.fastpath import FLAGS as FLAGS_OF
from ptx.nvcc import compiled as ptx_of
from ptx.report import asked
from tables import rows

import mxref
from mxref import exact
from mxref.cli import main
from mxref.exact.small_float_scale import dequantize_scaled
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.golden.level2 import select
from mxref.policy.scale_rule import ScaleRule
from mxref.profiles import profile

pytest.importorskip("fcntl", reason="the kernels are emulated with what POSIX has")
#: To compile the program takes longer than any other test: only --complete has it.
pytestmark = pytest.mark.sampled(0)
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
#: The rows of a report of level 1; those without a gap are every file of it but those of other
#: floats, formats and layouts.
ROWS = (ROOT / "tests" / "tools" / "data" / "cuda_rows.txt").read_text("ascii").splitlines()
COVERED = [name for name in ROWS if " " not in name]


def with_tables(source: Path, options: tuple[str, ...], folder: Path) -> Path:
    """The program with the hardware's conversions, by tables that are written into a folder."""
    for name in FORMATS[:-1]:
        what = ["--format", name, "--as", "c", "-o", str(folder / f"{name}.h")]
        assert main(["export", "table", *what]) == 0
    return compiled(source, (*options, "-DMX_CVT_TABLES"), folder)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_tables(FOLDER / "mx_check.cpp", FLAGS, tmp_path_factory.mktemp("tables"))


def report(*command: object, status: int = 0, **options: Any) -> Any:
    result = run(*command, "--json", **options)
    assert (result.returncode, result.stderr) == (status, "")
    return json.loads(result.stdout)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_vector(machine: str, program: Path) -> None:
    found = report(program, machine, "vectors", VECTORS / "plain")
    assert (found["pass"], found["failed"]) == (True, 0)
    cases = {row["file"]: row["cases"] for row in found["rows"] if row.get("covered", True)}
    assert sorted(cases) == sorted(ROWS)
    assert [name for name in cases if " " not in name] == COVERED
    for name in COVERED:
        assert cases[name] == len((VECTORS / "plain" / f"{name}.txt").read_bytes().splitlines())
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
    names = (*FORMATS, "nvfp4 scales", "nvfp4 elements", "nvfp4 of 16 bits beside midpoints")
    assert [(row["format"], row["wrong"]) for row in found["rows"]] == [(f, 0) for f in names]
    assert found["cases"] > 9_500_000


@pytest.mark.parametrize(("what", "cases"), [("both", 11 * 11 + 4), ("wide", 5)])
def test_both_directions_and_more_than_32_bits_of_indices(
    what: str, cases: int, program: Path
) -> None:
    found = report(program, "--device", what)
    assert (found["pass"], found["cases"]) == (True, cases)


def test_nvfp4_by_conversions_and_by_integers(program: Path) -> None:
    found = report(program, "--device", "nvfp4")
    assert (found["pass"], len(found["rows"])) == (True, 20)
    assert not any("twice" in row["format"] for row in found["rows"])


def test_a_share_of_float32(program: Path) -> None:
    found = report(program, "--host", "sweep", VECTORS / "thresholds", "--stride", "2571")
    assert found["pass"]
    assert all(row["inputs"] > 1 << 20 and row["wrong"] == 0 for row in found["rows"])


#: Families of level 2 that a name begins, and what answers them.
LEVEL_2 = (
    ("dequantize.", 18, "--device"),
    ("decode", 21, "--device"),
    ("shared_scale.", 60, "--host"),
    ("encode", 22, "--host"),
    ("pack.", 3, "--device"),
    *((f"quantize.{name}", 4, "--device") for name in BLOCKS[::2]),
    *((f"quantize.{name}", 4, "--device --conversions") for name in BLOCKS[1::2]),
)


@pytest.mark.parametrize(("beginning", "families", "machine"), LEVEL_2)
def test_level_2(beginning: str, families: int, machine: str, program: Path) -> None:
    script = [sys.executable, FOLDER / "level2.py", f"{program} {machine}", "--only", beginning]
    found = report(*script)
    assert found["pass"]
    assert len(found["rows"]) == families


def test_level_2_has_all_that_the_program_knows() -> None:
    """What is left out: other choices, float64, and integers with a scale of their own."""
    level2 = runpy.run_path(str(FOLDER / "level2.py"))
    asked = {family.name for family in select() if level2["covered"](family)}
    assert len(asked) == sum(families for _, families, _ in LEVEL_2)
    for family in select():
        if family.name not in asked:
            other = set(family.policy.split("+")) - level2["CHOICES"]
            assert family.float == "f64" or other, family.name


def test_level_2_from_a_copied_folder(tmp_path: Path, program: Path) -> None:
    script = shutil.copy(FOLDER / "level2.py", tmp_path)
    assert report(sys.executable, script, program, "--only", "pack.")["pass"]


RULES = ("floor", "ceil", "rceil", "even", "rceil_reciprocal")


@pytest.mark.parametrize("rule", RULES)
def test_scales_of_float32_near_all_thresholds(rule: str, program: Path) -> None:
    """Under each rule seven numbers about each 2**k times the limits of all rules."""
    assert wrong_scales(str(program), rule) == []


def wrong_scales(command: str, rule: str) -> list[str]:
    """The formats whose scales a program gives wrong, by `mxref.exact`."""
    wrong = []
    limits = (ScaleRule.FLOOR, ScaleRule.CEIL, ScaleRule.RCEIL, ScaleRule.EVEN)
    for name in FORMATS:
        fmt = ELEMENT_FORMATS[name]
        sizes = [float(one.limit(fmt).limit) * 2.0**k for one in limits for k in range(-130, 128)]
        near = np.float32([size for size in sizes if size < 2.0**128]).view(np.uint32)
        bits = np.unique(np.clip(near[:, np.newaxis] + np.arange(-3, 4), 0, 0x7F800001))
        want = [exact.shared_scale(one, "f32", name, rule) for one in bits.tolist()]
        if raw(command, "shared_scale", name, rule, bits.astype("<u4")) != bytes(want):
            wrong.append(name)
    return wrong


def raw(command: str, op: str, format: str, rule: str, words: NDArray[Any]) -> bytes:
    """What `mx_check raw` answers to float32 or bfloat16 words."""
    kind = {4: "f32", 2: "bf16"}[words.itemsize]
    policy = f"ocp+scale_rule={rule}"
    whole = [*shlex.split(command), "raw", op, format, kind, "--policy", policy]
    done = subprocess.run(whole, input=words.tobytes(), capture_output=True, check=True)
    return done.stdout


def wrong_blocks(command: str, format: str, rule: str) -> int:
    """How many bfloat16 blocks a program quantizes wrong: each has another largest magnitude."""
    amax = np.arange(1 << 15, dtype=np.uint32)
    rng = np.random.default_rng(len(rule))
    blocks = rng.integers(0, amax[:, np.newaxis] + 1, (len(amax), 32))
    blocks[amax, amax % 32] = amax
    blocks |= rng.integers(0, 2, blocks.shape) << 15
    words = blocks.astype("<u2")
    want = mxref.quantize(words.view(ml_dtypes.bfloat16), format, f"ocp+scale_rule={rule}")
    got = np.frombuffer(raw(command, "quantize", format, rule, words), np.uint8).reshape(-1, 33)
    answers = np.concatenate([want.scale_codes.reshape(-1, 1), want.codes.reshape(-1, 32)], axis=1)
    return int((got != answers).any(axis=1).sum())


@pytest.mark.parametrize(("name", "rule", "more"), rows("tools", "cuda", "profile"))
def test_which_profiles_are_a_rule(name: str, rule: str, more: str) -> None:
    """What the README says of them: finite blocks, whose scale of torchao 0.18 is not 00."""
    some = [*range(0, 0x7F40, 31), *range(0x7F40, 0x7F80)]
    amax = np.array(some, np.uint32)[:, np.newaxis] << 16
    ends = np.uint32([0x600000, 0x600001, 0x600002, 0x7E0001, 0x700001, 0x400001, 0x7FFFFF])
    near = (np.arange(0, 255, 7, dtype=np.uint32)[:, np.newaxis] << 23 | ends).reshape(-1, 1)
    lower = np.arange(32, dtype=np.uint32) * 0x23456
    words = np.concatenate([amax, near]) - np.minimum(lower, np.concatenate([amax, near]))
    one = profile(name)
    for format in one.formats["quantize"]:
        found = one.quantize(words.view(np.float32), format)
        want = mxref.quantize(words.view(np.float32), format, f"ocp+scale_rule={rule}")
        scales = want.scale_codes[:, 0]
        differs = (found.scale_codes != want.scale_codes).any(1)
        differs |= (found.codes != want.codes).reshape(len(words), -1).any(1)
        kinds = {"none": scales < 0, "scale 00": scales == 0, "2**128": words[:, 0] >= 0x7F600000}
        assert (differs & ~kinds[more]).any() == 0, format
        assert differs.any() == (more != "none"), format


@pytest.mark.parametrize("format", BLOCKS)
def test_every_bfloat16_as_the_largest_of_a_block(format: str, program: Path) -> None:
    for rule in RULES:
        for how in ("", " --conversions"):
            assert wrong_blocks(f"{program} --device{how}", format, rule) == 0, (rule, how)


QUANTIZE = "--op quantize --format mxfp8_e4m3 --format mxfp8_e5m2"
SCALED = "--op shared_scale --op quantize --float bf16"
OTHERS = [(f"ocp+scale_rule={rule}", SCALED) for rule in RULES[1:]]


@pytest.mark.parametrize(("policy", "only"), [*OTHERS, ("ocp+overflow=nonsaturating", QUANTIZE)])
@pytest.mark.parametrize("machine", MACHINES)
def test_other_policies(
    machine: str, policy: str, only: str, program: Path, capsys: Capture
) -> None:
    command = f"{program} {machine} answer --policy {policy}"
    assert main(["verify", "--cmd", command, *only.split()]) == 0
    assert f"conforms under {policy}" in capsys.readouterr().out


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


@pytest.mark.parametrize(("question", "answer"), rows("tools", "cuda", "answer"))
def test_an_answer(question: str, answer: str, program: Path) -> None:
    result = run(program, "answer", input=f"# mxref lines 1\n{question}\n")
    lines = [line for line in result.stdout.splitlines() if not line.startswith("#")]
    assert (result.returncode, lines, result.stderr) == (0, [answer], "")


def plain(folder: Path, name: str, text: str, cases: int) -> Path:
    """A folder with one file, and a manifest that tells how many cases it has."""
    (folder / name).parent.mkdir()
    (folder / name).write_text(text)
    entry = {"file": name, "sha256": "", "cases": cases}
    (folder / "manifest.json").write_text(json.dumps({"files": [entry]}, indent=1))
    return folder


RIGHT = "43e80001 7e 7f\n"
E4M3 = "encode/e4m3.f32.txt"
#: What the program must not take for vectors: a name, its text, cases of the manifest, what is said
BROKEN = [
    (E4M3, "", 0, "it has no cases"),
    (E4M3, "43e80001 7e\n", 1, "a line has 2 words"),
    (E4M3, "43e80001 7e 7g\n", 1, "not hex"),
    (E4M3, f"{RIGHT}00000000 00 00 00 00\n", 2, "different numbers"),
    ("pack/e2m1.bytes.txt", "00 01 10 00\n", 1, "words came"),
    (E4M3, RIGHT, 2, "it has 1 cases, the manifest says 2"),
    (E4M3, RIGHT * 3, 2, "it has 3 cases, the manifest says 2"),
]


@pytest.mark.parametrize(("name", "text", "cases", "said"), BROKEN)
def test_broken_file_fails(
    name: str, text: str, cases: int, said: str, program: Path, tmp_path: Path
) -> None:
    found = report(program, "vectors", plain(tmp_path, name, text, cases), status=1)
    assert not found["pass"]
    assert said in found["rows"][0]["error"]


def test_every_case_of_the_manifest_is_asked_and_no_other(program: Path, tmp_path: Path) -> None:
    folder = plain(tmp_path, E4M3, RIGHT * 2, 2)
    (folder / "encode" / "e4m3.bf16.txt").write_text("43e9 7e 7f\n")
    unlisted = report(program, "vectors", folder, status=1)
    (folder / "encode" / "e4m3.bf16.txt").unlink()
    (folder / E4M3).unlink()
    deleted = report(program, "vectors", folder, status=1)
    errors = [
        [row["error"] for row in one["rows"] if "error" in row] for one in (unlisted, deleted)
    ]
    assert errors == [["it has 1 cases, the manifest says 0"], ["it cannot be read"]]
    assert not unlisted["pass"] | deleted["pass"]


def test_a_wrong_answer_fails(program: Path, tmp_path: Path) -> None:
    text = "43e80001 7e 7f\n43e80000 7d 7e\n"
    folder = plain(tmp_path, "encode/e4m3.f32.txt", text, 2)
    found = report(program, "vectors", folder, status=1)
    assert (found["cases"], found["failed"]) == (4, 1)
    assert found["rows"][0]["first"] == "in 43e80000, want 7d, got 7e"


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
    assert run(program, "--device", "replay", tmp_path / folder).returncode == 1
    result = run(program, "vectors", tmp_path / folder)
    assert result.returncode == 1
    assert run(program, "sweep", tmp_path / folder).returncode == 1


@pytest.mark.parametrize("words", ["", *(words for (words,) in rows("tools", "cuda", "misuse"))])
def test_misuse(words: str, program: Path) -> None:
    result = run(program, *words.split(), stdin=subprocess.DEVNULL)
    assert (result.returncode, result.stdout) == (2, "")
    assert "usage: mx_check" in result.stderr


@pytest.mark.parametrize("name", ["cuda both directions", "cuda level 1 floor", "cuda as its PTX"])
def test_a_part_of_the_gpu_check_from_nvcc_to_the_table(
    name: str, program: Path, tmp_path: Path
) -> None:
    """On a GPU that is none: nvcc gives a script that runs the emulated program."""
    nvcc = tool("nvcc") if name.endswith("PTX") else "false"
    text = (
        f'#!/bin/sh\n{program} --device "$@" | sed -u \'s/"emulated"/"device", "device": "A GPU"/\''
    )
    (tmp_path / "script").write_text(text, "ascii")
    for called, lines in {
        "nvidia-smi": "echo 'NVIDIA B200, 570.86.15, 10.0'",
        "nvcc": f'case "$*" in *-ptx*) exec {nvcc} "$@";; esac; echo "$@" > '
        f'{tmp_path}/asked; for last; do :; done; cp {tmp_path}/script "$last"',
    }.items():
        (tmp_path / called).write_text(f"#!/bin/sh\n{lines}\n", "ascii")
        (tmp_path / called).chmod(0o755)
    (tmp_path / "script").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = (sys.executable, ROOT / "tools" / "gpu" / "gpu_check.py", "--only", name)
    found = report(*command, env=os.environ | {"PATH": path})
    (part,) = found["parts"]
    assert (part["status"], part["failed"], part["cases"] > 100) == ("ok", 0, True)
    asked = (tmp_path / "asked").read_text().split()
    assert asked[:5] == ["-std=c++17", "-O2", "-x", "cu", "-arch=sm_100a"]


#: Kernels of each kind, the hardware's conversions and packed codes among them.
REPLAYED = (
    ("quantize", "mxfp4_e2m1", "bf16", "Hardware", True),
    ("quantize_both", "mxfp8_e4m3", "f32", "Integers<false>", False),
    ("quantize_stochastic", "mxint8", "f16", "", False),
    ("dequantize", "mxfp6_e2m3", "f16", "", True),
)


@pytest.fixture(scope="session")
def launches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the PTX of some kernels gave."""
    tool("nvcc")
    folder = tmp_path_factory.mktemp("launches")
    modules = {"sm_100a": ptx_of(FLAGS_OF["sm_100a"], kernels=REPLAYED)}
    assert [one.wrong for one in asked(modules, folder=folder)] == [0] * len(REPLAYED)
    return folder / "sm_100a"


def test_launches_of_the_ptx_made_again(launches: Path, program: Path) -> None:
    found = report(program, "--device", "replay", launches)
    assert (found["pass"], found["failed"]) == (True, 0)
    kernels = sorted(" ".join([*row[:3], row[3] or "-", str(int(row[4]))]) for row in REPLAYED)
    assert sorted(row["kernel"] for row in found["rows"]) == kernels
    assert all(row["launches"] >= 7 and row["cases"] >= row["launches"] for row in found["rows"])


@pytest.mark.parametrize("kind", [row[0] for row in REPLAYED])
def test_a_device_that_gives_something_else_than_the_ptx(
    kind: str, launches: Path, program: Path, tmp_path: Path
) -> None:
    """One bit of what the PTX left in a tensor, or beside all of them, is another."""
    folder = shutil.copytree(launches, tmp_path / "some")
    (path,) = folder.glob(f"{kind}-*.run")
    whole = path.read_bytes()
    head = whole.index(b"\n") + 1
    _, size, tensors, _ = np.frombuffer(whole, "<u8", 4, head).tolist()
    after = head + 32 + size
    first = int(np.frombuffer(whole, "<u8", 1, after + size)[0])  # where the first tensor begins
    assert tensors > 7
    for at, said in ((first, "the tensor of"), (first - 1, "memory beside")):
        changed = bytearray(whole)
        changed[after + at] ^= 1
        path.write_bytes(changed)
        found = report(program, "--device", "replay", folder, status=1)
        wrong = [row for row in found["rows"] if row["failed"]]
        assert [row["kernel"].split()[0] for row in wrong] == [kind]
        assert (found["pass"], wrong[0]["failed"]) == (False, 1)
        assert wrong[0]["first"].startswith(said)
    path.write_bytes(whole[: len(whole) // 2])
    broken = report(program, "--device", "replay", folder, status=1)
    assert [row["error"] for row in broken["rows"] if "error" in row] == ["it ends early"]


@pytest.mark.parametrize(("number", "what"), [(80, "-c"), (90, "-cubin"), (100, "-cubin")])
def test_nvcc_takes_it(number: int, what: str, tmp_path: Path) -> None:
    """Once with the part of the host, which is the same for every architecture."""
    tool("nvcc")
    architecture = f"-gencode=arch=compute_{number},code=sm_{number}"
    options = ["-std=c++17", "-O0", "-Xcicc=-O0", "-Werror=all-warnings"]
    built("nvcc", *options, architecture, "-x", "cu", what, FOLDER / "mx_check.cpp",
          "-o", tmp_path / "mx_check.o")  # fmt: skip


#: Ways to the same codes, and places in memory, that each case is asked in.
PLACES = 11
#: All that can be planted: the tables of bugs, by their names.
BUGS: dict[str, tuple[str, ...]] = {
    bug: one
    for name, table in vars(cuda_bugs).items()
    if name.endswith(("_BUGS", "MUTANTS"))
    for bug, one in table.items()
}


@pytest.fixture(scope="session")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with all mutants, each of which MX_MUTANT turns on: one compilation for all."""
    planted = tmp_path_factory.mktemp("planted") / "cuda"
    shutil.copytree(FOLDER, planted)
    headers = [planted / name for name in ("mx_fastpath.cuh", "mx_kernels.cuh")]
    text = "".join(header.read_text("ascii") for header in headers)
    for bug, (old, *_) in BUGS.items():
        assert text.count(old) == 1, bug
    for header in headers:
        plant(header)
    options = ("-std=c++17", "-O0", "-w", *ALIGNED)
    return with_tables(planted / "mx_check.cpp", options, tmp_path_factory.mktemp("tables"))


def plant(header: Path) -> None:
    text = header.read_text("ascii")
    news = defaultdict(list)
    for bug, (old, new, *_) in BUGS.items():
        if old in text:
            news[old].append((bug, new))
    for guard in cuda_bugs.GUARDS:
        text = text.replace(guard, f'(is("{guard}") || {guard})')
    for old, some in news.items():
        assert text.count(old) == 1, old
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


@pytest.mark.parametrize("id", [*cuda_bugs.MUTANTS, *cuda_bugs.KERNEL_MUTANTS])
def test_mutants_are_caught(id: str, wrong: Path, capsys: Capture) -> None:
    _, _, shown, *said = (cuda_bugs.MUTANTS | cuda_bugs.KERNEL_MUTANTS)[id]
    options = ("--op", "--format", "--float")
    asked = [word for pair in zip(options, shown.split(), strict=False) for word in pair]
    machine = MACHINES[id in cuda_bugs.KERNEL_MUTANTS]
    command = f"env MX_MUTANT={id} {wrong} {machine} answer"
    assert main(["verify", "--cmd", command, *asked]) == 1
    (wanted,) = said or [f"mutant {id}"]
    assert wanted in capsys.readouterr().out


def caught(wrong: Path, bug: str, *command: object) -> bool:
    return run("env", f"MX_MUTANT={bug}", wrong, *command).returncode != 0


def test_bugs_of_kernels_are_caught(wrong: Path) -> None:
    shows = (
        (cuda_bugs.ENCODER_BUGS, ("encoders",)),
        (cuda_bugs.NVFP4_BUGS, ("encoders", "nvfp4")),
        (cuda_bugs.BOTH_BUGS | cuda_bugs.CHANCE_BUGS | cuda_bugs.PHILOX_BUGS, ("--device", "both")),
        (cuda_bugs.STOCHASTIC_BUGS, ("vectors", VECTORS / "plain" / "encode_stochastic")),
        (cuda_bugs.DEQUANTIZE_BUGS, ("--device", "vectors", VECTORS / "plain" / "dequantize")),
        (cuda_bugs.WIDE_BUGS, ("--device", "wide")),
    )
    for bugs, command in shows:
        assert not caught(wrong, "none", *command)
        assert [bug for bug in bugs if not caught(wrong, bug, *command)] == []
    assert [bug for bug in cuda_bugs.NO_BUGS if caught(wrong, bug, "encoders", "nvfp4")] == []


def test_bugs_of_scales_are_caught(wrong: Path) -> None:
    def shown(bug: str) -> list[str]:
        return wrong_scales(f"env MX_MUTANT={bug!r} {wrong}", "rceil_reciprocal")

    assert shown("none") == []
    assert {bug: shown(bug) for bug in cuda_bugs.SCALE_BUGS} == {
        "subnormal product": [*FORMATS[:-1]],
        "subnormal product of INT8": ["int8"],
        "rounded product of INT8": ["int8"],
    }
    # Bugs of a quantized block, which its scale shows.
    for bug in ("reused scale", "C13"):
        assert wrong_blocks(f"env MX_MUTANT={bug!r} {wrong} --device", "mxint8", "ceil") > 0


@pytest.mark.parametrize(("file", "kind", "float"), cuda_bugs.SHOWS)
def test_each_format_and_type_shows_the_bugs_of_quantize(
    file: str, kind: str, float: str, wrong: Path, tmp_path: Path
) -> None:
    names = [f"plain/{op}/{file}.txt" for op in ("quantize", "quantize_tensor")]
    there = [name for name in names if (VECTORS / name).exists()]
    command = ("--device", "vectors", copy_vectors(tmp_path / "vectors", *there) / "plain")
    bugs = [
        bug for bug, (_, _, *no) in cuda_bugs.KERNEL_BUGS.items() if not {kind, float} & set(no)
    ]
    assert not caught(wrong, "none", *command)
    assert [bug for bug in bugs if not caught(wrong, bug, *command)] == []


#: Scales of tensors: ordinary, subnormal, with results that are subnormal or infinite in float16
#: and bfloat16, and two whose products with 3 lie a little above the middle between two numbers.
TENSORS = (0x3F800000, 0x3B124925, 0x40490FDB, 0x00000001, 0x00012347, 0x00FFFFFF, 0x02ABCDEF,
           0x36123457, 0x38FFFFFF, 0x45234567, 0x7C000003, 0x7F7FFFFF,
           0x3FAB5556, 0x3FAAC001)  # fmt: skip
SCALES = (0x00, 0x01, 0x07, 0x08, 0x0D, 0x39, 0x5A, 0x7B, 0x7E, 0x7F)


def wrong_numbers(command: tuple[object, ...], float: str) -> int:
    """How many NVFP4 numbers a program answers wrong, by `mxref.exact`."""
    codes = range(16)
    questions = {f"{one:08x}_{scale:02x}": (one, scale) for one in TENSORS for scale in SCALES}
    every = " ".join(f"{code:02x}" for code in codes)
    asked = "".join(
        f"{id} dequantize nvfp4 {float} {id.replace('_', ' ')} {every}\n" for id in questions
    )
    answers = run(*command, "answer", input=f"# mxref lines 1\n{asked}").stdout.splitlines()
    got = {line.split()[0]: line.split()[1:] for line in answers if line[0] != "#"}
    assert got.keys() == questions.keys()
    wrong = 0
    infinite = {"f32": 0x7F800000, "bf16": 0x7F80, "f16": 0x7C00}[float]
    unsigned = 0x7FFFFFFF if float == "f32" else 0x7FFF
    for id, (tensor, scale) in questions.items():
        for code, word in zip(codes, got[id], strict=True):
            want = dequantize_scaled(tensor, scale, code, "e2m1", "ue4m3", target=float)
            answer = int(word, 16)
            both_nan = want & unsigned > infinite and answer & unsigned > infinite
            wrong += answer != want and not both_nan
    return wrong


@pytest.mark.parametrize("float", READ)
def test_nvfp4_numbers_of_every_type(float: str, program: Path) -> None:
    assert wrong_numbers((program, "--device"), float) == 0


@pytest.mark.parametrize("bug", cuda_bugs.ODD_BUGS)
def test_bugs_of_nvfp4_numbers_are_caught(bug: str, wrong: Path) -> None:
    command = ("env", f"MX_MUTANT={bug}", wrong, "--device")
    assert {float: wrong_numbers(command, float) > 0 for float in READ} == {
        "f32": False, "bf16": bug != "float16 by truncation", "f16": True
    }  # fmt: skip


@pytest.mark.parametrize("bug", cuda_bugs.FLOAT16_BUGS)
def test_level_2_shows_the_bugs_of_float16(bug: str, wrong: Path) -> None:
    script = (sys.executable, FOLDER / "level2.py", f"env MX_MUTANT={bug!r} {wrong} --device")
    result = run(*script, "--only", "dequantize.mxfp8_e5m2")
    assert result.returncode == 1
    failed = [line.split()[1] for line in result.stdout.splitlines() if line[:4] == "FAIL"]
    assert failed[:-1] == ["dequantize.mxfp8_e5m2.f16.ocp"]  # the last line counts


@pytest.mark.parametrize("guard", cuda_bugs.GUARDS)
def test_a_missing_guard_of_vector_loads_is_caught(guard: str, wrong: Path, tmp_path: Path) -> None:
    names = ("quantize/mxfp8_e4m3.f32", "quantize_tensor/mxfp8_e4m3.f32")
    folder = copy_vectors(tmp_path / "vectors", *(f"plain/{name}.txt" for name in names))
    result = run("env", f"MX_MUTANT={guard}", wrong, "--device", "vectors", folder / "plain")
    assert result.returncode == 1
    assert cuda_bugs.GUARDS[guard] in result.stdout + result.stderr
    names = ("mxfp8_e4m3.f32", "mxfp4_e2m1.f16", "nvfp4.f32")
    folder = copy_vectors(tmp_path / "back", *(f"plain/dequantize/{name}.txt" for name in names))
    assert caught(wrong, guard, "--device", "vectors", folder / "plain")


@pytest.mark.parametrize("machine", MACHINES)
def test_without_its_mutants_it_is_right(machine: str, wrong: Path) -> None:
    assert report("env", "MX_MUTANT=none", wrong, machine, "vectors", VECTORS / "plain")["pass"]


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
