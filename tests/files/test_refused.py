"""Files that are cut, damaged or described wrongly, and what has no place in a file."""

from __future__ import annotations

import dataclasses
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tables
from file_helpers import assert_same, blocks_of, numbers, raw_safetensors, retyped
from refused import assert_says

import mxref
from mxref import files

EVERY = [".npz", ".safetensors", ".gguf"]
CODES = ("F4", [32], b"\x21" * 16)
SCALE = ("F8_E8M0", [1], b"\x7f")


def good(path: Path) -> bytes:
    """A file with two tensors, in the format of the suffix."""
    blocks = mxref.quantize(numbers((3, 64)), "mxfp4_e2m1")
    files.write_blocks(path, {"a": blocks, "b": blocks})
    return path.read_bytes()


@pytest.mark.parametrize("suffix", EVERY)
def test_truncated_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    content = good(path)
    for size in {0, 1, 7, 8, 9, 40, len(content) // 2, len(content) - 60, len(content) - 1}:
        path.write_bytes(content[:size])
        if suffix == ".gguf" and size == len(content) - 1:
            continue  # the last byte is filler
        says = f"{path} must be a whole {suffix} file…"
        assert_says(lambda: files.read_blocks(path), ValueError, says)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("suffix", EVERY)
def test_flipped_bytes(tmp_path: Path, suffix: str) -> None:
    """Whatever a byte is changed to, the file is read or refused in one sentence."""
    path = tmp_path / f"x{suffix}"
    content = good(path)
    generator = np.random.default_rng(2)
    refused = []
    for place, byte in generator.integers(0, [len(content), 256], (300, 2)).tolist():
        path.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
        try:
            files.read_blocks(path)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 100
    for sentence in refused:
        assert sentence.startswith(f"{path} must be a whole {suffix} file")
        assert "\n" not in sentence


HEADERS = [
    *tables.rows("files", "damaged_headers"),
    ["nested", "[" * 100_000, "its header is none: JSON of other types, or nested too deep"],
]


@pytest.mark.parametrize(("_what", "header", "reason"), HEADERS, ids=[row[0] for row in HEADERS])
def test_damaged_headers(tmp_path: Path, _what: str, header: str, reason: str) -> None:
    text = header.encode("latin1")
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    with pytest.raises(ValueError, match=rf"x\.safetensors must be a whole .*{reason}") as error:
        files.read_blocks(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('\\"format\\": \\"mxfp4_e2m1\\"', '\\"format\\": \\"mxfp4_e9m9\\"'),
        ('\\"axis\\": 1', '\\"axis\\": 7'),
        ('\\"shape\\": [3, 64]', '\\"shape\\": [3, 99]'),
        ('\\"float32\\"', '\\"float99\\"'),
        ('\\"tensor_scale\\": null', '\\"tensor_scale\\": 9999'),
        ('\\"codes_shape\\": [3, 64]', '\\"codes_shape\\": [9, 64]'),
    ],
)
def test_damaged_descriptions(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "x.safetensors"
    files.write_blocks(path, {"x": mxref.quantize(numbers((3, 64)), "mxfp4_e2m1")})
    content = path.read_bytes()
    assert content.count(old.encode()) == 1
    path.write_bytes(content.replace(old.encode(), new.encode()))
    with pytest.raises(
        ValueError, match=r"x\.safetensors must be a whole .safetensors file, ('x'|its header)"
    ):
        files.read_blocks(path)


def described_file(path: Path, tensors: dict[str, Any], about: dict[str, Any]) -> None:
    """A file whose metadata says that "x" is blocks: 32 codes of MXFP4, or what is given."""
    known = {"format": "mxfp4_e2m1", "element": "e2m1", "scale": "e8m0", "block_size": 32}
    known |= {"axis": 0, "shape": [32], "codes_shape": [32], "dtype": "float32"}
    known |= {"tensor_scale": None, **about}
    metadata = {"mxref": json.dumps({"tensors": {"x": known}})}
    raw_safetensors(path, {"x": CODES, "x_scale": SCALE} | tensors, metadata=metadata)


def test_a_described_file_by_hand(tmp_path: Path) -> None:
    """The file that `other_parts.txt` alters is read."""
    path = tmp_path / "x.safetensors"
    described_file(path, {}, {})
    want = blocks_of([1, 2] * 16, [127], retyped("mxfp4_e2m1", 32))
    assert_same(files.read_blocks(path)["x"], want)
    scales = ("F8_E4M3", [2], b"\x38\x38")
    number = ("F32", [], b"\x00\x00\x80\x3f")
    about = {"format": "nvfp4", "scale": "ue4m3", "block_size": 16, "tensor_scale": "factor"}
    described_file(path, {"x_scale": scales, "x_scale_2": number}, about)
    assert files.read_blocks(path)["x"].dequantize().tolist() == [0.5, 1.0] * 16


PARTS = tables.rows("files", "other_parts")
for dtype in ("object", "O", "bool", "complex64", "finfo", "__doc__", "U5", "V3", "f4,f4"):
    says = f"dtype must be that of floats or integers, got {dtype}"
    PARTS.append([f"dtype {dtype}", "{}", json.dumps({"dtype": dtype}), says])


@pytest.mark.parametrize(
    ("_what", "tensors", "about", "reason"), PARTS, ids=[row[0] for row in PARTS]
)
def test_parts_that_mxref_would_not_write(
    tmp_path: Path, _what: str, tensors: str, about: str, reason: str
) -> None:
    given = {
        name: (kind, shape, bytes.fromhex(data))
        for name, (kind, shape, data) in json.loads(tensors).items()
    }
    path = tmp_path / "x.safetensors"
    described_file(path, given, json.loads(about))
    sentence = rf"x\.safetensors must be a whole .* 'x' is no blocks: .*{reason}"
    with pytest.raises(ValueError, match=sentence) as error:
        files.read_blocks(path)
    assert "\n" not in str(error.value)


def test_archives_of_others(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"

    def refused(reason: str, call: Any = files.read_blocks) -> None:
        with pytest.raises(ValueError, match=rf"x\.npz must be a whole \.npz file, .*{reason}"):
            call(path)

    np.savez(path, codes=np.zeros(3))
    refused("it lacks")
    good(path)
    with zipfile.ZipFile(path) as archive:
        arrays = {name[:-4]: np.load(archive.open(name)) for name in archive.namelist()}
    arrays["a/codes"] = arrays["a/codes"] + 16
    np.savez(path, **arrays)
    refused(r"codes must be in \[0, 15\]")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + bytes(9))
    refused("", lambda path: next(files.entries(path)))
    np.savez(path, o=np.array([{}], object))
    refused("Object arrays", lambda path: next(files.entries(path)).load())


# --- what is not written --------------------------------------------------------------------------


FINE = mxref.quantize(numbers((2, 32)), "mxfp4_e2m1")


def assert_no_place(path: Path, tensors: dict[str, Any], reason: str) -> None:
    with pytest.raises((ValueError, TypeError), match=reason) as error:
        files.write_blocks(path, tensors)
    assert "\n" not in str(error.value)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("suffix", "names", "shape", "name", "choices", "reason"),
    tables.rows("files", "no_place"),
)
def test_what_has_no_place(
    tmp_path: Path, suffix: str, names: str, shape: str, name: str, choices: str, reason: str
) -> None:
    values = numbers(tuple(json.loads(shape)))
    (chosen,) = tables.choices(choices)
    blocks = mxref.quantize(values, name, **chosen)
    assert_no_place(tmp_path / f"x{suffix}", dict.fromkeys(json.loads(names), blocks), reason)


