"""Names that reach beyond a folder or a line, and headers of ``.npy`` that hold no shape."""

from __future__ import annotations

import os
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from needs import needs

import mxref
from mxref import files
from mxref.cli import main

BLOCKS = mxref.quantize(np.float32([1, 2, 3]), "mxfp4_e2m1")
UNSAFE = [
    "../../evil",
    "/etc/evil",
    "a/../../b",
    "..",
    ".",
    "a//b",
    "a/",
    "C:\\evil",
    "C:evil",
    "x\x1b[2J\r\ny",
    "\x9bx",
]


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


def test_names_that_would_fall_together_stay_apart(tmp_path: Path) -> None:
    names = ["_", "..", ".", "a/_", "a//", "a/:", "a/_/b", "a//b", "_2", "__2"]
    tensors = {name: mxref.quantize(np.float32([n]), "mxint8") for n, name in enumerate(names)}
    files.write_blocks(tmp_path / "x.npz", tensors)
    assert files.read_blocks(tmp_path / "x.npz") == tensors


def test_usual_names_are_as_they_are(tmp_path: Path) -> None:
    files.write_blocks(tmp_path / "x.npz", {"layers.0/größe .x": BLOCKS, "": BLOCKS})
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        assert "layers.0/größe .x/codes.npy" in archive.namelist()
        assert "codes.npy" in archive.namelist()
        assert not any("name" in entry for entry in archive.namelist())


def npy(header: str) -> bytes:
    text = header.encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(64)


@pytest.mark.parametrize("shape", ["(True,)", "(True, 2)", "(0, False)", "('2',)", "(2.0,)", "2"])
@pytest.mark.parametrize("order", ["True", "False"])
def test_a_shape_that_is_none_is_a_sentence(shape: str, order: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(npy(f"{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}}}"))
    with pytest.raises(
        ValueError, match=r"x\.npy must be a whole \.npy file of numbers, it is cut"
    ):
        list(files.read_tensors(path))
    assert main(["quantize", str(path), "--format", "mxint8"]) == 2


def test_names_are_escaped_on_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name in a file must not clear the screen, or write lines of its own."""
    path = tmp_path / "x.safetensors"
    header = (
        b'{"a\\u001b[2J\\nb\\u202e":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
        b'"c\\u0007":{"dtype":"I8","shape":[1],"data_offsets":[4,5]}}'
    )
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(5))
    assert main(["quantize", str(path), "--format", "mxint8"]) == 0
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
    path, out = tmp_path / "x.npy", tmp_path / "y.npz"
    np.save(path, np.ones(4, np.float32))
    path = path.rename(tmp_path / "x.safetensors" if how == "same" else path)
    if how == "same":
        header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
        out = path
    elif how == "symlink":
        out.symlink_to(path)
    elif how == "hard link":
        os.link(path, out)
    else:
        (tmp_path / "d").mkdir()
        out.symlink_to(tmp_path / "d" / ".." / path.name)
    before = path.read_bytes()
    assert main(["quantize", str(path), "--format", "mxint8", "-o", str(out)]) == 2
    assert f"--out must be another file than FILE, got {out}" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_an_output_that_is_not_there_is_written(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(4, np.float32))
    out = tmp_path / "y.npz"
    assert main(["quantize", str(tmp_path / "x.npy"), "--format", "mxint8", "-o", str(out)]) == 0
    assert main(["quantize", str(tmp_path / "x.npy"), "--format", "mxint8", "-o", str(out)]) == 0


# --- headers with lengths that are not there ------------------------------------------------------


def gguf(values: bytes, count: int = 1) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, count) + values


def text(name: str) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode()


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (gguf(text("k") + struct.pack("<IIQ", 9, 0, 2**60)), "a list in its header has 1,15"),
        (gguf(text("k") + struct.pack("<IIQ", 9, 8, 2**22)), "its header goes beyond its end"),
        (gguf(text("k") + struct.pack("<IQ", 8, 2**63)), "its header goes beyond its end"),
        (gguf(text("k") + struct.pack("<I", 77)), "a value of the unknown type 77"),
        (gguf(b"", 2**62), "its header goes beyond its end"),
        (gguf(b"")[:20], "its header goes beyond its end"),
        (b"GGUX" + gguf(b"")[4:], "it does not begin as one"),
        (gguf(text("k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 5000), "recursion"),
    ],
)
def test_a_gguf_header_is_read_to_its_end_and_no_further(
    header: bytes, why: str, tmp_path: Path
) -> None:
    needs("gguf")
    path = tmp_path / "x.gguf"
    path.write_bytes(header)
    with pytest.raises(ValueError, match=why) as caught:
        list(files.read_tensors(path))
    assert str(caught.value).startswith(f"{path} must be a whole .gguf file, it is cut or damaged:")


@pytest.mark.parametrize("endian", ["LITTLE", "BIG"])
def test_a_gguf_header_of_all_types_is_read(endian: str, tmp_path: Path) -> None:
    package = needs("gguf")
    path = tmp_path / "x.gguf"
    writer = package.GGUFWriter(path, "llama", endianess=package.GGUFEndian[endian])
    writer.add_string("one", "größe")
    writer.add_bool("two", True)
    writer.add_float64("three", 0.5)
    writer.add_uint8("four", 4)
    writer.add_array("five", ["a", "", "b"])
    writer.add_array("six", [1, 2, 3])
    writer.add_tensor("w", np.float32([[1, 2, 3]]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    ((name, tensor),) = files.read_tensors(path)
    assert (name, np.asarray(tensor).tolist()) == ("w", [[1, 2, 3]])


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (b"[1]", "its header is none: JSON of other types, or nested too deep"),
        (b"5", "its header is none: JSON of other types, or nested too deep"),
        (b'{"a": null}', "its header is none: JSON of other types, or nested too deep"),
        (b"[" * 100000, "its header is none: JSON of other types, or nested too deep"),
        (b'{"a": {"dtype": {}, "shape": [], "data_offsets": [0, 0]}}', "unknown type '{}'"),
    ],
)
def test_a_safetensors_header_of_other_types(header: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ValueError, match=why):
        list(files.read_tensors(path))


def test_a_shape_beyond_all_memory_gives_no_warning(tmp_path: Path) -> None:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9999999999), }\n"
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(ValueError, match="it is cut or damaged"):
        list(files.read_tensors(path))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_an_error_of_reading_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.npy"
    path.symlink_to("/proc/self/mem")
    assert main(["quantize", str(path), "--format", "mxfp4_e2m1"]) == 2
    assert capsys.readouterr().err == f"mxref: error: {path}: Input/output error\n"
