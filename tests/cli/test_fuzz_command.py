"""`mxref fuzz`: what it prints, and that the printed code shows the difference."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import helpers
import pytest

from mxref.cli import main

#: Every operation, wrong.
WRONG = """\
import numpy as np
import mxref

def wrong(codes):
    codes = np.array(codes)
    codes.reshape(-1)[-1] ^= 1
    return codes

def encode(values, format): return wrong(mxref.encode(values, format))
def encode_scale(values): return wrong(mxref.encode_scale(values))
def shared_scale(amax, format): return wrong(mxref.shared_scale(amax, format)).astype(np.int64)
def decode(codes, format): return -mxref.decode(codes, format)
def decode_scale(codes): return -mxref.decode_scale(codes)
def encode_stochastic(values, random_bits, width, format):
    return wrong(mxref.encode(values, format, rounding="stochastic_a", random_bits=random_bits,
                              random_width=width))
def quantize(values, format, tensor=None):
    blocks = mxref.quantize(values, format, tensor_scale=tensor)
    return blocks.scale_codes, wrong(blocks.codes)
def dequantize(scales, codes, format, dtype, tensor=None):
    return np.ones(codes.shape, dtype) * dtype.type(3)
def pack(codes, format): return wrong(mxref.pack(codes, format))
def unpack(packed, format, n): return wrong(mxref.unpack(packed, format, n))
def pack_scales(codes): return wrong(mxref.pack_scales(codes))
def unpack_scales(packed, shape): return wrong(mxref.unpack_scales(packed, shape))
def pack_blocks(scales, codes, format):
    return wrong(mxref.pack_blocks(scales, codes[0], format, scale_place="before"))
def unpack_blocks(packed, format):
    scales, codes = mxref.unpack_blocks(packed, format, scale_place="before")
    class Result: pass
    result = Result()
    result.scale_codes, result.codes = scales, wrong(codes).reshape(1, -1)
    return result
def quantize_tensor(values, format, axis):
    blocks = mxref.quantize(values, format, axis=axis)
    return blocks.scale_codes, wrong(blocks.codes)
