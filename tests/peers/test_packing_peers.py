"""Packed bytes against the implementations that write them: every byte equal, there and back.

Ramps, random codes and odd lengths. What a peer refuses (an odd length) is filled up first. Those
of torchao, ONNX and gguf are asked through their adapters, in test_adapters.py.
"""

from __future__ import annotations

import subprocess
from importlib import metadata
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch
from compressed_tensors.compressors.mxfp6.helpers import pack_fp6_to_uint8, unpack_fp6_from_uint8
from compressed_tensors.compressors.nvfp4.helpers import pack_fp4_to_uint8, unpack_fp4_from_uint8
from onnx import numpy_helper

import mxref
from mxref.formats.catalog import ELEMENT_FORMATS

LENGTHS = [0, 1, 2, 3, 4, 5, 31, 32, 33, 64, 101, 4096, 5001]


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
