"""Packed bytes against the implementations that write them: every byte equal, there and back.

Ramps, random codes and odd lengths. What a peer refuses (an odd length) is filled up first.
"""

from __future__ import annotations

import subprocess
from importlib import metadata
from pathlib import Path

import gguf
import ml_dtypes
import numpy as np
import pytest
import torch
from compressed_tensors.compressors.mxfp6.helpers import pack_fp6_to_uint8, unpack_fp6_from_uint8
from compressed_tensors.compressors.nvfp4.helpers import pack_fp4_to_uint8, unpack_fp4_from_uint8
from onnx import numpy_helper
from torchao.prototype.mx_formats.kernels import pack_uint4, unpack_uint4
from torchao.prototype.mx_formats.utils import from_blocked, to_blocked

import mxref
from mxref.formats.catalog import ELEMENT_FORMATS

LENGTHS = [0, 1, 2, 3, 4, 5, 31, 32, 33, 64, 101, 4096, 5001]
GGUF = {"scale_place": "before", "fp4_packing": "halves"}


def codes_of(format: str, length: int, kind: str) -> np.ndarray:
    """A ramp over all codes, or random codes."""
    count = ELEMENT_FORMATS[format].code_count
    if kind == "ramp":
        return (np.arange(length) % count).astype(np.uint8)
    return np.random.default_rng(length).integers(0, count, length).astype(np.uint8)


def filled(codes: np.ndarray, unit: int) -> np.ndarray:
    return np.pad(codes, (0, -len(codes) % unit))


def bits(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).view(np.uint32)


each_length = pytest.mark.parametrize("length", LENGTHS)
each_kind = pytest.mark.parametrize("kind", ["ramp", "random"])


@each_length
@each_kind
def test_torchao_nibbles(length: int, kind: str) -> None:
    codes = codes_of("e2m1", length, kind)
    packed = pack_uint4(torch.from_numpy(filled(codes, 2)))
    assert np.array_equal(mxref.pack(codes, "e2m1"), packed.numpy())
    back = unpack_uint4(packed).numpy()
    assert np.array_equal(back, filled(codes, 2))
    assert np.array_equal(mxref.unpack(packed.numpy(), "e2m1", length), codes)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(1, 1), (128, 4), (127, 3), (129, 5), (32, 4), (33, 1), (256, 16), (300, 7), (1000, 130)],
)
def test_torchao_tiles_of_scales(rows: int, columns: int) -> None:
    scales = np.random.default_rng(rows).integers(0, 256, (rows, columns)).astype(np.uint8)
    tiles = to_blocked(torch.from_numpy(scales)).numpy()
    assert np.array_equal(mxref.pack_scales(scales, scale_layout="tiles_128x4"), tiles)
    back = from_blocked(torch.from_numpy(tiles), rows, columns).numpy()
    assert np.array_equal(back, scales)
    again = mxref.unpack_scales(tiles, (rows, columns), scale_layout="tiles_128x4")
    assert np.array_equal(again, scales)


def test_gguf_writes_the_same_blocks() -> None:
    # Values that its quantizer keeps: the largest is 4 or 6 times the scale, and none is -0.
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 15, (500, 3, 32)).astype(np.uint8)
    codes += codes >= 8
    codes[..., 5] = generator.choice(np.uint8([6, 7, 14, 15]), (500, 3))
    exponents = generator.integers(-100, 101, (500, 3))
    values = np.ldexp(mxref.decode(codes, "e2m1"), exponents[..., np.newaxis].astype(np.int32))
    want = gguf.quants.quantize(values.reshape(500, 96), gguf.GGMLQuantizationType.MXFP4).reshape(
        500, 3, 17
    )
    scales = (exponents + 127).astype(np.uint8)
    got = mxref.pack_blocks(scales, codes.reshape(500, 96), "mxfp4_e2m1", **GGUF)
    assert np.array_equal(got, want)
    blocks = mxref.quantize(values.reshape(500, 96), "mxfp4_e2m1")  # so does mxref's own quantizer
    assert np.array_equal(
        mxref.pack_blocks(blocks.scale_codes, blocks.codes, blocks.format, **GGUF), want
    )


def test_gguf_reads_the_same_blocks() -> None:
    generator = np.random.default_rng(1)
    stored = generator.integers(0, 256, (700, 2, 17)).astype(np.uint8)
    stored[..., 0] = np.minimum(stored[..., 0], 0xFE)  # FF is 2**128 there
    stored[0, :, 0] = 0, 1
    with np.errstate(over="ignore"):  # 6 * 2**127 is infinite on both sides
        want = gguf.quants.dequantize(stored.reshape(700, 34), gguf.GGMLQuantizationType.MXFP4)
    scales, codes = mxref.unpack_blocks(stored, "mxfp4_e2m1", **GGUF)
    fmt = mxref.formats.block_format("mxfp4_e2m1")
    blocks = mxref.Blocks(codes, scales, fmt, 1, (700, 64))
    assert np.array_equal(bits(blocks.dequantize(decoded_zero="dropped")), bits(want))


