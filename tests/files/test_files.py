"""Real files: what is written and read, byte by byte, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import stat
import struct
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np
import pytest
import safetensors
from safetensors.numpy import save_file

import mxref
from mxref import files, formats
from mxref.blocks.container import Blocks
from mxref.blocks.two_level import TensorScale
from mxref.golden.store import _is_left_over
from mxref.policy.policy import Policy
from mxref.support.whole_file import whole_file, write_file

MXFP4 = formats.block_format("mxfp4_e2m1")
SHAPES = [((), -1), ((1,), 0), ((70,), 0), ((3, 5), -1), ((3, 5), 0), ((2, 33, 7), 1), ((4, 64), 1)]
BLOCK_FORMATS = [*formats.BLOCK_FORMATS, *formats.OTHER_BLOCK_FORMATS]


def numbers(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def assert_same(got: Blocks, want: Blocks) -> None:
    for field in dataclasses.fields(want):
        a, b = getattr(got, field.name), getattr(want, field.name)
        if isinstance(b, np.ndarray):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), field.name
        else:
            assert a == b, field.name


@pytest.mark.sampled(6)
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("name", BLOCK_FORMATS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_blocks_come_back(
    tmp_path: Path, suffix: str, name: str, shape: tuple[int, ...], axis: int
) -> None:
    path = tmp_path / f"x{suffix}"
    blocks = {
        "a": mxref.quantize(numbers(shape), name, axis=axis),
        "layers.0/é b": mxref.quantize(numbers(shape, np.float16), name, axis=axis, block_size=3),
        "short": mxref.quantize(numbers(shape, ml_dtypes.bfloat16), name, axis=axis, tail="short"),
    }
    files.write_blocks(path, blocks)
    again = files.read_blocks(path)
    assert list(again) == list(blocks)
    for key, want in blocks.items():
        assert_same(again[key], want)
        assert not again[key].codes.flags.writeable
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [path.name]


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 32)])
def test_no_elements_come_back(tmp_path: Path, suffix: str, shape: tuple[int, ...]) -> None:
    path = tmp_path / f"x{suffix}"
    for name in BLOCK_FORMATS:
        want = mxref.quantize(np.zeros(shape, np.float32), name)
        files.write_blocks(path, {"x": want})
        assert_same(files.read_blocks(path)["x"], want)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_blocks_of_two_axes_come_back(tmp_path: Path, suffix: str) -> None:
    want = mxref.quantize(numbers((3, 40, 5)), "mxfp6_e3m2", axis=(0, 1), block_size=(2, 32))
    path = tmp_path / f"x{suffix}"
    files.write_blocks(path, {"x": want})
    assert_same(files.read_blocks(path)["x"], want)


def test_rows_longer_than_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written in parts of a row, of whole rows, and with filler in each row: the same bytes."""
    blocks = {
        "long": mxref.quantize(numbers((3, 100)), "mxfp6_e2m3"),
        "odd": mxref.quantize(numbers((64, 7)), "mxfp4_e2m1", axis=0),
        "gguf": mxref.quantize(numbers((5, 96)), "mxfp4_e2m1"),
    }
    for suffix in (".npz", ".safetensors", ".gguf"):
        some = blocks if suffix != ".gguf" else {"gguf": blocks["gguf"]}
        contents = []
        for step in (1 << 20, 32, 64):
            monkeypatch.setattr("mxref.files.stored.STEP", step)
            files.write_blocks(tmp_path / f"x{suffix}", some)
            contents.append((tmp_path / f"x{suffix}").read_bytes())
        assert contents[0] == contents[1] == contents[2]
        for name, want in some.items():
            assert_same(files.read_blocks(tmp_path / f"x{suffix}")[name], want)


# --- the bytes themselves -------------------------------------------------------------------------


def parsed(path: Path) -> dict[str, tuple[str, list[int], bytes]]:
    """Tensors of a .safetensors file as the package of that name reads it."""
    found = safetensors.deserialize(path.read_bytes())
    return {name: (info["dtype"], info["shape"], bytes(info["data"])) for name, info in found}


def blocks_of(codes: Any, scales: Any, fmt: formats.BlockFormat, **more: Any) -> Blocks:
    codes = np.array(codes, np.uint8)
    return Blocks(codes, np.array(scales, np.uint8), fmt, codes.ndim - 1, codes.shape, **more)


def test_bytes_of_safetensors(tmp_path: Path) -> None:
    """Codes packed by hand, first in the lowest bits; types and shapes as the package says."""
    four = dataclasses.replace(MXFP4, block_size=4)
    six = dataclasses.replace(formats.block_format("mxfp6_e2m3"), block_size=4)
    also = dataclasses.replace(formats.block_format("mxfp6_e3m2"), block_size=4)
    two = dataclasses.replace(formats.block_format("mxfp8_e4m3"), block_size=2)
    other = dataclasses.replace(formats.block_format("mxfp8_e5m2"), block_size=2)
    integer = dataclasses.replace(formats.block_format("mxint8"), block_size=2)
    path = tmp_path / "x.safetensors"
    files.write_blocks(
        path,
        {
            "f4": blocks_of([[1, 2, 3, 15]], [[127]], four),
            # 01 02 03 3f: 000001 000010 000011 111111 from the low end: 0x81 0x30 0xfc
            "f6": blocks_of([1, 2, 3, 63], [1], six),
            "f6too": blocks_of([63, 0, 0, 32], [255], also),
            "f8": blocks_of([0x7E, 0x80], [0], two),
            "f8too": blocks_of([0x7B, 0xFF], [9], other),
            "i8": blocks_of([0x80, 0x01], [2], integer),
        },
    )
    assert parsed(path) == {
        "f4": ("F4", [1, 4], b"\x21\xf3"),
        "f4_scale": ("F8_E8M0", [1, 1], b"\x7f"),
        "f6": ("F6_E2M3", [4], b"\x81\x30\xfc"),
        "f6_scale": ("F8_E8M0", [1], b"\x01"),
        "f6too": ("F6_E3M2", [4], b"\x3f\x00\x80"),
        "f6too_scale": ("F8_E8M0", [1], b"\xff"),
        "f8": ("F8_E4M3", [2], b"\x7e\x80"),
        "f8_scale": ("F8_E8M0", [1], b"\x00"),
        "f8too": ("F8_E5M2", [2], b"\x7b\xff"),
        "f8too_scale": ("F8_E8M0", [1], b"\x09"),
        "i8": ("I8", [2], b"\x80\x01"),
        "i8_scale": ("F8_E8M0", [1], b"\x02"),
    }


