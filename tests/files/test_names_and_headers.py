"""Names that reach beyond a folder or a line, and headers that hold no shape or no end."""

from __future__ import annotations

import os
import struct
import sys
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import pytest
from file_helpers import assert_same, gguf_file, raw_safetensors
from needs import needs

import mxref
from mxref import files
from mxref.cli import main

BLOCKS = mxref.quantize(np.float32([1, 2, 3]), "mxfp4_e2m1")
UNSAFE = ["../../evil", "/etc/evil", "a/../../b", "..", ".", "a//b", "a/", "C:\\evil", "C:evil"]
UNSAFE += ["x\x1b[2J\r\ny", "\x9bx"]


@pytest.mark.parametrize("name", UNSAFE)
def test_an_entry_of_an_archive_stays_below_its_folder(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    files.write_blocks(path, {name: BLOCKS})
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            parts = entry.split("/")
            assert not {"", ".", ".."} & {*parts}, entry
            assert not {"\\", ":"} & {*entry}, entry
            assert entry.isprintable(), entry
    assert files.read_blocks(path) == {name: BLOCKS}


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_names_that_would_fall_together_stay_apart(tmp_path: Path, suffix: str) -> None:
    names = ["/", "//", "/a", "a", "a/", "a/codes", "a.npy", "a/codes.npy", "../../b", ".", "a\nb"]
    names += ["_", "..", "a/_", "a//", "a/:", "a/_/b", "a//b", "_2", "__2"]
    names += ["A", "A_2", "A/_", "stra\u00dfe", "STRASSE", "\u00e9", "e\u0301", "E\u0301"]
    if suffix == ".npz":
        names += ["", "x" + "é" * 32_756]  # 65,535 bytes with /tensor_scale_kind.npy
    path = tmp_path / f"x{suffix}"
    blocks = {
        name: mxref.quantize(np.float32([number]), "nvfp4", block_size=1)
        for number, name in enumerate(names, 1)
    }
    files.write_blocks(path, blocks)
    again = files.read_blocks(path)
    assert set(again) == set(names)
    for name, want in blocks.items():
        assert_same(again[name], want)
    if suffix == ".npz":  # which is unpacked where case and normal forms are ignored, too
        with zipfile.ZipFile(path) as archive:
            entries = [unicodedata.normalize("NFD", one) for one in archive.namelist()]
        assert len({one.casefold() for one in entries}) == len(entries)


def test_an_archive_with_two_members_of_one_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "two.npz", tmp_path / "out.npz"
    np.save(tmp_path / "a.npy", np.float32([1, 2]))
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(tmp_path / "a.npy", "a.npy")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.write(tmp_path / "a.npy", "a.npy")
    assert main(["quantize", str(path), "--format", "mxfp4_e2m1", "-o", str(out)]) == 2
    assert "it has two members 'a.npy'" in capsys.readouterr().err
    assert not out.exists()


def test_usual_names_are_as_they_are(tmp_path: Path) -> None:
    files.write_blocks(tmp_path / "x.npz", {"layers.0/größe .x": BLOCKS, "": BLOCKS})
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        assert "layers.0/größe .x/codes.npy" in archive.namelist()
        assert "codes.npy" in archive.namelist()
        assert not any("name" in entry for entry in archive.namelist())


def npy(path: Path, shape: str, order: str = "False") -> Path:
    """A .npy file of a shape, as it is written there, and 64 bytes."""
    text = f"{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}}}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64))
    return path


@pytest.mark.parametrize(
    "shape",
    # The last one is beyond all memory, and gives no warning either.
    ["(True,)", "(True, 2)", "(0, False)", "('2',)", "(2.0,)", "2", "(99999999999, 9999999999)"],
)
@pytest.mark.parametrize("order", ["True", "False"])
def test_a_shape_that_is_none_is_a_sentence(shape: str, order: str, tmp_path: Path) -> None:
    path = npy(tmp_path / "x.npy", shape, order)
    sentence = r"x\.npy must be a whole \.npy file of numbers, it is cut or damaged"
    with pytest.raises(ValueError, match=sentence):
        list(files.read_tensors(path))
    assert main(["quantize", str(path), "--format", "mxint8"]) == 2


def test_names_are_escaped_on_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name in a file must not clear the screen, or write lines of its own."""
    path = tmp_path / "x.safetensors"
    tensors = {"a\u001b[2J\nb\u202e": ("F32", [1], bytes(4)), "c\u0007": ("I8", [1], b"\0")}
    raw_safetensors(path, tensors)
    assert main(["quantize", str(path), "--format", "mxint8", "--all"]) == 0
    out = capsys.readouterr().out
    assert all(line.isprintable() for line in out.splitlines())
    assert "a\\x1b[2J\\nb\\u202e" in out
    assert "skipped c\\x07: it holds I8, no floats" in out


def test_a_description_is_escaped_on_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.safetensors"
    files.write_blocks(path, {"x": BLOCKS})
    data = path.read_bytes()
    path.write_bytes(data.replace(b'mxfp4_e2m1\\"', b'mxfp4\\\\u001b[1\\"'))
    assert path.read_bytes() != data
    length = int.from_bytes(data[:8], "little") + len(path.read_bytes()) - len(data)
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    assert main(["quantize", str(path), "--format", "mxint8"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("how", ["same", "symlink", "hard link", "other path"])
def test_the_output_is_not_the_input(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = out = tmp_path / "x.safetensors"
    raw_safetensors(path, {"a": ("F32", [1], bytes(4))})
    if how != "same":
        out = tmp_path / "y.npz"
        (tmp_path / "d").mkdir()
        there = {"symlink": path, "other path": tmp_path / "d" / ".." / path.name}.get(how)
        if there:
            out.symlink_to(there)
        else:
            os.link(path, out)
    before = path.read_bytes()
    assert main(["quantize", str(path), "--format", "mxint8", "-o", str(out)]) == 2
    assert f"--out must be another file than FILE, got {out}" in capsys.readouterr().err
    assert path.read_bytes() == before


def test_an_output_that_is_not_there_is_written(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(4, np.float32))
    command = ["quantize", str(tmp_path / "x.npy"), "--format", "mxint8"]
    for _ in range(2):
        assert main([*command, "-o", str(tmp_path / "y.npz")]) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_error_of_reading_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.npy"
    path.symlink_to("/proc/self/mem")
    assert main(["quantize", str(path), "--format", "mxfp4_e2m1"]) == 2
    assert capsys.readouterr().err == f"mxref: error: {path}: Input/output error\n"


# --- headers of .gguf -----------------------------------------------------------------------------


def header(values: bytes, count: int = 1) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, count) + values


KEY = struct.pack("<Q", 1) + b"k"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (header(KEY + struct.pack("<IIQ", 9, 0, 2**60)), "a list in its header has 1,15"),
        (header(KEY + struct.pack("<IIQ", 9, 8, 2**22)), "its header goes beyond its end"),
        (header(KEY + struct.pack("<IQ", 8, 2**63)), "its header goes beyond its end"),
        (header(KEY + struct.pack("<I", 77)), "a value of the unknown type 77"),
        (header(b"", 2**62), "its header goes beyond its end"),
        (header(b"")[:20], "its header goes beyond its end"),
        (b"GGUX" + header(b"")[4:], "it does not begin as one"),
        (header(KEY + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000), "recursion"),
    ],
)
def test_a_gguf_header_is_read_to_its_end_and_no_further(
    content: bytes, why: str, tmp_path: Path
) -> None:
    needs("gguf")
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=why) as caught:
        list(files.read_tensors(path))
    assert str(caught.value).startswith(f"{path} must be a whole .gguf file, it is cut or damaged:")


@pytest.mark.parametrize("endian", ["LITTLE", "BIG"])
def test_a_gguf_header_of_all_types_is_read(endian: str, tmp_path: Path) -> None:
    path, endian = tmp_path / "x.gguf", needs("gguf").GGUFEndian[endian]
    fields = {"one": "größe", "two": True, "three": 0.5, "four": 4, "five": ["a", "", "b"]}
    tensors = {"w": (np.float32([[1, 2, 3]]), None)}
    gguf_file(path, tensors, endian=endian, six=[1, 2, 3], **fields)
    ((name, tensor),) = files.read_tensors(path)
    assert (name, np.asarray(tensor).tolist()) == ("w", [[1, 2, 3]])