def test_other_things_that_have_no_place(tmp_path: Path) -> None:
    path, gguf = tmp_path / "x.npz", tmp_path / "x.gguf"
    assert_no_place(path, {"x": np.zeros(3)}, "must be Blocks by name, got ndarray for 'x'")
    # Of 65,535 bytes with the longest /NAME.npy that this tensor has.
    longest = "x" * (65_535 - len("/scale_codes.npy"))
    says = "of at most 65535 bytes with 'scale_codes' behind them, got 'x{50}' of 65520 bytes$"
    assert_no_place(path, {"fine": FINE, longest + "x": FINE}, says)
    flags = dataclasses.replace(FINE, dtype=np.dtype(bool))
    says = "dtype must be that of floats or integers, got bool$"
    assert_no_place(tmp_path / "x.safetensors", {"x": flags}, says)
    mine = dataclasses.replace(retyped("mxfp4_e2m1", 32), name="mine")
    says = "format must be one of mxref.s by name, .* got mine of e2m1 and e8m0"
    assert_no_place(tmp_path / "x.safetensors", {"x": mxref.quantize([1.0], mine)}, says)
    for name, taken in (("fp4_ue4m3", "0"), ("mxfp4_e2m1", r"2\*\*128")):
        blocks = mxref.quantize(np.float32([np.nan] * 64), name)
        says = f"no NaN block, whose scale its readers take for {taken}, got one in 'x'"
        assert_no_place(gguf, {"x": blocks}, says)


def test_blocks_without_a_name(tmp_path: Path) -> None:
    path, unnamed = tmp_path / "x.safetensors", FINE
    says = "tensors must be a mapping of names to Blocks, such as {'weight': blocks}, got Blocks"
    assert_says(lambda: files.write_blocks(path, unnamed), TypeError, says)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", EVERY)
@pytest.mark.parametrize(
    "choice",
    [
        *("fp4_packing=high_nibble_first", "fp6_packing=quark", "scale_place=before"),
        *("scale_byte=signed", "scale_layout=tiles_128x4"),
    ],
)
def test_layouts_that_the_file_does_not_have(tmp_path: Path, suffix: str, choice: str) -> None:
    name, _, value = choice.partition("=")
    for given in (f"ocp+{choice}", mxref.Policy.parse(f"ocp+{choice}")):
        with pytest.raises(ValueError, match=f"^policy must leave {name} as in ocp") as error:
            files.write_blocks(tmp_path / f"x{suffix}", {"x": FINE}, given)
        assert f"got {value}: for others use pack" in str(error.value)
        assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


# --- packages -------------------------------------------------------------------------------------


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    path = tmp_path / "x.gguf"
    sentence = (
        r"x\.gguf needs the package gguf: .* pip install -e '\.\[io\]', elsewhere pip install gguf$"
    )
    for call in (lambda: files.write_blocks(path, {"x": FINE}), lambda: files.read_blocks(path)):
        with pytest.raises(ValueError, match=sentence):
            call()
    assert list(tmp_path.iterdir()) == []


def test_no_package_is_imported_before_it_is_needed(tmp_path: Path) -> None:
    files.write_blocks(tmp_path / "x.safetensors", {"x": FINE})
    script = (
        "import sys; from mxref import files; files.read_blocks(sys.argv[1]); "
        "print(sorted({'gguf', 'safetensors', 'torch'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "x.safetensors")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
