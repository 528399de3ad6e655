"""NVFP4 of llama.cpp's library, ggml, against the profile, bit for bit.

`MXREF_GGML` names a checkout of ggml-org/ggml at d99724f2b. Its file of quantizers is compiled as
it is; functions of other files that it names are never called, and stand empty.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import built, tool
from needs import checkout, needs
from thresholds import STEPS, TIES, amaxes, at_thresholds, moved, scales, with_specials

import mxref

MODEL = mxref.profile("gguf_nvfp4")
FORMAT = "fp4_ue4m3"
ELSEWHERE = ("ggml_abort", "ggml_row_size", "ggml_type_name", "ggml_type_size")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root, folder = checkout("MXREF_GGML"), tmp_path_factory.mktemp("ggml")
    elsewhere = folder / "elsewhere.c"
    elsewhere.write_text("".join(f"void {name}(void) {{}}\n" for name in ELSEWHERE))
    includes = [f"-I{root / one}" for one in ("include", "src")]
    path: Path = folder / "quants.so"
    sources = root / "src/ggml-quants.c", elsewhere
    built(tool("gcc"), "-O2", "-shared", "-fPIC", *includes, *sources, "-lm", "-o", path)
    return ctypes.CDLL(str(path))


def call(function: Callable[..., Any], given: np.ndarray, out: np.ndarray) -> np.ndarray:
    count = max(given.size, out.size) if given.dtype == np.uint8 else given.size
    function(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(out.ctypes.data), count)
    return out


def stored(library: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale bytes and codes, a row a block of 16: 4 scales, then nibbles in halves."""
    blocks = np.zeros((x.size // 64, 36), np.uint8)
    call(library.quantize_row_nvfp4_ref, np.ascontiguousarray(x, np.float32), blocks)
    nibbles = blocks[:, 4:].reshape(-1, 8)
    codes = np.concatenate([nibbles & 15, nibbles >> 4], axis=1)
    return blocks[:, :4].reshape(-1), codes


def compare(library: Any, x: np.ndarray) -> int:
    """Compare every scale byte and code, those of NaN and infinity included."""
    rest = -len(x) % 4
    x = np.concatenate([x, x[:1].repeat(rest, axis=0)])
    bytes_, codes = stored(library, x)
    blocks = MODEL.quantize(x, FORMAT)
    assert np.array_equal(blocks.scale_codes[:, 0], bytes_)
    assert np.array_equal(blocks.codes, codes)
    return int(codes.size)


def ties_of_every_scale(count: int) -> np.ndarray:
    """Under every scale, of each of so many largest magnitudes, every tie and its neighbours."""
    generator = np.random.default_rng(13)
    numbers, blocks = scales(), []
    for code in range(1, 0x7F):
        low, high = numbers[code - 1 : code + 2][[0, -1]]
        for amax in generator.uniform(3 * (low + numbers[code]), 3 * (numbers[code] + high), count):
            ties = [moved((TIES * numbers[code]).astype(np.float32), step) for step in STEPS]
            near = np.concatenate(ties)
            blocks += [[amax, *near[start : start + 15]] for start in (0, 10, 20)]
    x = np.float32(blocks)
    x[generator.random(x.shape) < 0.5] *= -1
    return np.minimum(np.maximum(x, -np.abs(x[:, :1])), np.abs(x[:, :1]))


def test_a_million_codes(library: Any) -> None:
    """Those of ties and of scales at midpoints are more than 30% of all."""
    near = compare(library, ties_of_every_scale(60)) + compare(library, at_thresholds(2688.0))
    middles = np.float32([7.5, 8, 0.5]) * np.float32(6 * 2.0**-9)
    edges = np.concatenate([middles, np.float32([248 * 6, 256 * 6, 448 * 6, 464 * 6])])
    for step in range(-20, 21):  # the edges of its scale: to 0, from 7 to 8, and past 248
        x = np.zeros((len(edges), 16), np.float32)
        x[:, 0] = moved(edges, step)
        x[:, 1:8] = x[:, :1] * np.float32(TIES) / np.float32(6)
        near += compare(library, x)
    compared = near
    generator = np.random.default_rng(14)
    for spread, shift in ((0, 0), (8, 0), (12, 0), (30, 0), (4, -130), (3, 120)):
        powers = generator.integers(-spread, spread + 1, (8192, 1)).astype(np.int32)
        x = generator.standard_normal((8192, 16), np.float32)
        compared += compare(library, np.ldexp(x, powers + shift).astype(np.float32))
    print(f"{compared} codes compared, {near} of them at thresholds")
    assert compared > 1_000_000
    assert near > 0.3 * compared


@pytest.mark.parametrize("amax", amaxes(4).tolist(), ids=float.hex)
def test_any_size(library: Any, amax: float) -> None:
    compare(library, at_thresholds(amax))


def test_specials(library: Any) -> None:
    """NaN is passed over in amax and stored as 0; infinity makes the largest scale, and is 0."""
    compare(library, with_specials().reshape(-1, 16))
    blocks = MODEL.quantize(np.float32([np.inf, np.nan, 448, -1344, *[0] * 12]), FORMAT)
    assert (blocks.scale_codes.tolist(), blocks.codes[:4].tolist()) == ([0x7E], [0, 0, 2, 13])


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_narrow_types(library: Any, dtype: Any) -> None:
    """Converted to float32, which is exact."""
    x = np.random.default_rng(15).standard_normal((512, 16), np.float32).astype(dtype)
    blocks = MODEL.quantize(x, FORMAT)
    bytes_, codes = stored(library, x.astype(np.float32))
    assert np.array_equal(blocks.scale_codes[:, 0], bytes_)
    assert np.array_equal(blocks.codes, codes)


def test_reading(library: Any) -> None:
    """Every scale of seven bits with every element, signs of zeros included."""
    codes = np.tile(np.arange(16, dtype=np.uint8), (0x80, 1))
    packed = codes[:, :8] | codes[:, 8:] << 4
    scale = np.arange(0x80, dtype=np.uint8)
    parts = [scale.reshape(-1, 4), packed.reshape(-1, 32)]
    file = np.concatenate(parts, axis=1)
    want = call(library.dequantize_row_nvfp4, file, np.zeros((0x80, 16), np.float32))
    blocks = mxref.Blocks(codes, scale[:, np.newaxis], FORMAT, 1, codes.shape)
    got = MODEL.dequantize(blocks)
    assert np.array_equal(got.view(np.uint32), want.view(np.uint32))


def test_llama_cpps_python() -> None:
    """gguf 0.19 makes the same scale bytes, and reads the same numbers; it quantizes nothing."""
    quants = needs("gguf.quants", "gguf==0.19.0").NVFP4
    x = np.concatenate([at_thresholds(2688.0), ties_of_every_scale(5)])
    sixth = np.abs(x).max(axis=1) / np.float32(6)
    assert np.array_equal(MODEL.quantize(x, FORMAT).scale_codes[:, 0], quants.fp32_to_ue4m3(sixth))
    codes = np.tile(np.arange(16, dtype=np.uint8), (0x80, 1))
    scale = np.arange(0x80, dtype=np.uint8)
    packed = codes[:, :8] | codes[:, 8:] << 4
    file = np.concatenate([scale.reshape(-1, 4), packed.reshape(-1, 32)], axis=1)
    want = quants.dequantize_blocks(file).astype(np.float32).reshape(0x80, 16)
    blocks = mxref.Blocks(codes, scale[:, np.newaxis], FORMAT, 1, codes.shape)
    assert np.array_equal(MODEL.dequantize(blocks).view(np.uint32), want.view(np.uint32))
