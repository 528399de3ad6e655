"""``mxref quantize`` on files of many tensors, its figures, and the memory that it needs."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from helpers import PATIENCE, ROOT
from safetensors.numpy import save_file

import mxref
from mxref import files
from mxref.cli import main, quantize_figures
from mxref.cli import quantize_verb as verb
from mxref.cli.quantize_figures import Figures
from mxref.support.decibels import SumOfSquares

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_it(*arguments: object) -> tuple[int, str, str]:
        status = main(["quantize", *map(str, arguments)])
        return status, *capsys.readouterr()

    return run_it


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    values = np.random.default_rng(11).standard_normal(shape).astype(np.float32)
    values.reshape(-1)[::17] = 0
    return values


TENSORS = {
    "a.weight": numbers((4, 64)),
    "b.weight": numbers((3, 2, 40)).astype(np.float16),
    "b.bias": numbers((40,)).astype(np.float64),
    "ids": np.arange(5),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path)
    return path


def test_each_tensor_as_if_it_were_alone(model: Path, tmp_path: Path, run: Run) -> None:
    status, out, err = run(model, "--format", "mxfp4_e2m1", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert {key: report[key] for key in ("file", "format", "policy")} == {
        "file": str(model),
        "format": "mxfp4_e2m1",
        "policy": "ocp",
    }
    assert report["skipped"] == [{"name": "ids", "reason": "it holds I64, no floats"}]
    assert {one["name"] for one in report["tensors"]} == {"a.weight", "b.weight", "b.bias"}
    for one in report["tensors"]:
        np.save(tmp_path / "x.npy", TENSORS[one.pop("name")])
        alone = json.loads(run(tmp_path / "x.npy", "--format", "mxfp4_e2m1", "--json")[1])
        assert one == {key: alone[key] for key in one}
        assert set(alone) == {*one, "file", "format", "policy"}


def test_the_total_is_of_all_elements(tmp_path: Path, run: Run) -> None:
    """Two tensors of whole blocks count as one of both."""
    a, b = numbers((4, 64)), numbers((2, 64)) * np.float32(100)
    b[0, 3] = np.nan
    save_file({"a": a, "b": b}, tmp_path / "x.safetensors")
    np.save(tmp_path / "x.npy", np.concatenate([a, b]))
    options = ["--format", "mxfp6_e2m3", "--json"]
    total = json.loads(run(tmp_path / "x.safetensors", *options)[1])["total"]
    alone = json.loads(run(tmp_path / "x.npy", *options)[1])
    assert total.pop("tensors") == 2
    assert total == {key: alone[key] for key in total}
    assert total["nan_blocks"] == 1


def test_the_table(tmp_path: Path, run: Run) -> None:
    """Scale 1: 7 is clamped to 6, 0.25 is a tie and goes to 0, the others are exact."""
    values = np.float32([7, 0.25, -4, -4, 1, 1, 1, 1])
    save_file({"one": values, "two": values * 2, "n": np.arange(3)}, tmp_path / "x.safetensors")
    out = tmp_path / "y.safetensors"
    status, text, err = run(tmp_path / "x.safetensors", "--format", "mxfp4_e2m1", "-o", out)
    assert (status, err) == (0, "")
    lines = [line.split() for line in text.splitlines()]
    sqnr = f"{10 * math.log10((49 + 0.0625 + 32 + 4) / (1 + 0.0625)):.6g}"
    assert lines == [
        ["file", str(tmp_path / "x.safetensors")],
        ["format", "mxfp4_e2m1"],
        ["policy", "ocp"],
        ["out", str(out)],
        [*verb._COLUMNS],
        ["one", "[8]", "float32", "1", sqnr, "0.125", "0.125", "1", "0", "0"],
        ["two", "[8]", "float32", "1", sqnr, "0.125", "0.125", "2", "0", "0"],
        ["total", "of", "2", "2", sqnr, "0.125", "0.125", "2", "0", "0"],
        ["skipped", "n:", "it", "holds", "I64,", "no", "floats"],
    ]


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("block", ["mxfp4_e2m1", "mxfp6_e3m2", "mxint8", "nvfp4"])
def test_what_is_written(model: Path, tmp_path: Path, run: Run, suffix: str, block: str) -> None:
    out = tmp_path / f"out{suffix}"
    assert run(model, "--format", block, "-o", out)[0] == 0
    written = files.read_blocks(out)
    assert set(written) == {"a.weight", "b.weight", "b.bias"}
    for name, got in written.items():
        want = mxref.quantize(TENSORS[name], block)
        assert got.codes.tobytes() == want.codes.tobytes()
        assert got.scale_codes.tobytes() == want.scale_codes.tobytes()
        assert (got.shape, got.dtype, got.axis) == (want.shape, want.dtype, want.axis)
        assert got.tensor_scale == want.tensor_scale


def test_to_gguf_and_back(model: Path, tmp_path: Path, run: Run) -> None:
    """Rows that are no whole blocks are skipped; what is blocks already, too."""
    out = tmp_path / "out.gguf"
    status, text, _ = run(model, "--format", "mxfp4_e2m1", "-o", out, "--json")
    assert status == 0
    skipped = {one["name"]: one["reason"] for one in json.loads(text)["skipped"]}
    assert set(skipped) == {"b.weight", "b.bias", "ids"}
    assert "a multiple of 32, got axis 2 of shape (3, 2, 40)" in skipped["b.weight"]
    ((name, got),) = files.read_blocks(out).items()
    assert (name, got.codes.tobytes()) == (
        "a.weight",
        mxref.quantize(TENSORS["a.weight"], "mxfp4_e2m1").codes.tobytes(),
    )
    status, _, err = run(out, "--format", "mxfp4_e2m1")
    assert (status, err.count("\n")) == (2, 1)
    assert "must have a tensor to quantize, the first: it holds MXFP4, no floats" in err


def test_one_tensor_to_each_kind_of_file(tmp_path: Path, run: Run) -> None:
    np.save(tmp_path / "layer.npy", TENSORS["a.weight"])
    want = mxref.quantize(TENSORS["a.weight"], "mxfp4_e2m1")
    for suffix, name in ((".npz", ""), (".safetensors", "layer"), (".gguf", "layer")):
        out = tmp_path / f"out{suffix}"
        assert run(tmp_path / "layer.npy", "--format", "mxfp4_e2m1", "-o", out)[0] == 0
        assert files.read_blocks(out)[name].codes.tobytes() == want.codes.tobytes()


def test_only_some_tensors(model: Path, run: Run) -> None:
    report = json.loads(run(model, "--format", "mxint8", "--json", "--tensor", "*.weight")[1])
    assert {one["name"] for one in report["tensors"]} == {"a.weight", "b.weight"}
    assert report["skipped"] == []


def test_an_axis_that_is_not_there(model: Path, run: Run) -> None:
    report = json.loads(run(model, "--format", "mxint8", "--json", "--axis", "1")[1])
    assert {one["name"]: one["reason"] for one in report["skipped"]} == {
        "b.bias": "axis must be in [-1, 0] for 1 axes, got 1",
        "ids": "it holds I64, no floats",
    }


def test_tails_that_the_policy_refuses(model: Path, run: Run) -> None:
    options = ["--format", "mxint8", "--json", "--policy", "ocp+tail=refused"]
    report = json.loads(run(model, *options)[1])
    assert [one["name"] for one in report["tensors"]] == ["a.weight"]
    reasons = {one["name"]: one["reason"] for one in report["skipped"]}
    assert reasons["b.bias"].startswith("40 on the axis is no multiple of 32")


def test_small_floats(tmp_path: Path, run: Run) -> None:
    """1, 448 and -1.125 in E4M3; in MXINT8 with scale 2**8: 1/64, 448/64 * 64, 0 and a step."""
    header = b'{"x":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]}}'
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\x38\x7e\xb9")
    status, out, err = run(path, "--format", "mxfp8_e4m3", "--json")
    assert (status, out) == (2, "")
    assert "the first: it holds F8_E4M3, which --small-floats takes" in err
    report = json.loads(run(path, "--format", "mxfp8_e4m3", "--json", "--small-floats")[1])
    assert report["tensors"][0]["dtype"] == "float8_e4m3fn"
    assert report["tensors"][0]["largest_error"] == 0


#: Stands for the option that is left out.
NO_FORMAT = ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["x.npy", "--tensor", "*"], "--tensor needs a .npz, .safetensors or .gguf file"),
        (["x.npy", "--small-floats"], "--small-floats needs a .safetensors file"),
        (["m.safetensors", "--bfloat16"], "bfloat16 must be said of .npy files only"),
        (["m.safetensors", "--tensor", "z"], "a tensor to quantize, none has such a name"),
        (["m.safetensors", "--format", "mxfp9"], "block_format must be one of"),
        (["m.safetensors", "-o", "y.bin"], "must end in .npz, .safetensors, .gguf, got y.bin"),
        (["x.npy", "-o", "y.gguf"], "must get one of mxfp4_e2m1 in blocks of 32, fp4_ue4m3"),
        (["blocks.npz"], "the first: it holds mxfp8_e5m2, no floats"),
        (["none.safetensors"], "none.safetensors: No such file"),
        (
            ["x.npy", NO_FORMAT],
            "--format must name a block format, got none: give one of mxfp8_e5m2",
        ),
        (["cut.safetensors"], "cut.safetensors must be a whole .safetensors file"),
    ],
)
def test_misuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", TENSORS["a.weight"])
    save_file(TENSORS, "m.safetensors")
    Path("cut.safetensors").write_bytes(Path("m.safetensors").read_bytes()[:-1])
    files.write_blocks("blocks.npz", {"x": mxref.quantize(np.ones(32), "mxfp8_e5m2")})
    before = sorted(tmp_path.iterdir())
    block = () if {"--format", NO_FORMAT} & {*arguments} else ("--format", "mxint8")
    status, out, err = run(*block, *(one for one in arguments if one != NO_FORMAT))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert reason in err
    assert sorted(tmp_path.iterdir()) == before


def test_a_scalar_is_one_block(tmp_path: Path, run: Run) -> None:
    np.save(tmp_path / "x.npy", np.float32(7))
    report = json.loads(run(tmp_path / "x.npy", "--format", "mxfp4_e2m1", "--json")[1])
    assert (report["shape"], report["blocks"], report["saturated"]) == ([], 1, 1)
    assert (report["largest_error"], report["sqnr_db"]) == (1, pytest.approx(10 * math.log10(49)))


# --- figures --------------------------------------------------------------------------------------


def test_sums_of_squares_are_exact() -> None:
    generator = np.random.default_rng(3)
    x = generator.standard_normal(2000) * 2.0 ** generator.integers(-1070, 1020, 2000)
    x[:6] = [0.0, -0.0, 2.0**-1074, sys.float_info.max, -1.0, 0.5]
    total = SumOfSquares()
    total.add(x[:700])
    total.add(x[700:])
    want = Fraction(0)
    for number in x.tolist():
        fraction, exponent = math.frexp(number)
        want += Fraction(fraction * fraction) * Fraction(4) ** exponent
    unit = Fraction(4) ** -1074 / Fraction(2) ** 54
    assert total.total * unit == want


@pytest.mark.parametrize(
    ("block", "values", "saturated", "flushed"),
    [
        ("mxfp4_e2m1", [6, -6, 4, 0.5, -0.0], 0, 0),  # the largest number is its own code
        ("mxfp4_e2m1", [6, 6.25, -7, 0.5, 0.25], 2, 1),  # 0.25 is a tie with 0
        ("mxfp8_e4m3", [448, -448, 2.0**-9, 2.0**-10], 0, 1),
        ("mxfp8_e4m3", [449, -511, 2.0**-9, -(2.0**-11)], 2, 1),
        ("mxint8", [127 / 64, -127 / 64, 1 / 64, 1 / 128], 0, 1),
        ("mxint8", [127.5 / 64, -127.25 / 64, 1 / 64], 2, 0),
        # A block whose scale is 0 has no largest number: nothing is saturated in it.
        ("nvfp4", [2688, *[0] * 15, 1e-6], 0, 1),
    ],
)
def test_elements_beyond_the_largest_number_and_those_that_become_zero(
    block: str, values: list[float], saturated: int, flushed: int
) -> None:
    x = np.zeros(32)
    x[: len(values)] = values
    figures = Figures.of(x, mxref.quantize(x, block))
    assert (figures.saturated, figures.flushed) == (saturated, flushed)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("block", ["mxfp4_e2m1", "mxint8", "nvfp4"])
@pytest.mark.parametrize("shape", [(1,), (70,), (7, 33, 5), (300, 64)])
@pytest.mark.parametrize("policy", ["ocp", "ocp+tail=short"])
def test_figures_do_not_depend_on_the_parts(
    monkeypatch: pytest.MonkeyPatch, block: str, shape: tuple[int, ...], policy: str
) -> None:
    generator = np.random.default_rng(5)
    values = generator.standard_normal(shape) * 2.0 ** generator.integers(-9, 9, shape)
    values.reshape(-1)[-1] = 0.3
    for axis in range(len(shape)):
        blocks = mxref.quantize(values, block, policy, axis=axis)
        found = []
        for part in (1, 100, 1 << 17):
            monkeypatch.setattr(quantize_figures, "PART", part)
            found.append(Figures.of(values, blocks).report())
        assert found[0] == found[1] == found[2]
        assert found[0]["blocks"] == blocks.scale_codes.size


@pytest.mark.parametrize("block", ["mxfp4_e2m1", "mxfp8_e4m3", "nvfp4", "fp4_ue5m3"])
def test_figures_by_the_definition(block: str) -> None:
    """One element at a time, in fractions, from the values of codes."""
    values = numbers((2, 64)).astype(np.float64)
    values[0, 5] = 2.0**-60
    values[1, 7] = 3000.0
    blocks = mxref.quantize(values, block)
    fmt = blocks.format
    tensor = 1.0 if blocks.tensor_scale is None else blocks.tensor_scale.value
    saturated = flushed = 0
    signal = noise = largest = Fraction(0)
    for (row, column), x in np.ndenumerate(values):
        scale_code = int(blocks.scale_codes[row, column // blocks.block_size])
        scale = Fraction(fmt.scale.value(scale_code)) * Fraction(tensor)
        exact = Fraction(x)
        error = Fraction(fmt.element.value(int(blocks.codes[row, column]))) * scale - exact
        saturated += abs(exact) > Fraction(fmt.element.max_normal) * scale
        flushed += exact != 0 and error == -exact
        signal += exact**2
        noise += error**2
        largest = max(largest, abs(error))
    report = Figures.of(values, blocks).report()
    assert report["saturated"] == saturated / 128
    assert report["flushed"] == flushed / 128
    assert flushed > 0
    assert report["largest_error"] == pytest.approx(float(largest), rel=1e-15)
    assert report["sqnr_db"] == pytest.approx(10 * math.log10(signal / noise), rel=1e-13)


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_codes_in_files_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, suffix: str
) -> None:
    save_file({"x": numbers((64, 96)), "y": numbers((96,))}, tmp_path / "x.safetensors")
    found = []
    for most in (1 << 25, 0):
        monkeypatch.setattr(verb, "_IN_MEMORY", most)
        out = tmp_path / f"out{suffix}"
        status, text, _ = run(
            tmp_path / "x.safetensors", "--format", "mxfp4_e2m1", "--json", "-o", out
        )
        assert status == 0
        found.append((text, out.read_bytes()))
    assert found[0] == found[1]


def test_no_space_for_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    np.save(tmp_path / "x.npy", numbers((64,)))
    monkeypatch.setattr(verb, "_IN_MEMORY", 0)
    monkeypatch.setattr(verb.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 3}))
    status, out, err = run(tmp_path / "x.npy", "--format", "mxint8")
    assert (status, out) == (2, "")
    assert err.endswith(": No space left on device\n")


@pytest.mark.sampled(0)
@pytest.mark.skipif(sys.platform != "linux", reason="counts the pages of files as Linux does")
def test_a_file_is_never_resident_as_a_whole() -> None:
    """The interpreter with NumPy needs 30 MiB: 200 would not hold the file's 256, too."""
    command = [sys.executable, str(ROOT / "tools" / "memory_check.py"), "--mib", "256"]
    done = subprocess.run([*command, "--limit", "200"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1] == "PASS: a file of 256 MiB within 200 MiB"


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """Before it is opened, which would wait for a writer."""
    pipe = tmp_path / "pipe.npy"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "mxref", "quantize", pipe, "--format", "mxint8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"mxref: error: {pipe} must be a regular file, it is")


def test_a_profile_quantizes_and_reads(tmp_path: Path, run: Run) -> None:
    """torchao 0.18 divides blocks under byte 00 by 2**-126, so they come back halved."""
    x = np.zeros((2, 32), np.float32)
    x[0, 0], x[1, 0] = 2.0**-126, 1.0
    path, out = tmp_path / "x.safetensors", tmp_path / "y.safetensors"
    save_file({"a": x, "h": x.astype(np.float16)}, path)
    by = ("--format", "mxfp4_e2m1", "--profile", "torchao_0_18_floor")
    status, text, err = run(path, *by, "-o", out, "--json")
    assert (status, err) == (0, "")
    report = json.loads(text)
    assert "policy" not in report
    assert report["profile"] == "torchao_0_18_floor"
    reason = "it holds F16, which torchao_0_18_floor does not take"
    assert report["skipped"] == [{"name": "h", "reason": reason}]
    assert report["tensors"][0]["largest_error"] == 2.0**-127
    blocks = files.read_blocks(out)["a"]
    assert blocks.scale_codes.tolist() == [[0], [125]]
    assert blocks.codes[:, 0].tolist() == [2, 6]
    assert b"profile torchao_0_18_floor" in out.read_bytes()


def test_a_profile_reads_its_own_blocks(tmp_path: Path, run: Run) -> None:
    """torchmx's integers are plain ones, so their scale is 64 times smaller."""
    path = tmp_path / "x.safetensors"
    save_file({"a": np.ones((1, 32), ml_dtypes.bfloat16)}, path)
    by = ("--format", "mxint8", "--profile", "torchmx", "--json")
    report = json.loads(run(path, *by)[1])
    (tensor,) = report["tensors"]
    assert (tensor["largest_error"], tensor["saturated"], tensor["sqnr_db"]) == (0.0, 0.0, None)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--profile", "torch"], "format must be one that torch has for quantize: no format"),
        (["--profile", "torchmx"], "values must be of a type that torchmx takes (bf16), got f32"),
        (["--profile", "torchm"], "(did you mean 'torchmx'?)"),
    ],
)
def test_profiles_refused(tmp_path: Path, run: Run, options: list[str], sentence: str) -> None:
    np.save(tmp_path / "x.npy", np.ones(32, np.float32))
    status, out, err = run(tmp_path / "x.npy", "--format", "mxint8", *options)
    assert (status, out) == (2, "")
    assert sentence in err