def test_filler_of_an_odd_axis(tmp_path: Path) -> None:
    """Rows are whole bytes, so that a reader of packed pairs finds each."""
    blocks = Blocks(
        np.uint8([[1, 2, 3], [4, 5, 6]]),
        np.uint8([[7, 8, 9]]),
        dataclasses.replace(MXFP4, block_size=2),
        0,
        (2, 3),
    )
    path = tmp_path / "x.safetensors"
    files.write_blocks(path, {"x": blocks})
    assert parsed(path)["x"] == ("F4", [2, 4], b"\x21\x03\x54\x06")
    assert parsed(path)["x_scale"] == ("F8_E8M0", [1, 3], b"\x07\x08\x09")
    assert_same(files.read_blocks(path)["x"], blocks)


@pytest.mark.parametrize(
    ("kind", "suffix", "shape"),
    [("factor", "_scale_2", []), ("divisor", "_global_scale", [1]), ("amax", "_amax", [1])],
)
def test_scale_of_a_tensor(tmp_path: Path, kind: str, suffix: str, shape: list[int]) -> None:
    from mxref.blocks.two_level import TensorScaleKind

    fmt = dataclasses.replace(formats.block_format("nvfp4"), block_size=2)
    scale = TensorScale(0x3F000001, TensorScaleKind(kind))
    want = blocks_of([3, 9], [0x38], fmt, tensor_scale=scale)
    path = tmp_path / "x.safetensors"
    files.write_blocks(path, {"x": want})
    assert parsed(path) == {
        "x": ("F4", [2], b"\x93"),
        "x_scale": ("F8_E4M3", [1], b"\x38"),
        f"x{suffix}": ("F32", shape, b"\x01\x00\x00\x3f"),
    }
    assert [entry.name for entry in files.entries(path)] == ["x"]
    assert_same(files.read_blocks(path)["x"], want)


def test_a_format_without_a_type_is_written_as_codes(tmp_path: Path) -> None:
    want = mxref.quantize(numbers((2, 16)), "fp4_ue5m3")
    path = tmp_path / "x.safetensors"
    files.write_blocks(path, {"x": want})
    assert parsed(path)["x_scale"] == ("U8", [2, 1], want.scale_codes.tobytes())