@each_length
@each_kind
def test_onnx_tensors(length: int, kind: str) -> None:
    codes = codes_of("e2m1", length, kind)
    tensor = numpy_helper.from_array(codes.view(ml_dtypes.float4_e2m1fn))
    assert mxref.pack(codes, "e2m1").tobytes() == tensor.raw_data
    stored = np.frombuffer(tensor.raw_data, np.uint8)
    back = numpy_helper.to_array(tensor).view(np.uint8)
    assert np.array_equal(mxref.unpack(stored, "e2m1", length), back)


def test_onnx_packs_a_matrix_as_one_row() -> None:
    codes = codes_of("e2m1", 21, "random").reshape(3, 7)
    tensor = numpy_helper.from_array(codes.view(ml_dtypes.float4_e2m1fn))
    assert mxref.pack(codes.ravel(), "e2m1").tobytes() == tensor.raw_data
    assert mxref.pack(codes, "e2m1").size == 12 != len(tensor.raw_data)  # rows are not packed alone


@each_length
@each_kind
@pytest.mark.parametrize("format", ["e2m1", "e2m3"])
def test_compressed_tensors(format: str, length: int, kind: str) -> None:
    codes = codes_of(format, length, kind)
    whole = np.stack([filled(codes, 4), filled(codes, 4)[::-1]])
    values = torch.from_numpy(mxref.decode(whole, format))
    four = format == "e2m1"
    packed = pack_fp4_to_uint8(values) if four else pack_fp6_to_uint8(values)
    assert np.array_equal(mxref.pack(whole, format), packed.numpy())
    unpack = unpack_fp4_from_uint8 if four else unpack_fp6_from_uint8
    back = unpack(packed, *whole.shape, dtype=torch.float32).numpy()
    mine = mxref.unpack(packed.numpy(), format, whole.shape[1])
    assert np.array_equal(bits(mxref.decode(mine, format)), bits(back))
    size = mxref.packed_size(length, format)
    assert np.array_equal(mxref.pack(codes, format), packed.numpy()[0, :size])


# CUDA's vector types: g++ compiles the host path of the headers. A program reads floats and writes
# the storage of the vectors that it makes of them; then the floats that it reads back from those.


@pytest.fixture(scope="session")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled program."""
    folder = tmp_path_factory.mktemp("cuda")
    source = Path(__file__).resolve().parent / "data" / "vectors.cpp"
    include = metadata.distribution("nvidia-cuda-runtime").locate_file("nvidia/cu13/include")
    command = ["g++", "-O1", "-w", "-I", str(include), str(source), "-o", "vectors"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "vectors"


#: In the order of the program's letters.
VECTORS = [(f, lanes) for f in ("e2m1", "e3m2", "e2m3", "e4m3", "e5m2") for lanes in (2, 4)]


@pytest.mark.parametrize(("format", "lanes"), VECTORS)
@each_length
@each_kind
def test_cuda_vector_types(cuda: Path, format: str, lanes: int, length: int, kind: str) -> None:
    fmt = ELEMENT_FORMATS[format]
    codes = codes_of(format, length, kind)
    finite = codes & ~np.uint8(fmt.sign_bit) <= np.uint8(fmt.max_code)
    codes = np.where(finite, codes, np.uint8(0))  # NaN and infinities are N11 to N13, not layout
    values = mxref.decode(filled(codes, lanes), format)
    letter = "abcdefghij"[VECTORS.index((format, lanes))]
    run = subprocess.run([cuda, letter], input=values.tobytes(), capture_output=True, check=True)
    packing = {"fp6_packing": "byte_each"} if fmt.bits == 6 else {}
    size = mxref.packed_size(lanes, format, **packing)
    records = np.frombuffer(run.stdout, np.uint8).reshape(-1, size + 4 * lanes)
    stored = np.ascontiguousarray(records[:, :size]).ravel()
    assert np.array_equal(mxref.pack(filled(codes, lanes), format, **packing), stored)
    short = mxref.pack(codes, format, **packing)
    assert np.array_equal(short, stored[: len(short)])
    assert not stored[len(short) :].any()
    assert np.array_equal(
        mxref.unpack(stored, format, len(values), **packing), filled(codes, lanes)
    )
    read = np.ascontiguousarray(records[:, size:]).view(np.float32).ravel()
    assert np.array_equal(bits(read), bits(values))