"""


@dataclasses.dataclass(frozen=True)
class Run:
    status: int
    out: str
    err: str


@pytest.fixture
def run_fuzz(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    def run(*arguments: object) -> Run:
        status = main(["fuzz", *map(str, arguments)])
        return Run(status, *capsys.readouterr())

    return run


def words_after(word: str, out: str) -> list[str]:
    (line,) = [line for line in out.splitlines() if line.startswith(word + " ")]
    return line.removeprefix(word).split()


CODE_RUNS = {
    "f32": ("ocp+scale_place=before", ("e2m1", "e3m2", "mxfp4_e2m1", "nvfp4"), "f32"),
    "bf16": ("ocp+rounding=stochastic_a", ("e2m1",), "bf16"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CODE_RUNS)
def test_the_printed_code_shows_the_difference(
    tmp_path: Path, run_fuzz: Callable[..., Run], name: str
) -> None:
    policy, formats, float = CODE_RUNS[name]
    path = tmp_path / "my kernel.py"
    path.write_text(f"{WRONG}\nFORMATS = {list(formats)!r}\nFLOATS = [{float!r}]\n")
    run = run_fuzz(path, "--policy", policy, "--json", "--examples", 5)
    assert run.status == 1
    rows = json.loads(run.out)["rows"]
    assert len(rows) == (21 if name == "f32" else 7)
    every, outputs = [], []
    for row in rows:
        example = row["counterexample"]
        assert len(example["code"].splitlines()) <= 14
        every.append("def show():\n    " + "\n    ".join(example["code"].splitlines()))
    script = "\nshow(); print('---')\n".join(every) + "\nshow()\n"
    done = helpers.run(sys.executable, "-c", script, check=True, cwd=tmp_path)
    outputs = done.stdout.split("---\n")
    for row, out in zip(rows, outputs, strict=True):
        example = row["counterexample"]
        assert words_after("want", out) == example["want"].split(), row["op"]
        assert words_after("got", out) == example["got"].split(), row["op"]
        assert example["want"] != example["got"]


def test_a_wrong_answer_fails_and_the_profile_is_named(
    tmp_path: Path, run_fuzz: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernel.py").write_text(
        "import mxref\n\ndef encode(values, format):\n"
        "    return mxref.encode(values, format, rounding='ties_to_away')\n"
    )
    few = ("--op", "encode", "--format", "e2m1", "--float", "f32", "--examples", 5)
    run = run_fuzz("kernel.py", "--profile", "ml_dtypes", *few)
    found = "1 searched, 1 with a wrong answer, compared with profile ml_dtypes"
    assert (run.status, run.out.splitlines()[-1]) == (1, f"FAIL kernel.py: {found}")


@pytest.mark.sampled(12)
def test_the_command(
    tmp_path: Path, run_fuzz: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernel.py"
    path.write_text(
        "import mxref\n\nFORMATS = ['e2m1', 'e8m0']\n\n"
        "def encode(values, format):\n    print('noise')\n"
        "    return mxref.encode(values, format, rounding='ties_to_away')\n"
        "def encode_scale(values): return mxref.encode_scale(values)\n"
    )
    run = run_fuzz("kernel.py", "--examples", 20)
    lines = run.out.splitlines()
    assert run.status == 1
    assert lines[0] == (
        "encode e2m1 f32 under ocp: in 3e800000 = 0x1p-2 = 0.25, "
        "want 00 = 0 (0 00 0), got 01 = 0.5 (0 00 1), 1 code away"
    )
    first = lines[-6].split()[3]  # how many questions until one is answered wrongly
    assert int(first) <= 20
    assert [line.split() for line in lines[lines.index("") + 1 :]] == [
        ["op", "format", "float", "examples", "result"],
        [
            "encode",
            "e2m1",
            "f32",
            lines[-6].split()[3],
            "WRONG",
        ],  # the other float types are left out
        *(["encode_scale", "e8m0", float, "20", "ok"] for float in ("f32", "f16", "bf16", "f64")),
        [
            "FAIL",
            "kernel.py:",
            "5",
            "searched,",
            "1",
            "with",
            "a",
            "wrong",
            "answer,",
            "compared",
            "with",
            "ocp",
        ],
    ]
    code = "\n".join(lines[1 : lines.index("")])
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == ["noise", "want 00", "got  01"]
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "__pycache__"] == [
        "kernel.py"
    ]
    away = "ocp+rounding=ties_to_away"
    run = run_fuzz("kernel.py", "--policy", away, "--op", "encode", "--float", "f32")
    assert (run.status, run.out.splitlines()[-1]) == (
        0,
        f"PASS kernel.py: 1 searched, 0 with a wrong answer, compared with {away}",
    )
    run = run_fuzz("kernel.py", "--op", "decode")
    assert (run.status, run.out.splitlines()[-1]) == (
        1,
        "FAIL kernel.py: nothing covered, compared with ocp",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--op", "encod"], "--op must be one of encode, decode"),
        (["--format", "e4m4"], "(did you mean 'e4m3'?)"),
        (["--float", "f31"], "--float must be one of f32, f16, bf16, f64"),
        (["--examples", "0"], "examples must be at least 1, got 0"),
        (["--policy", "ocq"], "policy must be ocp"),
    ],
)
def test_misuse_of_the_command(
    tmp_path: Path, run_fuzz: Callable[..., Run], arguments: list[str], said: str
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        "import mxref\n\ndef decode(codes, format): return mxref.decode(codes, format)\n"
    )
    run = run_fuzz(path, *arguments)
    assert (run.status, run.out) == (2, "")
    assert said in run.err
    assert len(run.err.splitlines()) == 1


def test_the_command_without_hypothesis(
    tmp_path: Path, run_fuzz: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("mxref.strategies")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("mxref.conformance.fuzzing.fuzz", "mxref.conformance.fuzzing.input_words"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    run = run_fuzz(tmp_path / "kernel.py")
    assert run.status == 2
    assert run.err == (
        "mxref: error: mxref.strategies needs the package hypothesis: "
        "in a checkout of mxref, pip install -e '.[fuzz]', elsewhere pip install hypothesis\n"
    )


#: A program that knows `encode` of E2M1 alone, and rounds ties away from zero.
PROGRAM = """\
import sys
import numpy as np
import mxref
for line in sys.stdin:
    if line.startswith("#"):
        continue
    id, op, format, float, *words = line.split()
    if (op, format, float) != ("encode", "e2m1", "f32"):
        print(id, "unsupported", flush=True)
        continue
    value = np.array([int(words[0], 16)], np.uint32).view(np.float32)
    print(id, f"{mxref.encode(value, format, rounding='ties_to_away')[0]:02x}", flush=True)
"""


@pytest.mark.sampled(6)
def test_of_a_program_the_code_is_a_line_of_a_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "away.py"
    path.write_text(PROGRAM)
    command = f"{sys.executable} {path}"
    names = ("--op", "encode", "--format", "e2m1", "--float", "f32")
    assert main(["fuzz", "--cmd", command, *names]) == 1
    found, want, line = capsys.readouterr().out.splitlines()[:3]
    assert "in 3e800000 = 0x1p-2 = 0.25, want 00 = 0 (0 00 0), got 01 = 0.5" in found
    assert want == "# want 1 00"
    shell = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=helpers.PATIENCE
    )
    assert shell.stdout == "1 01\n"
