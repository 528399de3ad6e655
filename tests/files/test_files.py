"""Real files: what is written and read, byte by byte, here and by the packages of the formats."""

from __future__ import annotations

import dataclasses
import itertools
import json
import zipfile
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np
import pytest
import safetensors
from file_helpers import assert_same, blocks_of, gguf_file, numbers, raw_safetensors, retyped
from safetensors.numpy import save_file
from tables import rows

import mxref
from mxref import files, formats
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.policy.policy import Policy

SHAPES = [((), -1), ((1,), 0), ((70,), 0), ((3, 5), -1), ((3, 5), 0), ((2, 33, 7), 1), ((4, 64), 1)]
#: Those whose blocks lie along one axis.
BLOCK_FORMATS = [
    *formats.BLOCK_FORMATS,
    *(one.name for one in formats.OTHER_BLOCK_FORMATS.values() if isinstance(one.block_size, int)),
]
DTYPES = (
    "<f2 >f2 <f4 >f4 <f8 >f8 i1 u1 <i2 >i2 <u2 >u2 <i4 >i4 <u4 >u4 <i8 >i8 <u8 >u8 bfloat16 "
    "float8_e3m4 float8_e4m3 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float6_e2m3fn float6_e3m2fn float4_e2m1fn"
)
KINDS = gguf.GGMLQuantizationType


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
def test_odd_blocks_come_back(tmp_path: Path, suffix: str) -> None:
    """Of two axes, without elements, of every type that is quantized, with odd tensor scales."""
    path = tmp_path / f"x{suffix}"
    blocks = {
        "axes": mxref.quantize(numbers((3, 40, 5)), "mxfp6_e3m2", axis=(0, 1), block_size=(2, 32)),
        "tiles": mxref.quantize(numbers((3, 40, 5)), "nvfp4_16x16"),
    }
    for name, shape in itertools.product(BLOCK_FORMATS, [(0,), (3, 0), (0, 32)]):
        blocks[f"{name} {shape}"] = mxref.quantize(np.zeros(shape, np.float32), name)
    for name in DTYPES.split():
        values = np.ones(3, getattr(ml_dtypes, name, name))
        blocks[name] = mxref.quantize(values, "mxfp8_e4m3")
        assert blocks[name].dtype == values.dtype
    arithmetics: Any = Policy.members("scale_arithmetic")
    for number, arithmetic in itertools.product((0.0, np.inf, np.nan), arithmetics):
        values = np.full(16, number, np.float32)  # whose scales are 0, infinity or NaN
        some = mxref.quantize(values, "nvfp4", scale_arithmetic=arithmetic)
        blocks[f"{number} {arithmetic.value}"] = some
    files.write_blocks(path, blocks)
    again = files.read_blocks(path)
    assert [*again] == [*blocks]
    for name, want in blocks.items():
        assert_same(again[name], want)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".gguf"])
def test_no_blocks_come_back(tmp_path: Path, suffix: str) -> None:
    files.write_blocks(tmp_path / f"x{suffix}", {})
    assert files.read_blocks(tmp_path / f"x{suffix}") == {}
    with pytest.raises(FileNotFoundError):
        files.read_blocks(tmp_path / f"y{suffix}")


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


def test_bytes_of_safetensors(tmp_path: Path) -> None:
    """Codes packed by hand, first in the lowest bits; types and shapes as the package says."""
    path = tmp_path / "x.safetensors"
    files.write_blocks(
        path,
        {
            "f4": blocks_of([[1, 2, 3, 15]], [[127]], retyped("mxfp4_e2m1", 4)),
            # 01 02 03 3f: 000001 000010 000011 111111 from the low end: 0x81 0x30 0xfc
            "f6": blocks_of([1, 2, 3, 63], [1], retyped("mxfp6_e2m3", 4)),
            "f6too": blocks_of([63, 0, 0, 32], [255], retyped("mxfp6_e3m2", 4)),
            "f8": blocks_of([0x7E, 0x80], [0], retyped("mxfp8_e4m3", 2)),
            "f8too": blocks_of([0x7B, 0xFF], [9], retyped("mxfp8_e5m2", 2)),
            "i8": blocks_of([0x80, 0x01], [2], retyped("mxint8", 2)),
            "u8": blocks_of([0, 0x0F], [0x81], retyped("fp4_ue5m3", 2)),  # which has no type
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
        "u8": ("F4", [2], b"\xf0"),
        "u8_scale": ("U8", [1], b"\x81"),
    }


def test_filler_of_an_odd_axis(tmp_path: Path) -> None:
    """Rows are whole bytes, so that a reader of packed pairs finds each."""
    codes, scales = np.uint8([[1, 2, 3], [4, 5, 6]]), np.uint8([[7, 8, 9]])
    blocks = mxref.Blocks(codes, scales, retyped("mxfp4_e2m1", 2), 0, (2, 3))
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
    scale = TensorScale(0x3F000001, TensorScaleKind(kind))
    want = blocks_of([3, 9], [0x38], retyped("nvfp4", 2), tensor_scale=scale)
    path = tmp_path / "x.safetensors"
    files.write_blocks(path, {"x": want})
    assert parsed(path) == {
        "x": ("F4", [2], b"\x93"),
        "x_scale": ("F8_E4M3", [1], b"\x38"),
        f"x{suffix}": ("F32", shape, b"\x01\x00\x00\x3f"),
    }
    assert [entry.name for entry in files.entries(path)] == ["x"]
    assert_same(files.read_blocks(path)["x"], want)


def test_scales_of_tensors_lie_first_where_they_are_aligned(tmp_path: Path) -> None:
    """Readers map the file, and float32 numbers must begin at multiples of four bytes."""
    path, x = tmp_path / "x.safetensors", np.ones(2)
    kinds = {"a": "mxfp4_e2m1", "b": "nvfp4", "c": "nvfp4"}
    files.write_blocks(path, {name: mxref.quantize(x, kind) for name, kind in kinds.items()})
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]
    places = {name: entry["data_offsets"] for name, entry in header.items()}
    assert length % 8 == 0
    assert (places["b_scale_2"], places["c_scale_2"]) == ([0, 4], [4, 8])
    assert sorted(places.values()) == [*places.values()]  # the header has the order of the bytes
    assert list(places)[2:] == ["a", "a_scale", "b", "b_scale", "c", "c_scale"]


