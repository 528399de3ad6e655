"""``mxref quantize`` with one way: its files, its figures, and the memory that it needs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import helpers
import ml_dtypes
import numpy as np
import pytest
import tables
from commands import Call, Example, assert_sentence, examples
from helpers import ROOT
from safetensors.numpy import save_file

import mxref
from mxref import files
from mxref.blocks import tiles
from mxref.cli import quantize_figures
from mxref.cli import quantize_file as verb
from mxref.cli.quantize_figures import Figures

FP4 = ("--format", "mxfp4_e2m1")
EXAMPLES = Path(__file__).resolve().parent / "data" / "quantize.txt"


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of many sizes, each a bfloat16, with zeros of both signs and ties among them."""
    generator = np.random.default_rng(11)
    values = generator.standard_normal(shape) * 2.0 ** generator.integers(-6, 7, shape)
    flat = values.reshape(-1)
    flat[::17], flat[5::29], flat[7::31] = 0, -0.0, 2.5
    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


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


# --- one array ------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", examples(EXAMPLES))
def test_in_words(example: Example, tmp_path: Path, call: Call) -> None:
    """Scale 1: 7 is clamped to 6, 0.25 is a tie and goes to 0, the others are exact."""
    values = np.float32([7, 0.25, -4, -4, 1, 1, 1, 1])
    arrays = {"x": values, "empty": values[:0], "nan": np.float32([np.nan, 1]), "zeros": values * 0}
    arrays |= {
        "exact": np.float32([1, 2, 3, -0.0]),
        "scalar": np.float32(7),
        "odd": np.float32([7, 0.25, np.nan, 1]),
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    two = {"one": values[None], "two": values[None] * 2, "n": np.arange(3)}
    save_file(two, tmp_path / "two.safetensors")
    two |= {"one": np.float32([[7, 0.5, 4, 0]]), "two": np.float32([[6, 1, 1, 1]])}
    save_file(two, tmp_path / "ways.safetensors")
    save_file(TENSORS, tmp_path / "model.safetensors")
    nans = {"x": values[None], "nan": arrays["nan"][None]}
    save_file(nans, tmp_path / "nans.safetensors")
    example.check(call, DIR=tmp_path)


#: name -> how the tensor is stored, further options, the dtype that is reported
STORED: dict[str, tuple[Any, list[str], str]] = {
    "float64": (np.float64, [], "float64"),
    "float16": (np.float16, [], "float16"),
    "big-endian float32": (">f4", [], ">f4"),
    "big-endian float64": (">f8", [], ">f8"),
    "bfloat16": (ml_dtypes.bfloat16, ["--bfloat16"], "bfloat16"),
    "bits of bfloat16": ("<u2", ["--bfloat16"], "bfloat16"),
    "big-endian bits of bfloat16": (">u2", ["--bfloat16"], "bfloat16"),
    **{name: (name, [], str(np.dtype(name))) for name in ("i1", "u1", "<i4", ">i2", "i8", "u8")},
}


@pytest.mark.parametrize("stored", STORED)
def test_the_same_numbers_of_another_type(stored: str, tmp_path: Path, quantize: Call) -> None:
    """The figures and the blocks are those of float32, in C order and in Fortran's."""
    dtype, options, said = STORED[stored]
    values = np.abs(numbers((5, 70)) * 4).round() + (dtype == "f8") / 4
    values[values > 100] = 3
    kept: Any = values.astype(ml_dtypes.bfloat16).view(np.uint16) if "bits" in stored else values
    reports, archives = [], []
    for array in (values, np.asfortranarray(values), kept.astype(dtype)):
        np.save(tmp_path / "x.npy", array)
        words = [*FP4, "-o", tmp_path / "x.npz", "--json"]
        words += options if array.dtype != np.float32 else []
        reports.append(quantize(tmp_path / "x.npy", *words).json)
        with np.load(tmp_path / "x.npz") as written:
            archives.append({key: written[key].tolist() for key in written.files})
    assert [report.pop("dtype") for report in reports] == ["float32", "float32", said]
    assert reports[0] == reports[1] == reports[2]
    assert {archive.pop("dtype", "float32") for archive in archives[:2]} == {"float32"}
    assert archives[2].pop("dtype", "float32") == said
    assert archives[0] == archives[1] == archives[2]


def test_what_an_archive_has(tmp_path: Path, quantize: Call) -> None:
    values = numbers((3, 2, 40))
    path, out = tmp_path / "x.npy", tmp_path / "new" / "x.npz"
    np.save(path, values)
    assert quantize(path, *FP4, "-o", out, "--json").json["out"] == str(out)
    with np.load(out) as archive:
        written = {name: archive[name] for name in archive.files}
    assert set(written) == {"codes", "scale_codes", "shape", "axis", "block_size", "format"}
    blocks = mxref.quantize(values, "mxfp4_e2m1")
    for name, array in (("codes", blocks.codes), ("scale_codes", blocks.scale_codes)):
        assert written[name].dtype == np.uint8
        assert np.array_equal(written[name], array)
    assert (written["codes"].shape, written["shape"].tolist()) == ((3, 2, 64), [3, 2, 40])
    assert (int(written["axis"]), int(written["block_size"])) == (2, 32)
    assert str(written["format"]) == "mxfp4_e2m1"
    assert [path.name for path in out.parent.iterdir()] == ["x.npz"]


def test_along_another_axis_under_another_policy(tmp_path: Path, quantize: Call) -> None:
    values = numbers((20, 6))
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    np.save(path, values)
    options = ["--axis", "0", "--block-size", "8", "--policy", "ocp+rounding=toward_zero"]
    report = quantize(path, "--format", "mxfp8_e4m3", "-o", out, "--json", *options).json
    assert (report["blocks"], report["policy"]) == (18, "ocp+rounding=toward_zero")
    blocks = mxref.quantize(values, "mxfp8_e4m3", axis=0, block_size=8, rounding="toward_zero")
    assert report["largest_error"] == np.abs(blocks.dequantize(np.float64) - values).max()
    assert files.read_blocks(out)[""] == blocks


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_an_empty_array(tmp_path: Path, quantize: Call, shape: tuple[int, ...]) -> None:
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    np.save(path, np.zeros(shape, np.float32))
    report = quantize(path, *FP4, "--json", "-o", out).json
    assert (report["shape"], report["blocks"], report["sqnr_db"]) == (list(shape), 0, None)
    assert (report["saturated"], report["not_finite"], report["largest_error"]) == (0, 0, 0)
    with np.load(out) as written:
        assert written["codes"].size == written["scale_codes"].size == 0


@pytest.mark.parametrize("scale", [1e300, 1e-200])
def test_ratio_of_numbers_whose_squares_overflow(
    tmp_path: Path, quantize: Call, scale: float
) -> None:
    np.save(tmp_path / "x.npy", np.array([1.0, 0.3, 0.7]) * scale)
    report = quantize(tmp_path / "x.npy", *FP4, "--json").json
    # What is lost of numbers beyond every scale is all but all of them, or all.
    assert report["sqnr_db"] == pytest.approx(0, abs=1e-12)
    assert report["largest_error"] == pytest.approx(scale, rel=1e-12)


# --- files that are wrong -------------------------------------------------------------------------


def stored(values: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, **options)
    return buffer.getvalue()


def archived(values: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=values)
    return buffer.getvalue()


def header(shape: str) -> bytes:
    """A file that says that it has this shape, and has one number."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}".encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"1234"


_FLOATS = np.zeros(100, np.float32)
CUT, OTHER = (
    r"x\.npy must be a whole \.npy file of numbers, it is cut or damaged",
    r"x\.npy must be",
)
NO = r"x\.npy must be a whole \.npy file, it does not begin as one"
#: name -> content of the file, what the message says
BAD_FILES: dict[str, tuple[bytes, str]] = {
    "no content": (b"", NO),
    "cut off in the magic": (stored(_FLOATS)[:5], NO),
    "a pickle": (b"\x80\x04]\x94G?\xf0\x00\x00\x00\x00\x00\x00a.", NO),
    "text": (b"1.0 2.0\n", NO),
    "an archive": (archived(_FLOATS), NO),
    "half an archive": (archived(_FLOATS)[:100], NO),
    "the beginning of an archive": (b"PK\x03\x04text", NO),
    "cut off in the header": (stored(_FLOATS)[:60], CUT),
    "cut off in the numbers": (stored(_FLOATS)[:-100], CUT),
    "header only": (stored(_FLOATS)[:128], CUT),
    "a shape beyond memory": (header("(1000000000000,)}"), OTHER),
    "a shape beyond all numbers": (header("(100000000000000000000,)}"), OTHER),
    "an open bracket": (header("(1,"), OTHER),
    "an open string": (header("'''"), OTHER),
    "a shape below zero": (header("(-1,)}"), OTHER),
    "another version": (b"\x93NUMPY\x09\x00" + stored(_FLOATS)[8:], OTHER),
    "objects": (
        stored(np.array([1.0, "a"], object), allow_pickle=True),
        r"must be a whole \.npy file of numbers, it holds Python objects",
    ),
    "booleans": (stored(np.zeros(5, bool)), "must be float64, float32, .*got bool"),
    "complex numbers": (stored(np.zeros(5, complex)), "must be float64, .*got complex128"),
    "text array": (stored(np.array(["a"])), "must be float64, .*got <U1"),
    "records": (stored(np.zeros(3, [("a", "f4")])), "must be float64, float32"),
    "bfloat16 unsaid": (stored(_FLOATS.astype(ml_dtypes.bfloat16)), "is it --bfloat16"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_quantized(tmp_path: Path, quantize: Call, name: str) -> None:
    content, reason = BAD_FILES[name]
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    path.write_bytes(content)
    run = quantize(path, *FP4, "-o", out)
    assert_sentence(run, reason)
    assert "unsafely" not in run.err
    assert not out.exists()


@pytest.mark.sampled(6)
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
@pytest.mark.parametrize("old", [None, b"an older file"])
def test_a_full_disk(tmp_path: Path, old: bytes | None) -> None:
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    np.save(path, np.zeros(10_000, np.float32))
    if old is not None:
        out.write_bytes(old)
    before = sorted(tmp_path.iterdir())
    # No file may grow beyond one block, nor is bytecode; the archive would have ten thousand bytes.
    limited = 'ulimit -f 1; exec env PYTHONDONTWRITEBYTECODE=1 "$@"'
    command = ["sh", "-c", limited, "sh", sys.executable, "-m", "mxref"]
    result = helpers.run(*command, "quantize", path, *FP4, "-o", out)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "File too large" in result.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert old is None or out.read_bytes() == old


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user"
)
def test_a_folder_without_permission(tmp_path: Path, quantize: Call) -> None:
    np.save(tmp_path / "x.npy", _FLOATS)
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    run = quantize(tmp_path / "x.npy", "--format", "mxint8", "-o", folder / "x.npz")
    assert_sentence(run, "Permission denied")
    assert list(folder.iterdir()) == []


# --- several tensors ------------------------------------------------------------------------------


def test_each_tensor_as_if_it_were_alone(model: Path, tmp_path: Path, quantize: Call) -> None:
    report = quantize(model, *FP4, "--json", "--all").json
    assert (report["file"], report["format"], report["policy"]) == (str(model), FP4[1], "ocp")
    assert report["skipped"] == [{"name": "ids", "reason": "it holds I64, no floats"}]
    assert {one["name"] for one in report["tensors"]} == {"a.weight", "b.weight", "b.bias"}
    for one in report["tensors"]:
        np.save(tmp_path / "x.npy", TENSORS[one.pop("name")])
        alone = quantize(tmp_path / "x.npy", *FP4, "--json").json
        assert one == {key: alone[key] for key in one}
        assert set(alone) == {*one, "file", "format", "policy"}


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("block", ["mxfp4_e2m1", "mxfp6_e3m2", "mxint8", "nvfp4"])
def test_what_is_written(
    model: Path, tmp_path: Path, quantize: Call, suffix: str, block: str
) -> None:
    out = tmp_path / f"out{suffix}"
    assert quantize(model, "--format", block, "-o", out, "--all").status == 0
    written = files.read_blocks(out)
    assert written == {name: mxref.quantize(TENSORS[name], block) for name in written}
    assert set(written) == {"a.weight", "b.weight", "b.bias"}


def test_to_gguf_and_back(model: Path, tmp_path: Path, quantize: Call) -> None:
    """Rows that are no whole blocks are skipped; what is blocks already, too."""
    out = tmp_path / "out.gguf"
    report = quantize(model, *FP4, "-o", out, "--json", "--all").json
    skipped = {one["name"]: one["reason"] for one in report["skipped"]}
    assert set(skipped) == {"b.weight", "b.bias", "ids"}
    assert "a multiple of 32, got axis 2 of shape (3, 2, 40)" in skipped["b.weight"]
    ((name, got),) = files.read_blocks(out).items()
    want = mxref.quantize(TENSORS["a.weight"], "mxfp4_e2m1")
    assert (name, got.codes.tobytes()) == ("a.weight", want.codes.tobytes())
    said = "must have a tensor to quantize, the first: it holds MXFP4, no floats"
    assert_sentence(quantize(out, *FP4), said)


def test_one_tensor_to_each_kind_of_file(tmp_path: Path, quantize: Call) -> None:
    np.save(tmp_path / "layer.npy", TENSORS["a.weight"])
    want = mxref.quantize(TENSORS["a.weight"], "mxfp4_e2m1")
    for suffix, name in ((".npz", ""), (".safetensors", "layer"), (".gguf", "layer")):
        out = tmp_path / f"out{suffix}"
        assert quantize(tmp_path / "layer.npy", *FP4, "-o", out).status == 0
        assert files.read_blocks(out)[name].codes.tobytes() == want.codes.tobytes()


def test_small_floats(tmp_path: Path, quantize: Call) -> None:
    """1, 448 and -1.125 in E4M3."""
    first = b'{"x":{"dtype":"F8_E4M3","shape":[1,3],"data_offsets":[0,3]}}'
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(first).to_bytes(8, "little") + first + b"\x38\x7e\xb9")
    by = ("--format", "mxfp8_e4m3", "--json")
    assert_sentence(quantize(path, *by), "it holds F8_E4M3, which --small-floats takes")
    (tensor,) = quantize(path, *by, "--small-floats").json["tensors"]
    assert (tensor["dtype"], tensor["largest_error"]) == ("float8_e4m3fn", 0)


def test_a_profile_quantizes_and_reads(tmp_path: Path, quantize: Call) -> None:
    """torchao 0.18 divides blocks under byte 00 by 2**-126, so they come back halved."""
    x = np.zeros((2, 32), np.float32)
    x[0, 0], x[1, 0] = 2.0**-126, 1.0
    path, out = tmp_path / "x.safetensors", tmp_path / "y.safetensors"
    save_file({"a": x, "h": x.astype(np.float16)}, path)
    by = (*FP4, "--profile", "torchao_0_18_floor")
    report = quantize(path, *by, "-o", out, "--json").json
    assert "policy" not in report
    assert report["profile"] == "torchao_0_18_floor"
    reason = "it holds F16, which torchao_0_18_floor does not take"
    assert report["skipped"] == [{"name": "h", "reason": reason}]
    assert report["tensors"][0]["largest_error"] == 2.0**-127
    blocks = files.read_blocks(out)["a"]
    assert (blocks.scale_codes.tolist(), blocks.codes[:, 0].tolist()) == ([[0], [125]], [2, 6])
    assert b"profile torchao_0_18_floor" in out.read_bytes()


def test_a_profile_reads_its_own_blocks(tmp_path: Path, quantize: Call) -> None:
    """torchmx's integers are plain ones, so their scale is 64 times smaller."""
    path = tmp_path / "x.safetensors"
    save_file({"a": np.ones((1, 32), ml_dtypes.bfloat16)}, path)
    (tensor,) = quantize(path, "--format", "mxint8", "--profile", "torchmx", "--json").json[
        "tensors"
    ]
    assert (tensor["largest_error"], tensor["saturated"], tensor["sqnr_db"]) == (0.0, 0.0, None)


# --- figures: those of ordinary blocks are in test_quantize_ways.py -------------------------------


@pytest.mark.parametrize(
    ("block", "values", "saturated", "flushed"), tables.rows("cli", "tables", "figures")
)
def test_elements_that_are_clamped_or_become_zero(
    block: str, values: str, saturated: str, flushed: str
) -> None:
    x = np.zeros(32)
    found = [tables.number(word) for word in values.split()]
    x[: len(found)] = found
    figures = Figures.of(x, mxref.quantize(x, block))
    assert (figures.saturated, figures.flushed) == (int(saturated), int(flushed))


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


@pytest.mark.parametrize(("axis", "size"), [(1, 25), (0, 20), ((0, 1), (7, 9))])
def test_figures_of_large_blocks(axis: Any, size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are read in parts: each counts once."""
    x = np.random.default_rng(2).standard_normal((23, 50)).astype(np.float32)
    x[3, 4], x[9, 30] = np.nan, np.inf
    blocks = mxref.quantize(x, "mxfp4_e2m1", axis=axis, block_size=size)
    whole = Figures.of(x, blocks).report()
    monkeypatch.setattr(tiles, "TILE", 8)
    monkeypatch.setattr(quantize_figures, "PART", 8)
    assert blocks.tiling.is_long
    assert Figures.of(x, blocks).report() == whole
    assert whole["blocks"] == blocks.scale_codes.size
    assert whole["nan_blocks"] == int((blocks.scale_codes == 0xFF).sum()) == 2


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_codes_in_files_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantize: Call, suffix: str
) -> None:
    save_file({"x": numbers((64, 96)), "y": numbers((96,))}, tmp_path / "x.safetensors")
    found = []
    for most in (1 << 25, 0):
        monkeypatch.setattr(verb, "_IN_MEMORY", most)
        out = tmp_path / f"out{suffix}"
        run = quantize(tmp_path / "x.safetensors", *FP4, "--json", "-o", out)
        found.append((run.status, run.out, out.read_bytes()))
    assert found[0] == found[1]
    assert found[0][0] == 0


def test_no_space_for_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quantize: Call
) -> None:
    np.save(tmp_path / "x.npy", numbers((64,)))
    monkeypatch.setattr(verb, "_IN_MEMORY", 0)
    monkeypatch.setattr(verb.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 3}))
    run = quantize(tmp_path / "x.npy", "--format", "mxint8")
    assert_sentence(run, ": No space left on device\n$")


@pytest.mark.sampled(0)
@pytest.mark.skipif(sys.platform != "linux", reason="counts the pages of files as Linux does")
def test_a_file_is_never_resident_as_a_whole() -> None:
    """The interpreter with NumPy needs 30 MiB: 200 would not hold the file's 256, too."""
    command = [sys.executable, str(ROOT / "tools" / "memory_check.py"), "--mib", "256"]
    done = subprocess.run([*command, "--limit", "200"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.splitlines()[-1] == "PASS: a file of 256 MiB within 200 MiB"