def test_metadata(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    policy = "ocp+rounding=toward_zero"
    blocks = mxref.quantize(numbers((40, 3), np.float64), "mxfp4_e2m1", policy, axis=0)
    files.write_blocks(path, {"x": blocks}, policy)
    with safetensors.safe_open(path, "np") as opened:
        metadata = opened.metadata()
    assert json.loads(metadata["mxref"]) == {
        "policy": policy,
        "tensors": {
            "x": {
                "format": "mxfp4_e2m1",
                "element": "e2m1",
                "scale": "e8m0",
                "block_size": 32,
                "axis": 0,
                "shape": [40, 3],
                "codes_shape": [64, 3],
                "dtype": "float64",
                "tensor_scale": None,
            }
        },
    }


def test_bytes_of_gguf(tmp_path: Path) -> None:
    """One block of the ramp: the scale, then element j low and j + 16 high."""
    path = tmp_path / "x.gguf"
    codes = [i % 16 for i in range(16)] + [(i + 5) % 16 for i in range(16)]
    files.write_blocks(path, {"x": blocks_of([codes], [[130]], MXFP4)})
    (tensor,) = gguf.GGUFReader(path).tensors
    block = bytes([130, *((j + 5) % 16 << 4 | j for j in range(16))])
    assert (tensor.tensor_type.name, tensor.data.tobytes()) == ("MXFP4", block)
    assert tensor.shape.tolist() == [32, 1]


def test_bytes_of_nvfp4_in_gguf(tmp_path: Path) -> None:
    """64 elements: four scales, then for every 16 of them element j low and j + 8 high."""
    path = tmp_path / "x.gguf"
    codes = [i * 7 % 16 for i in range(64)]
    blocks = blocks_of([codes], [[0x38, 0x01, 0x7E, 0x00]], mxref.formats.block_format("fp4_ue4m3"))
    files.write_blocks(path, {"x": blocks})
    (tensor,) = gguf.GGUFReader(path).tensors
    parts = (codes[start : start + 16] for start in range(0, 64, 16))
    nibbles = [part[j + 8] << 4 | part[j] for part in parts for j in range(8)]
    assert tensor.data.tobytes() == bytes([0x38, 0x01, 0x7E, 0x00, *nibbles])
    assert (tensor.tensor_type.name, tensor.shape.tolist()) == ("NVFP4", [64, 1])
    assert_same(files.read_blocks(path)["x"], blocks)


# --- files of others ------------------------------------------------------------------------------


def test_safetensors_of_the_package(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    values = {
        "f64": np.array([[1.5, -0.0]]),
        "f32": np.array([1.5, 2.0**-149], np.float32),
        "f16": np.array(0.5, np.float16),
        "i32": np.array([[1], [-2]], np.int32),
        "flag": np.array([True, False, True]),
        "empty": np.zeros((0, 3), np.float32),
    }
    save_file(values, path)
    found = dict(files.read_tensors(path))
    assert set(found) == set(values)
    for name, want in values.items():
        got = found[name]
        assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())
        assert not got.flags.writeable


def raw_safetensors(
    path: Path, tensors: dict[str, tuple[str, list[int], bytes]], pad: int = 0
) -> None:
    """A file made from the description of the format."""
    header, end = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header).encode() + b" " * pad
    content = b"".join(data for _, _, data in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


@pytest.mark.parametrize("pad", range(8))
def test_small_floats_of_safetensors(tmp_path: Path, pad: int) -> None:
    """Known bytes of every type, at every alignment."""
    path = tmp_path / "x.safetensors"
    raw_safetensors(
        path,
        {
            "one byte before": ("U8", [1], b"x"),
            "bf16": ("BF16", [2, 1], b"\x80\x3f\x00\xc0"),
            "f32": ("F32", [1], b"\x00\x00\x80\x3f"),
            "f4": ("F4", [2, 2], b"\x21\xf7"),
            "e2m3": ("F6_E2M3", [4], b"\x81\x30\xfc"),
            "e3m2": ("F6_E3M2", [4], b"\x81\x30\xfc"),
            "e4m3": ("F8_E4M3", [2], b"\x38\x7f"),
            "e5m2": ("F8_E5M2", [2], b"\x3c\xfc"),
            "e4m3fnuz": ("F8_E4M3FNUZ", [2], b"\x40\x80"),
            "e5m2fnuz": ("F8_E5M2FNUZ", [2], b"\x40\x80"),
            "e8m0": ("F8_E8M0", [3], b"\x7f\x00\xff"),
        },
        pad,
    )
    assert {entry.name for entry in files.entries(path) if entry.small} == {
        *("f4", "e2m3", "e3m2", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0")
    }
    found = dict(files.read_tensors(path))
    assert str(found["bf16"].dtype) == "bfloat16"
    assert found["f4"].dtype == ml_dtypes.float4_e2m1fn
    texts = {name: str(x.astype(np.float64).tolist()) for name, x in found.items()}
    assert texts == {
        "one byte before": "[120.0]",
        "bf16": "[[1.0], [-2.0]]",
        "f32": "[1.0]",
        "f4": "[[0.5, 1.0], [6.0, -6.0]]",
        "e2m3": "[0.125, 0.25, 0.375, -7.5]",
        "e3m2": "[0.0625, 0.125, 0.1875, -28.0]",
        "e4m3": "[1.0, nan]",
        "e5m2": "[1.0, -inf]",
        "e4m3fnuz": "[1.0, nan]",
        "e5m2fnuz": "[1.0, nan]",
        "e8m0": f"[1.0, {2.0**-127!r}, nan]",
    }
    for x in found.values():  # each of them can be quantized
        mxref.quantize(x, "mxint8")


def gguf_file(path: Path, tensors: dict[str, tuple[np.ndarray, Any]], **options: Any) -> None:
    writer = gguf.GGUFWriter(path, "test", **options)
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_gguf_of_the_package(tmp_path: Path) -> None:
    """Its own quantizer's MXFP4 stands for the same numbers here, and floats are as they were."""
    path = tmp_path / "x.gguf"
    kinds = gguf.GGMLQuantizationType
    values = numbers((3, 2, 64)) * np.float32([2.0**-100, 1, 2.0**90]).reshape(3, 1, 1)
    packed = gguf.quants.quantize(values, kinds.MXFP4)
    bfloat16 = values.astype(ml_dtypes.bfloat16)
    gguf_file(
        path,
        {
            "mxfp4": (packed, kinds.MXFP4),
            "f32": (values, None),
            "f16": (values[1, :, :7].astype(np.float16), None),
            "f64": (values[0].astype(np.float64), None),
            "bf16": (bfloat16.view(np.uint8), kinds.BF16),
            "i32": (np.arange(5, dtype=np.int32), None),
            "q8": (gguf.quants.quantize(values[1], kinds.Q8_0), kinds.Q8_0),
        },
    )
    found = dict(files.read_tensors(path))
    blocks = found["mxfp4"]
    assert (blocks.shape, blocks.axis, blocks.format.name) == ((3, 2, 64), 2, "mxfp4_e2m1")
    want = gguf.quants.dequantize(packed, kinds.MXFP4)
    # Equal as numbers, for that package writes no -0, but reads its code as +0.
    np.testing.assert_array_equal(blocks.dequantize() + np.float32(0), want)
    assert np.count_nonzero(want) > 200
    assert found["f32"].tobytes() == values.tobytes()
    assert found["f16"].tobytes() == values[1, :, :7].astype(np.float16).tobytes()
    assert found["f64"].tobytes() == values[0].astype(np.float64).tobytes()
    assert found["bf16"].dtype == ml_dtypes.bfloat16
    assert found["bf16"].shape == values.shape
    assert found["bf16"].tobytes() == bfloat16.tobytes()
    assert found["i32"].tolist() == [0, 1, 2, 3, 4]
    assert found["q8"].dtype == np.uint8
    assert set(files.read_blocks(path)) == {"mxfp4"}


@pytest.mark.parametrize("shape", [(32,), (3, 64), (2, 1, 96), (2, 3, 2, 32)])
def test_gguf_reads_what_mxref_wrote(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = tmp_path / "x.gguf"
    values = numbers(shape)
    values.reshape(-1)[:4] = [0.0, -0.0, 2.0**-140, 2.0**100]
    blocks = {
        "x": mxref.quantize(values, "mxfp4_e2m1"),
        "tiny": mxref.quantize(values * np.float32(2.0**-126), "mxfp4_e2m1"),
        "zero": mxref.quantize(np.zeros(shape, np.float16), "mxfp4_e2m1"),
    }
    files.write_blocks(path, blocks, "ocp")
    reader = gguf.GGUFReader(path)
    assert [tensor.name for tensor in reader.tensors] == list(blocks)
    for tensor in reader.tensors:
        got = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        want = blocks[tensor.name].dequantize()
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)  # its -0 is 0
        assert tuple(reversed(tensor.shape.tolist())) == shape
    for name, got in files.read_blocks(path).items():
        assert_same(got, blocks[name])


@pytest.mark.parametrize("shape", [(64,), (3, 128), (2, 3, 2, 64)])
def test_the_package_reads_nvfp4_that_mxref_wrote(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """The same numbers before the factor, which is a tensor beside it, as llama.cpp has it."""
    path = tmp_path / "x.gguf"
    values = numbers(shape)
    values.reshape(-1)[:2] = [0.0, -0.0]
    blocks = {
        "blk.0.up.weight": mxref.quantize(values, "nvfp4"),
        "plain": mxref.quantize(values, "fp4_ue4m3"),
        "mx": mxref.quantize(values, "mxfp4_e2m1"),
    }
    files.write_blocks(path, blocks)
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    assert list(tensors) == ["blk.0.up.weight", "blk.0.up.scale", "plain", "mx"]
    factor = tensors.pop("blk.0.up.scale").data
    assert factor.tolist() == [blocks["blk.0.up.weight"].tensor_scale.value]
    for name, tensor in tensors.items():
        got = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        alone = blocks[name]
        if alone.tensor_scale is not None:
            alone = dataclasses.replace(
                alone, format=mxref.formats.block_format("fp4_ue4m3"), tensor_scale=None
            )
        np.testing.assert_array_equal(got, alone.dequantize())  # its -0 is 0
        assert np.count_nonzero(got) > got.size // 2
    found = files.read_blocks(path)
    assert list(found) == list(blocks)
    for name, got in found.items():
        assert_same(got, blocks[name])


def test_nvfp4_of_the_package_in_gguf(tmp_path: Path) -> None:
    """Every scale that its readers and mxref read alike, and every pair of nibbles."""
    path = tmp_path / "x.gguf"
    kind = gguf.GGMLQuantizationType.NVFP4
    scales = np.resize(np.arange(0x7F, dtype=np.uint8), (32, 4))
    packed = np.concatenate([scales, np.resize(np.arange(256, dtype=np.uint8), (32, 32))], axis=1)
    experts = np.float32([1, 2])
    gguf_file(
        path,
        {
            "a.weight": (packed, kind),
            "a.scale": (np.float32([0.375]), None),
            "b.weight": (packed, kind),
            "c.weight": (packed, kind),
            "c.scale": (experts, None),  # of experts, which is no scale of a tensor
        },
    )
    want = gguf.quants.dequantize(packed, kind)
    found = dict(files.read_tensors(path))
    assert list(found) == ["a.weight", "b.weight", "c.weight", "c.scale"]
    assert found["c.scale"].tolist() == [1, 2]
    assert found["a.weight"].format.name == "nvfp4"
    for name in ("b.weight", "c.weight"):
        assert found[name].format.name == "fp4_ue4m3"
        np.testing.assert_array_equal(found[name].dequantize(), want)
    np.testing.assert_array_equal(found["a.weight"].dequantize(), want * np.float32(0.375))


def test_npy(tmp_path: Path) -> None:
    values = numbers((3, 5))
    np.save(tmp_path / "weights.npy", values)
    ((name, got),) = files.read_tensors(tmp_path / "weights.npy")
    assert (name, got.tobytes(), type(got)) == ("weights", values.tobytes(), np.memmap)
    np.save(tmp_path / "b.npy", values.astype(ml_dtypes.bfloat16))
    ((_, got),) = files.read_tensors(tmp_path / "b.npy", bfloat16=True)
    assert got.tobytes() == values.astype(ml_dtypes.bfloat16).tobytes()
    with pytest.raises(ValueError, match=r"bfloat16 must be said of \.npy files only"):
        list(files.read_tensors(tmp_path / "x.gguf", bfloat16=True))


# --- what is refused ------------------------------------------------------------------------------


def good(path: Path) -> bytes:
    """A file with two tensors, in the format of the suffix."""
    blocks = mxref.quantize(numbers((3, 64)), "mxfp4_e2m1")
    files.write_blocks(path, {"a": blocks, "b": blocks})
    return path.read_bytes()


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_truncated_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    content = good(path)
    for size in {0, 1, 7, 8, 9, 40, len(content) // 2, len(content) - 60, len(content) - 1}:
        path.write_bytes(content[:size])
        if suffix == ".gguf" and size == len(content) - 1:
            continue  # the last byte is filler
        with pytest.raises(
            ValueError, match=rf"x\{suffix} must be a whole \{suffix} file"
        ) as error:
            files.read_blocks(path)
        assert "\n" not in str(error.value)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
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


_ENTRY: dict[str, Any] = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
#: A header, or what is wrong with one entry -> what the message says. Eight bytes follow.
BAD_HEADERS: dict[str, tuple[Any, str]] = {
    "no JSON": (b"{", "its header is none"),
    "no text": (b'{"\xff": 1}', "its header is none: 'utf-8'"),
    "a list": (b"[]", "its header is none"),
    "nested": (b"[" * 100_000, "its header is none"),
    "twice": (b'{"x": {}, "x": {}}', "a name stands there twice"),
    "no entry": ({"x": 1}, "its header is none"),
    "no dtype": ({"x": {"shape": []}}, "it lacks 'dtype'"),
    "dtype": ({"x": {**_ENTRY, "dtype": "F5"}}, "unknown type 'F5'"),
    "dtype of a list": ({"x": {**_ENTRY, "dtype": []}}, "its header is none"),
    "shape": ({"x": {**_ENTRY, "shape": [-2]}}, r"shape \(-2,\)"),
    "shape of floats": ({"x": {**_ENTRY, "shape": [2.0]}}, r"shape \(2.0,\)"),
    "shape of flags": ({"x": {**_ENTRY, "shape": [True, 2]}}, r"shape \(True, 2\)"),
    "size": ({"x": {**_ENTRY, "shape": [3]}}, r"F32 of shape \(3,\) in 8 bytes"),
    "half a byte": (
        {"x": {"dtype": "F4", "shape": [15], "data_offsets": [0, 8]}},
        r"F4 of shape \(15,\) in 8 bytes",
    ),
    "three offsets": ({"x": {**_ENTRY, "data_offsets": [0, 8, 8]}}, "its header is none"),
    "backwards": ({"x": {**_ENTRY, "data_offsets": [8, 0]}}, "in -8 bytes"),
    "a hole": ({"x": {**_ENTRY, "shape": [1], "data_offsets": [4, 8]}}, "begins at byte 4, not"),
    "overlap": ({"x": _ENTRY, "y": _ENTRY}, "begins at byte 0, not at 8"),
    "beyond the end": (
        {"x": {**_ENTRY, "shape": [3], "data_offsets": [0, 12]}},
        "its tensors have 12 bytes, 8 are there",
    ),
    "bytes left": (
        {"x": {**_ENTRY, "shape": [1], "data_offsets": [0, 4]}},
        "its tensors have 4 bytes, 8 are there",
    ),
    "metadata": ({"x": _ENTRY, "__metadata__": {"mxref": "{}"}}, "it lacks 'tensors'"),
    "metadata of a missing tensor": (
        {"x": _ENTRY, "__metadata__": {"mxref": '{"tensors": {"y": {}}}'}},
        "it lacks 'shape'",
    ),
    "metadata of a tensor without scales": (
        {
            "x": _ENTRY,
            "__metadata__": {
                "mxref": '{"tensors": {"x": {"shape": [], "format": "", "tensor_scale": null}}}'
            },
        },
        "there is no tensor 'x_scale'",
    ),
    "metadata of a tensor without its own scale": (
        {
            "x": {**_ENTRY, "shape": [1], "data_offsets": [0, 4]},
            "x_scale": {**_ENTRY, "shape": [1], "data_offsets": [4, 8]},
            "__metadata__": {
                "mxref": '{"tensors": {"x": {"shape": [], "format": "", "tensor_scale": "factor"}}}'
            },
        },
        "there is no tensor 'x_scale_2'",
    ),
    "metadata of nothing": (
        {"x": _ENTRY, "__metadata__": {"mxref": '{"tensors": {"x": {}}}'}},
        "it lacks",
    ),
    "no arrays so large": (
        {"x": {**_ENTRY, "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}},
        r"NumPy has no arrays of 3 axes and shape \(0, 4611686018427387904, ",
    ),
    "65 axes": ({"x": {**_ENTRY, "shape": [2, *[1] * 64]}}, "NumPy has no arrays of 65 axes"),
    "metadata of another kind": (
        {"x": _ENTRY, "__metadata__": {"mxref": '{"tensors": {"x": 1}}'}},
        "its header is none: JSON of other types, or nested too deep",
    ),
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_damaged_headers(tmp_path: Path, name: str) -> None:
    header, reason = BAD_HEADERS[name]
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    with pytest.raises(ValueError, match=rf"x\.safetensors must be a whole .*{reason}") as error:
        files.read_blocks(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("change", ["format", "axis", "shape", "dtype", "tensor_scale", "codes"])
def test_damaged_descriptions(tmp_path: Path, change: str) -> None:
    path = tmp_path / "x.safetensors"
    want = mxref.quantize(numbers((3, 64)), "mxfp4_e2m1")
    files.write_blocks(path, {"x": want})
    content = path.read_bytes()
    old, new = {
        "format": ('\\"format\\": \\"mxfp4_e2m1\\"', '\\"format\\": \\"mxfp4_e9m9\\"'),
        "axis": ('\\"axis\\": 1', '\\"axis\\": 7'),
        "shape": ('\\"shape\\": [3, 64]', '\\"shape\\": [3, 99]'),
        "dtype": ('\\"float32\\"', '\\"float99\\"'),
        "tensor_scale": ('\\"tensor_scale\\": null', '\\"tensor_scale\\": 9999'),
        "codes": ('\\"codes_shape\\": [3, 64]', '\\"codes_shape\\": [9, 64]'),
    }[change]
    assert content.count(old.encode()) == 1
    assert len(old) == len(new)
    path.write_bytes(content.replace(old.encode(), new.encode()))
    with pytest.raises(
        ValueError, match=r"x\.safetensors must be a whole .safetensors file, ('x'|its header)"
    ):
        files.read_blocks(path)


def described_file(
    path: Path, fields: dict[str, tuple[str, list[int], bytes]], **about: Any
) -> None:
    """A file whose metadata says that "x" is blocks: 32 codes of MXFP4, or what `about` says."""
    known = {"format": "mxfp4_e2m1", "element": "e2m1", "scale": "e8m0", "block_size": 32}
    known |= {"axis": 0, "shape": [32], "codes_shape": [32], "dtype": "float32"}
    known |= {"tensor_scale": None, **about}
    raw_safetensors(path, fields)
    length = int.from_bytes(path.read_bytes()[:8], "little")
    header = json.loads(path.read_bytes()[8 : 8 + length])
    header["__metadata__"] = {"mxref": json.dumps({"tensors": {"x": known}})}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + path.read_bytes()[8 + length :])


_CODES = ("F4", [32], b"\x21" * 16)
_SCALE = ("F8_E8M0", [1], b"\x7f")
_NV_SCALES = ("F8_E4M3", [2], b"\x38\x38")
_NV = {"format": "nvfp4", "scale": "ue4m3", "block_size": 16, "tensor_scale": "factor"}
#: Tensors, what the metadata says, what the message says.
OTHER_PARTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "codes of floats": (
        {"x": ("F32", [4], b"\x21" * 16), "x_scale": _SCALE},
        {},
        r"'x' must be F4 of shape \(32,\), it is F32 of shape \(4,\)$",
    ),
    "codes of another format": (
        {"x": ("F8_E5M2", [32], bytes(32)), "x_scale": _SCALE},
        {},
        "'x' must be F4 of .*, it is F8_E5M2 of",
    ),
    "codes of another shape": (
        {"x": ("F4", [2, 16], b"\x21" * 16), "x_scale": _SCALE},
        {},
        r"'x' must be F4 of shape \(32,\), it is F4 of shape \(2, 16\)$",
    ),
    "codes that are not there": (
        {"x": ("F4", [1, 0], b""), "x_scale": ("F8_E8M0", [1, 0], b"")},
        {"shape": [1, 0], "axis": 1, "codes_shape": [1, 10**15]},
        r"'x' must be F4 of shape \(1, 1000000000000000\), it is F4 of shape \(1, 0\)$",
    ),
    "codes of a shape of floats": (
        {"x": _CODES, "x_scale": _SCALE},
        {"codes_shape": [32.0]},
        r"shape must hold integers, got \[32.0\]",
    ),
    "scales of another format": (
        {"x": _CODES, "x_scale": ("F8_E4M3", [1], b"\x38")},
        {},
        "'x_scale' must be F8_E8M0 of .*, it is F8_E4M3 of",
    ),
    "scales of another shape": (
        {"x": _CODES, "x_scale": ("F8_E8M0", [1, 1], b"\x7f")},
        {},
        r"scale_codes must have shape \(1,\) .* got \(1, 1\)$",
    ),
    "a tensor's scale of another type": (
        {"x": _CODES, "x_scale": _NV_SCALES, "x_scale_2": ("U8", [4], b"\x00\x00\x80\x3f")},
        _NV,
        r"'x_scale_2' must be F32 of shape \(\), it is U8 of shape \(4,\)$",
    ),
    "a tensor's scale of two numbers": (
        {"x": _CODES, "x_scale": _NV_SCALES, "x_scale_2": ("F32", [2], bytes(8))},
        _NV,
        r"'x_scale_2' must be F32 of shape \(\), it is F32 of shape \(2,\)$",
    ),
    "a negative tensor's scale": (
        {"x": _CODES, "x_scale": _NV_SCALES, "x_scale_2": ("F32", [], b"\x00\x00\x80\xbf")},
        _NV,
        "bits must be a float32 pattern without sign, got 0xbf800000",
    ),
    "large blocks": (
        {"x": _CODES, "x_scale": _SCALE},
        {"block_size": 2**31 + 1},
        "block_size must be at most 2\\*\\*31, got 2147483649",
    ),
    "blocks of a name": (
        {"x": _CODES, "x_scale": _SCALE},
        {"block_size": "32"},
        "block_size must be an integer, got str",
    ),
    **{
        f"dtype {dtype}": (
            {"x": _CODES, "x_scale": _SCALE},
            {"dtype": dtype},
            f"dtype must be that of floats or integers, got {dtype}",
        )
        for dtype in ("object", "O", "bool", "complex64", "finfo", "__doc__", "U5", "V3", "f4,f4")
    },
}


def test_a_described_file_by_hand(tmp_path: Path) -> None:
    """The file that `OTHER_PARTS` alters is read."""
    path = tmp_path / "x.safetensors"
    described_file(path, {"x": _CODES, "x_scale": _SCALE})
    assert_same(files.read_blocks(path)["x"], blocks_of([1, 2] * 16, [127], MXFP4))
    number = ("F32", [], b"\x00\x00\x80\x3f")
    described_file(path, {"x": _CODES, "x_scale": _NV_SCALES, "x_scale_2": number}, **_NV)
    assert files.read_blocks(path)["x"].dequantize().tolist() == [0.5, 1.0] * 16


@pytest.mark.parametrize("name", OTHER_PARTS)
def test_parts_that_mxref_would_not_write(tmp_path: Path, name: str) -> None:
    fields, about, reason = OTHER_PARTS[name]
    path = tmp_path / "x.safetensors"
    described_file(path, fields, **about)
    sentence = rf"x\.safetensors must be a whole .* 'x' is no blocks: .*{reason}"
    with pytest.raises(ValueError, match=sentence) as error:
        files.read_blocks(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("value", [0.0, np.inf, np.nan])
@pytest.mark.parametrize("arithmetic", Policy.members("scale_arithmetic"))
def test_scales_of_odd_tensors_come_back(
    tmp_path: Path, suffix: str, value: float, arithmetic: Any
) -> None:
    """Implementations give 0, infinity and NaN as a tensor's scale."""
    path = tmp_path / f"x{suffix}"
    values = np.full(16, value, np.float32)
    want = mxref.quantize(values, "nvfp4", scale_arithmetic=arithmetic)
    files.write_blocks(path, {"x": want})
    assert_same(files.read_blocks(path)["x"], want)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize(
    "dtype",
    [
        *("<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "i1", "u1", "<i2", ">i2", "<u2", ">u2"),
        *("<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "bfloat16"),
        *("float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
        *("float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
    ],
)
def test_every_type_that_is_quantized_comes_back(tmp_path: Path, suffix: str, dtype: str) -> None:
    path = tmp_path / f"x{suffix}"
    values = np.ones(3, getattr(ml_dtypes, dtype, dtype))
    want = mxref.quantize(values, "mxfp8_e4m3")
    assert want.dtype == values.dtype
    files.write_blocks(path, {"x": want})
    assert_same(files.read_blocks(path)["x"], want)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_no_blocks_come_back(tmp_path: Path, suffix: str) -> None:
    files.write_blocks(tmp_path / f"x{suffix}", {})
    assert files.read_blocks(tmp_path / f"x{suffix}") == {}


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_odd_names_come_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    names = ["/", "//", "/a", "a", "a/", "a/codes", "a.npy", "a/codes.npy", "../../b", ".", "a\nb"]
    if suffix == ".npz":
        names += ["", "x" + "é" * 32_756]  # 65,535 bytes with /tensor_scale_kind.npy
    blocks = {
        name: mxref.quantize(np.float32([number]), "nvfp4", block_size=1)
        for number, name in enumerate(names, 1)
    }
    files.write_blocks(path, blocks)
    again = files.read_blocks(path)
    assert set(again) == set(names)
    for name, want in blocks.items():
        assert_same(again[name], want)


def test_arrays_of_an_archive(tmp_path: Path) -> None:
    """Beside blocks or without them; types and shapes are known before the data are read."""
    path = tmp_path / "x.npz"
    arrays = {
        "a": numbers((3, 64)),
        "b/name": numbers((2, 5)).astype(">f8"),
        "half": np.asfortranarray(numbers((4, 3)).astype(np.float16)),
        "ids": np.arange(4),
        "long": np.zeros(2, np.longdouble),
        "scalar": np.float32(3),
        "words": np.array(["x", "yz"]),
        "fields": np.zeros(2, [("é", np.float32)]),
        "none": np.zeros((0, 3), np.float32),
    }
    for save in (np.savez, np.savez_compressed):
        save(path, **arrays)
        found = {entry.name: entry for entry in files.entries(path)}
        assert [*found] == [*arrays]
        floats = {name: entry.kind for name, entry in found.items() if entry.is_float}
        want = {"a": "F32", "b/name": "F64", "half": "F16", "scalar": "F32", "none": "F32"}
        assert floats == want
        assert found["long"].kind == str(np.dtype(np.longdouble))
        for name, array in arrays.items():
            got = found[name].load()
            assert isinstance(got, np.ndarray)
            assert (got.dtype, got.tobytes()) == (np.asarray(array).dtype, array.tobytes())
            assert not got.flags.writeable
            assert name == "fields" or found[name].shape == got.shape
    assert files.read_blocks(path) == {}
    blocks = mxref.quantize(numbers((2, 64)), "nvfp4")
    files.write_blocks(path, {"w": blocks, "": blocks})
    with zipfile.ZipFile(path, "a") as archive, archive.open("w/bias.npy", "w") as file:
        np.save(file, arrays["a"])
    tensors = dict(files.read_tensors(path))
    assert [*tensors] == ["w", "", "w/bias"]
    assert_same(tensors["w"], blocks)
    assert_same(tensors[""], blocks)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + bytes(9))
    with pytest.raises(ValueError, match=r"x\.npz must be a whole \.npz file, "):
        next(files.entries(path))
    np.savez(path, o=np.array([{}], object))
    (entry,) = files.entries(path)
    with pytest.raises(ValueError, match=r"x\.npz must be a whole \.npz file, Object arrays"):
        entry.load()


def test_codes_of_another_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, codes=np.zeros(3))
    with pytest.raises(ValueError, match=r"x\.npz must be a whole \.npz file, it lacks"):
        files.read_blocks(path)
    good(path)
    with zipfile.ZipFile(path) as archive:
        arrays = {name[:-4]: np.load(archive.open(name)) for name in archive.namelist()}
    arrays["a/codes"] = arrays["a/codes"] + 16
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"x\.npz must be .*codes must be in \[0, 15\]"):
        files.read_blocks(path)


# Of 65,535 bytes with the longest /NAME.npy that this tensor has.
_LONGEST = "x" * (65_535 - len("/scale_codes.npy"))
FINE = mxref.quantize(numbers((2, 32)), "mxfp4_e2m1")
#: Suffix, tensors, what the message says.
REFUSED: dict[str, tuple[str, Any, str]] = {
    "suffix": (".bin", {"x": FINE}, r"path must end in \.npz, \.safetensors, \.gguf, got"),
    "no blocks": (".npz", {"x": np.zeros(3)}, "must be Blocks by name, got ndarray for 'x'"),
    "two of one name": (
        ".safetensors",
        {"x": FINE, "x_scale": FINE},
        "names that are free with _scale behind them, too, got 'x_scale'",
    ),
    "a zero byte": (
        ".npz",
        {"a\0b": FINE},
        r"must get names without zero bytes, .* got 'a\\x00b' of 3 bytes$",
    ),
    "a name beyond an archive's": (
        ".npz",
        {"fine": FINE, _LONGEST + "x": FINE},
        "of at most 65535 bytes with 'scale_codes' behind them, got 'x{50}' of 65520 bytes$",
    ),
    **{
        f"a name that is no text in {suffix}": (
            suffix,
            {"\ud800": FINE},
            r"names of Unicode text, got '\\ud800'$",
        )
        for suffix in (".npz", ".safetensors", ".gguf")
    },
    "a type that nobody quantizes": (
        ".safetensors",
        {"x": dataclasses.replace(FINE, dtype=np.dtype(bool))},
        "dtype must be that of floats or integers, got bool$",
    ),
    "the metadata's name": (".safetensors", {"__metadata__": FINE}, "got '__metadata__'"),
    "format": (
        ".gguf",
        {"x": mxref.quantize(numbers((32,)), "mxint8")},
        "must get one of mxfp4_e2m1 in blocks of 32, fp4_ue4m3 in blocks of 16, "
        "nvfp4 in blocks of 16, got mxint8 in blocks of 32 for 'x'",
    ),
    "row of NVFP4": (
        ".gguf",
        {"x": mxref.quantize(numbers((2, 96)), "nvfp4")},
        r"multiple of 64, got axis 1 of shape \(2, 96\) for 'x'",
    ),
    "NaN block of NVFP4": (
        ".gguf",
        {"x": mxref.quantize(np.float32([np.nan] * 64), "fp4_ue4m3")},
        "no NaN block, whose scale its readers take for 0, got one in 'x'",
    ),
    "divisor": (
        ".gguf",
        {"x": mxref.quantize(numbers((64,)), "nvfp4", scale_arithmetic="compressed_tensors")},
        "a tensor scale that is a factor, got kind divisor for 'x'",
    ),
    "name of a tensor scale": (
        ".gguf",
        {"x.weight": mxref.quantize(numbers((64,)), "nvfp4"), "x.scale": FINE},
        "no tensor named 'x.scale' beside 'x.weight', whose tensor scale has that name",
    ),
    "long name of a tensor scale": (
        ".gguf",
        {"x" * 60: mxref.quantize(numbers((64,)), "nvfp4")},
        r"names of 1 to 63 bytes, got 'x{60}\.scale' with 1",
    ),
    "block size": (
        ".gguf",
        {"x": mxref.quantize(numbers((32,)), "mxfp4_e2m1", block_size=16)},
        "got mxfp4_e2m1 in blocks of 16",
    ),
    "axis": (
        ".gguf",
        {"x": mxref.quantize(numbers((32, 32)), "mxfp4_e2m1", axis=0)},
        r"a last axis of a multiple of 32, got axis 0 of shape \(32, 32\)",
    ),
    "row": (
        ".gguf",
        {"x": mxref.quantize(numbers((2, 40)), "mxfp4_e2m1")},
        r"multiple of 32, got axis 1 of shape \(2, 40\) for 'x'",
    ),
    "scalar": (".gguf", {"x": mxref.quantize(1.0, "mxfp4_e2m1")}, r"got axis 0 of shape \(\)"),
    "nothing": (".gguf", {"x": mxref.quantize(numbers((0, 32)), "mxfp4_e2m1")}, "multiple of 32"),
    "axes": (
        ".gguf",
        {"x": mxref.quantize(numbers((1, 1, 1, 1, 32)), "mxfp4_e2m1")},
        "at most 4 axes .* got 'x' with 5",
    ),
    "name": (".gguf", {"é" * 32: FINE}, "names of 1 to 63 bytes"),
    "NaN block": (
        ".gguf",
        {"x": mxref.quantize(np.float32([np.nan] * 32), "mxfp4_e2m1")},
        r"no NaN block, whose scale its readers take for 2\*\*128, got one in 'x'",
    ),
    "format of one's own": (
        ".safetensors",
        {"x": mxref.quantize(numbers((4,)), dataclasses.replace(MXFP4, name="mine"))},
        "format must be one of mxref.s by name, .* got mine of e2m1 and e8m0",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place(tmp_path: Path, name: str) -> None:
    suffix, tensors, reason = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=reason) as error:
        files.write_blocks(tmp_path / f"x{suffix}", tensors)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_blocks_without_a_name(tmp_path: Path) -> None:
    with pytest.raises(TypeError) as error:
        files.write_blocks(tmp_path / "x.safetensors", FINE)  # type: ignore[arg-type]
    assert str(error.value) == (
        "tensors must be a mapping of names to Blocks, such as {'weight': blocks}, got Blocks"
    )


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fp4_packing", "high_nibble_first"),
        ("fp6_packing", "quark"),
        ("scale_place", "before"),
        ("scale_byte", "signed"),
        ("scale_layout", "tiles_128x4"),
    ],
)
def test_layouts_that_the_file_does_not_have(
    tmp_path: Path, suffix: str, name: str, value: str
) -> None:
    policy = f"ocp+{name}={value}"
    for given in (policy, mxref.Policy.parse(policy)):
        with pytest.raises(ValueError, match=f"^policy must leave {name} as in ocp") as error:
            files.write_blocks(tmp_path / f"x{suffix}", {"x": FINE}, given)
        assert f"got {value}: for others use pack" in str(error.value)
        assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_missing_files(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(FileNotFoundError):
        files.read_blocks(tmp_path / f"x{suffix}")


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    sentence = (
        r"x\.gguf needs the package gguf: .* pip install -e '\.\[io\]', elsewhere pip install gguf$"
    )
    with pytest.raises(ValueError, match=sentence):
        files.write_blocks(tmp_path / "x.gguf", {"x": FINE})
    with pytest.raises(ValueError, match=sentence):
        files.read_blocks(tmp_path / "x.gguf")
    assert list(tmp_path.iterdir()) == []


def test_no_package_is_imported_before_it_is_needed(tmp_path: Path) -> None:
    files.write_blocks(tmp_path / "x.safetensors", {"x": FINE})
    script = (
        "import sys; from mxref import files; files.read_blocks(sys.argv[1]); "
        "print(sorted({'gguf', 'safetensors', 'torch'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "x.safetensors")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


# --- where files go ---------------------------------------------------------------------------


def test_each_call_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Two writers of one file in one process: the last to end wins, and nothing is mixed."""
    path = tmp_path / "x.bin"
    with whole_file(path) as first, whole_file(path) as second:
        assert first != second
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    blocks = [mxref.quantize(numbers((64, 64)) * 2.0**n, "mxfp8_e4m3") for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(8):
            list(pool.map(lambda one: files.write_blocks(path, {"x": one}), blocks))
            assert files.read_blocks(path)["x"] in blocks
    assert list(tmp_path.iterdir()) == [path]


def test_a_killed_writer_s_file_is_known_as_left_over(tmp_path: Path) -> None:
    """Its name ends in .PID.tmp: clean-up takes it once that process is gone."""
    with whole_file(tmp_path / "x.bin") as temporary:
        temporary.touch()
        assert temporary.name.startswith(".x.bin.")
        assert temporary.name.endswith(f".{os.getpid()}.tmp")
        assert not _is_left_over(temporary)
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    gone = temporary.name.replace(f".{os.getpid()}.tmp", f".{done.pid}.tmp")
    assert _is_left_over(temporary.with_name(gone))


@pytest.mark.parametrize("name", ["x" * 242 + ".npz", "é" * 120 + ".npz"])
def test_long_names_of_files(tmp_path: Path, name: str) -> None:
    files.write_blocks(tmp_path / name, {"x": FINE})
    assert_same(files.read_blocks(tmp_path / name)["x"], FINE)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there.npz").write_bytes(b"old")
    (tmp_path / "x.npz").symlink_to("there.npz")
    files.write_blocks(tmp_path / "x.npz", {"x": FINE})
    assert (tmp_path / "x.npz").is_symlink()
    assert_same(files.read_blocks(tmp_path / "there.npz")["x"], FINE)


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf", ".npy"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_neither_read_nor_replaced(tmp_path: Path, suffix: str, *, linked: bool) -> None:
    pipe = path = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    if linked:
        path = tmp_path / f"x{suffix}"
        path.symlink_to(pipe)
    sentence = r" must be a regular file, it is a device, a pipe or a socket$"
    with pytest.raises(ValueError, match=sentence):
        list(files.entries(path))
    if suffix != ".npy":
        with pytest.raises(ValueError, match=sentence):
            files.write_blocks(path, {"x": FINE})
    with pytest.raises(ValueError, match=sentence):
        write_file(path, b"")
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert set(tmp_path.iterdir()) == {pipe, path}


# --- a writer that is killed ----------------------------------------------------------------------

_KILLED = """
import os, signal, sys
import numpy as np, mxref
from mxref import files

def chunks(codes):
    yield codes[:1]
    os.kill(os.getpid(), signal.SIGKILL)  # in the middle of the file

for module in (files.npz_files, files.safetensors_files, files.gguf_files):
    module.chunks = chunks
blocks = mxref.quantize(np.ones((64, 32), np.float32), "mxfp4_e2m1")
files.write_blocks(sys.argv[1], {"x": blocks})
"""


@pytest.mark.sampled(6)
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
@pytest.mark.parametrize("old", [None, b"an older file"])
def test_killed_writer_leaves_no_half_file(tmp_path: Path, suffix: str, old: bytes | None) -> None:
    path = tmp_path / f"x{suffix}"
    if old is not None:
        path.write_bytes(old)
    done = subprocess.run([sys.executable, "-c", _KILLED, str(path)])
    assert done.returncode == -signal.SIGKILL
    assert (path.read_bytes() if path.exists() else None) == old


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_a_failed_writer_leaves_nothing(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chunks(codes: np.ndarray) -> Any:
        yield codes[:1]
        raise OSError(28, "No space left on device")

    for module in (files.npz_files, files.safetensors_files, files.gguf_files):
        monkeypatch.setattr(module, "chunks", chunks)
    path = tmp_path / f"x{suffix}"
    with pytest.raises(OSError, match="No space left") as error:
        files.write_blocks(path, {"x": FINE})
    assert error.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