def test_metadata(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    policy = "ocp+rounding=toward_zero"
    blocks = mxref.quantize(numbers((40, 3), np.float64), "mxfp4_e2m1", policy, axis=0)
    files.write_blocks(path, {"x": blocks}, policy)
    with safetensors.safe_open(path, "np") as opened:
        metadata = opened.metadata()
    about: dict[str, Any] = {"format": "mxfp4_e2m1", "element": "e2m1", "scale": "e8m0"}
    about |= {"block_size": 32, "axis": 0, "shape": [40, 3], "codes_shape": [64, 3]}
    about |= {"dtype": "float64", "tensor_scale": None}
    assert json.loads(metadata["mxref"]) == {"policy": policy, "tensors": {"x": about}}


def test_bytes_of_gguf(tmp_path: Path) -> None:
    """The scales, then of each block the elements of its first half low, of its second high."""
    path = tmp_path / "x.gguf"
    four = [i % 16 for i in range(16)] + [(i + 5) % 16 for i in range(16)]
    nv = [i * 7 % 16 for i in range(64)]
    blocks = {
        "four": blocks_of([four], [[130]], retyped("mxfp4_e2m1", 32)),
        "nv": blocks_of([nv], [[0x38, 0x01, 0x7E, 0x00]], retyped("fp4_ue4m3", 16)),
    }
    files.write_blocks(path, blocks)
    first, second = gguf.GGUFReader(path).tensors
    block = bytes([130, *((j + 5) % 16 << 4 | j for j in range(16))])
    assert (first.tensor_type.name, first.data.tobytes()) == ("MXFP4", block)
    nibbles = [nv[k + j + 8] << 4 | nv[k + j] for k in range(0, 64, 16) for j in range(8)]
    assert second.data.tobytes() == bytes([0x38, 0x01, 0x7E, 0x00, *nibbles])
    assert second.tensor_type.name == "NVFP4"
    assert [tensor.shape.tolist() for tensor in (first, second)] == [[32, 1], [64, 1]]
    for name, want in blocks.items():
        assert_same(files.read_blocks(path)[name], want)


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


@pytest.mark.parametrize("pad", range(8))
def test_small_floats_of_safetensors(tmp_path: Path, pad: int) -> None:
    """Known bytes of every type, at every alignment."""
    path, known = tmp_path / "x.safetensors", rows("files", "small_floats")
    raw_safetensors(
        path,
        {
            name: (kind, [*map(int, shape.split())], bytes.fromhex(data))
            for name, kind, shape, data, _ in known
        },
        pad,
    )
    small = {entry.name for entry in files.entries(path) if entry.small}
    assert small == {name for name, kind, *_ in known if kind[:2] in ("F4", "F6", "F8")}
    found = dict(files.read_tensors(path))
    assert str(found["bf16"].dtype) == "bfloat16"
    assert found["f4"].dtype == ml_dtypes.float4_e2m1fn
    for name, *_, want in known:
        assert str(found[name].astype(np.float64).tolist()) == want
        mxref.quantize(found[name], "mxint8")  # each of them can be quantized


def test_gguf_of_the_package(tmp_path: Path) -> None:
    """Its own quantizer's MXFP4 stands for the same numbers here, and floats are as they were."""
    path = tmp_path / "x.gguf"
    values = numbers((3, 2, 64)) * np.float32([2.0**-100, 1, 2.0**90]).reshape(3, 1, 1)
    packed = gguf.quants.quantize(values, KINDS.MXFP4)
    bfloat16 = values.astype(ml_dtypes.bfloat16)
    whole = {
        "f32": values,
        "f16": values[1, :, :7].astype(np.float16),
        "f64": values[0].astype(np.float64),
        "i32": np.arange(5, dtype=np.int32),
    }
    gguf_file(
        path,
        {
            "mxfp4": (packed, KINDS.MXFP4),
            **{name: (array, None) for name, array in whole.items()},
            "bf16": (bfloat16.view(np.uint8), KINDS.BF16),
            "q8": (gguf.quants.quantize(values[1], KINDS.Q8_0), KINDS.Q8_0),
        },
    )
    found = dict(files.read_tensors(path))
    blocks = found["mxfp4"]
    assert (blocks.shape, blocks.axis, blocks.format.name) == ((3, 2, 64), 2, "mxfp4_e2m1")
    want = gguf.quants.dequantize(packed, KINDS.MXFP4)
    # Equal as numbers, for that package writes no -0, but reads its code as +0.
    np.testing.assert_array_equal(blocks.dequantize() + np.float32(0), want)
    assert np.count_nonzero(want) > 200
    for name, array in (whole | {"bf16": bfloat16}).items():
        got = found[name]
        assert (got.dtype, got.shape, got.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert found["q8"].dtype == np.uint8
    assert set(files.read_blocks(path)) == {"mxfp4"}


@pytest.mark.parametrize("shape", [(64,), (3, 128), (2, 1, 64), (2, 3, 2, 64)])
def test_the_package_reads_gguf_that_mxref_wrote(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """The numbers before the factor, which is a tensor beside them, as llama.cpp has it."""
    path = tmp_path / "x.gguf"
    values = numbers(shape)
    values.reshape(-1)[:4] = [0.0, -0.0, 2.0**-140, 2.0**20]
    blocks = {
        "blk.0.up.weight": mxref.quantize(values, "nvfp4"),
        "plain": mxref.quantize(values, "fp4_ue4m3"),
        "mx": mxref.quantize(values[..., :32], "mxfp4_e2m1"),
        "tiny": mxref.quantize(values * np.float32(2.0**-126), "mxfp4_e2m1"),
        "zero": mxref.quantize(np.zeros(shape, np.float16), "mxfp4_e2m1"),
    }
    files.write_blocks(path, blocks, "ocp")
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    assert list(tensors) == ["blk.0.up.weight", "blk.0.up.scale", "plain", "mx", "tiny", "zero"]
    factor = tensors.pop("blk.0.up.scale").data
    assert factor.tolist() == [blocks["blk.0.up.weight"].tensor_scale.value]
    for name, tensor in tensors.items():
        got = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        alone = blocks[name]
        assert tuple(reversed(tensor.shape.tolist())) == alone.shape
        if alone.tensor_scale is not None:
            alone = dataclasses.replace(alone, format=retyped("fp4_ue4m3", 16), tensor_scale=None)
        want = alone.dequantize()
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)  # its -0 is 0
    found = files.read_blocks(path)
    assert list(found) == list(blocks)
    for name, got in found.items():
        assert_same(got, blocks[name])


def test_nvfp4_of_the_package_in_gguf(tmp_path: Path) -> None:
    """Every scale that its readers and mxref read alike, and every pair of nibbles."""
    path = tmp_path / "x.gguf"
    scales = np.resize(np.arange(0x7F, dtype=np.uint8), (32, 4))
    packed = np.concatenate([scales, np.resize(np.arange(256, dtype=np.uint8), (32, 32))], axis=1)
    gguf_file(
        path,
        {
            "a.weight": (packed, KINDS.NVFP4),
            "a.scale": (np.float32([0.375]), None),
            "b.weight": (packed, KINDS.NVFP4),
            "c.weight": (packed, KINDS.NVFP4),
            "c.scale": (np.float32([1, 2]), None),  # of experts, which is no scale of a tensor
        },
    )
    want = gguf.quants.dequantize(packed, KINDS.NVFP4)
    found = dict(files.read_tensors(path))
    assert list(found) == ["a.weight", "b.weight", "c.weight", "c.scale"]
    assert found["c.scale"].tolist() == [1, 2]
    assert found["a.weight"].format.name == "nvfp4"
    for name in ("b.weight", "c.weight"):
        assert found[name].format.name == "fp4_ue4m3"
        np.testing.assert_array_equal(found[name].dequantize(), want)
    np.testing.assert_array_equal(found["a.weight"].dequantize(), want * np.float32(0.375))


@pytest.mark.parametrize("bits", [1, 0x3F800000, 0x7F7FFFFF, 0, 0x7F800000, 0x7FC00000, 0xBF800000])
def test_a_factor_of_nvfp4_in_gguf_is_positive_and_finite(tmp_path: Path, bits: int) -> None:
    """Any other number beside it is a tensor of its own."""
    path, packed = tmp_path / "x.gguf", np.full((1, 36), 0x38, np.uint8)
    scale = np.uint32([bits]).view(np.float32)
    gguf_file(path, {"a.weight": (packed, KINDS.NVFP4), "a.scale": (scale, None)})
    found = dict(files.read_tensors(path))
    if 0 < bits < 0x7F800000:
        assert list(found) == ["a.weight"]
        assert found["a.weight"].format.name == "nvfp4"
        assert found["a.weight"].tensor_scale.bits == bits
    else:
        assert found["a.weight"].format.name == "fp4_ue4m3"
        assert found["a.scale"].view(np.uint32).tolist() == [bits]


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
