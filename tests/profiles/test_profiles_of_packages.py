"""MLX, gguf, triton_kernels, Quark's Triton kernels, compressed-tensors: what they were seen to do.

Every row was answered so by the package, by the adapter that the profile names; the digests are of
its answers to 3,008 blocks.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from profile_blocks import digest, many

import mxref
from mxref.formats.catalog import block_format

F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
NAN, INF, FLT_MAX = np.nan, np.inf, float.fromhex("0x1.fffffep127")
FP4, FP6, FP8 = "mxfp4_e2m1", "mxfp6_e2m3", "mxfp8_e4m3"

BLOCKS = [
    # MLX: scale bytes wrap, also those of infinity and NaN; the first of the nearest is taken.
    ("mlx_0_31", FP4, F32, [2.0**-126, -(2.0**-126)], 0xFE, [7, 15]),
    ("mlx_0_32", FP4, F32, [2.0**-126, -(2.0**-126)], 0xFF, [6, 14]),
    ("mlx_0_32", FP4, F32, [4.0, 0.25, -0.25, 0.75, -5.0], 127, [6, 0, 0, 1, 14]),
    ("mlx_0_31", FP4, F32, [8.0], 127, [7]),
    ("mlx_0_32", FP4, F32, [8.0], 128, [6]),
    ("mlx_0_32", FP4, F32, [0.0, 2.0**-149], 127, [0, 0]),
    ("mlx_0_31", FP4, F32, [1.0, NAN], 128, [0, 0]),
    ("mlx_0_31", FP8, F32, [1.0, -1.0, 0.0, NAN, -NAN], 128, [0x7E, 0xFE, 0xFE, 0x7E, 0xFE]),
    ("mlx_0_31", FP8, F16, [1.0, -1.0, 0.0, NAN, -NAN], 0, [0x7E, 0xFE, 0xFE, 0x7E, 0xFE]),
    ("mlx_0_31", FP8, BF16, [1.0, -1.0, 0.0, NAN, -NAN], 0, [0x7E, 0xFE, 0x7E, 0x7E, 0x7E]),
    # gguf: floor of a float32 logarithm; under byte FD 4 * 2**126 cannot be reached.
    ("gguf_mxfp4", FP4, F32, [FLT_MAX], 0xFD, [5]),
    ("gguf_mxfp4", FP4, F32, [2.0**-126], 0xFF, [0]),
    ("gguf_mxfp4", FP4, F32, [NAN, 2.0**-126, 2.0**-100, -(2.0**-99), 1.0], 0, [0, 4, 7, 0, 0]),
    ("gguf_mxfp4", FP4, F32, [4.0, 0.25, -0.25, 5.0], 127, [6, 0, 0, 6]),
    # triton_kernels: the exponent field of amax / max, up or down; ties away in FP4.
    ("triton_kernels_up", FP4, F32, [4.0, 0.25, -5.0, -0.0], 127, [6, 1, 15, 8]),
    ("triton_kernels_down", FP4, F32, [4.0], 126, [7]),
    ("triton_kernels_up", FP4, F32, [2.0**-140, -(2.0**-140)], 1, [0, 8]),
    ("triton_kernels_up", FP4, F32, [2.0**-147], 1, [0]),  # amax / 6 is 2**-149
    ("triton_kernels_up", FP4, F32, [NAN, 1.0, -1.0], 0, [7, 0, 8]),
    ("triton_kernels_down", FP4, F32, [INF, 1.0, -1.0], 0xFF, [15, 0, 8]),
    ("triton_kernels_down", FP8, BF16, [-NAN, 1.0, -1.0], 0xFF, [0xFF, 0x00, 0x80]),
    # Triton's interpreter: 2**-127 in bfloat16 counts as 0, 1.5 * 2**-127 as 2**-127.
    ("quark_triton_even", FP4, BF16, [2.0**-127, 1.5 * 2.0**-127], 0, [0, 2]),
    ("quark_triton_even", FP4, BF16, [7.0, NAN], 128, [6, 7]),
    ("quark_triton_even", FP4, BF16, [6.96875, -INF], 254, [0, 15]),
    ("quark_triton_up", FP4, F16, [4.0, 0.25], 127, [6, 1]),
    ("quark_triton_down", FP4, F16, [4.0, NAN], 126, [7, 7]),
    # compressed-tensors: FP8 as if it had FP4's mantissa; infinite scales are stored as 1.
    ("compressed_tensors", FP8, F32, [448.0, 432.0, 416.0], 128, [0x76, 0x76, 0x75]),
    ("compressed_tensors", FP4, F32, [FLT_MAX, -1.0], 127, [0, 0]),
    ("compressed_tensors", FP6, F32, [INF, -1.0], 127, [0x20, 0x20]),
    ("compressed_tensors", FP4, F32, [4.0, -0.0, -0.1], 127, [6, 0, 8]),
    ("compressed_tensors", FP6, F32, [7.75, -0.0], 128, [0x18, 0x20]),
    ("compressed_tensors", FP4, F16, [0.75 * 2.0**-14], 111, [5]),
    ("compressed_tensors", FP4, F16, [0.74 * 2.0**-14], 127, [0]),
    ("compressed_tensors", FP8, BF16, [-NAN, -1.0], 0, [0x7F, 0xFE]),
    ("compressed_tensors", FP4, BF16, [NAN, 1.0], 0, [8, 7]),
]


@pytest.mark.parametrize(("name", "format", "dtype", "block", "scale", "codes"), BLOCKS)
def test_blocks(
    name: str, format: str, dtype: type, block: list[float], scale: int, codes: list[int]
) -> None:
    with np.errstate(invalid="ignore"):
        values = np.zeros(32, dtype)
        values[: len(block)] = np.array(block, np.float64).astype(dtype)
    blocks = mxref.profile(name).quantize(values, format)
    found = blocks.scale_codes.tolist(), blocks.codes[: len(block)].tolist()
    assert found == ([scale], codes)


@pytest.mark.parametrize(("first", "last", "scale"), [(0x7FC0, 0x7FE0, 0), (0xFFE0, 0x7FC0, 254)])
def test_of_nothing_but_nan_the_last_counts(first: int, last: int, scale: int) -> None:
    values = np.full(32, first, np.uint16)
    values[-1] = last
    blocks = mxref.profile("quark_triton_even").quantize(values.view(BF16), FP4)
    assert blocks.scale_codes.tolist() == [scale]
    assert blocks.codes[[0, 31]].tolist() == [first >> 12 & 8 | 7, last >> 12 & 8 | 7]


DIGESTS = [
    ("mlx_0_31", "mxfp8_e4m3", "f32", "229390bfc4863448"),
    ("mlx_0_31", "mxfp8_e4m3", "bf16", "d4a2a643bff2ff0a"),
    ("mlx_0_31", "mxfp8_e4m3", "f16", "f53644411cff579d"),
    ("mlx_0_31", "mxfp4_e2m1", "f32", "99caa5f35cbfb74d"),
    ("mlx_0_31", "mxfp4_e2m1", "bf16", "919166fdeece1761"),
    ("mlx_0_31", "mxfp4_e2m1", "f16", "a1db6738ec376c29"),
    ("mlx_0_32", "mxfp8_e4m3", "f32", "77c11bbc8ea143f1"),
    ("mlx_0_32", "mxfp8_e4m3", "bf16", "382e408ea813edbe"),
    ("mlx_0_32", "mxfp8_e4m3", "f16", "d2ac3aceb330830c"),
    ("mlx_0_32", "mxfp4_e2m1", "f32", "ce816951bc682a02"),
    ("mlx_0_32", "mxfp4_e2m1", "bf16", "8f70b671bf3130b9"),
    ("mlx_0_32", "mxfp4_e2m1", "f16", "4bacb9c200135ed0"),
    ("triton_kernels_up", "mxfp8_e5m2", "f32", "ff950da7bdd5e322"),
    ("triton_kernels_up", "mxfp8_e5m2", "bf16", "fa775c68e05bdb93"),
    ("triton_kernels_up", "mxfp8_e5m2", "f16", "7a207bca4994ab9e"),
    ("triton_kernels_up", "mxfp8_e4m3", "f32", "81d80d37781d2e7c"),
    ("triton_kernels_up", "mxfp8_e4m3", "bf16", "ea476374b0bb9b93"),
    ("triton_kernels_up", "mxfp8_e4m3", "f16", "7461708d42919a7e"),
    ("triton_kernels_up", "mxfp4_e2m1", "f32", "a79fca5e5a9c3df2"),
    ("triton_kernels_up", "mxfp4_e2m1", "bf16", "6538aa0a3fef70ca"),
    ("triton_kernels_up", "mxfp4_e2m1", "f16", "dc4c860c0d9f12c6"),
    ("triton_kernels_down", "mxfp8_e5m2", "f32", "892ad308027a5469"),
    ("triton_kernels_down", "mxfp8_e5m2", "bf16", "7731e923d5df9135"),
    ("triton_kernels_down", "mxfp8_e5m2", "f16", "a70cbc58f0b16143"),
    ("triton_kernels_down", "mxfp8_e4m3", "f32", "9b5d651e58e997b7"),
    ("triton_kernels_down", "mxfp8_e4m3", "bf16", "b09349e735f7977d"),
    ("triton_kernels_down", "mxfp8_e4m3", "f16", "39fb9d786ac3bc3b"),
    ("triton_kernels_down", "mxfp4_e2m1", "f32", "afc43878015ec29c"),
    ("triton_kernels_down", "mxfp4_e2m1", "bf16", "23ea6bb28a322174"),
    ("triton_kernels_down", "mxfp4_e2m1", "f16", "9f73f7b17658ad3a"),
    ("quark_triton_even", "mxfp4_e2m1", "bf16", "9cc0fc1629b8cbd5"),
    ("quark_triton_even", "mxfp4_e2m1", "f16", "abf7ea68ae8ad1e8"),
    ("quark_triton_up", "mxfp4_e2m1", "bf16", "dd7b6c19a2b16bd8"),
    ("quark_triton_up", "mxfp4_e2m1", "f16", "33ccbd7401ecc938"),
    ("quark_triton_down", "mxfp4_e2m1", "bf16", "bb21bde2e1a5e632"),
    ("quark_triton_down", "mxfp4_e2m1", "f16", "8ff7d93729cd05fd"),
    ("compressed_tensors", "mxfp8_e4m3", "f32", "c710edc266e0b908"),
    ("compressed_tensors", "mxfp8_e4m3", "bf16", "16186a7ee70fedc7"),
    ("compressed_tensors", "mxfp8_e4m3", "f16", "24329e5684c341ac"),
    ("compressed_tensors", "mxfp6_e2m3", "f32", "2763730d175ec20d"),
    ("compressed_tensors", "mxfp6_e2m3", "bf16", "46568e8db018b5d6"),
    ("compressed_tensors", "mxfp6_e2m3", "f16", "946996f28802d798"),
    ("compressed_tensors", "mxfp4_e2m1", "f32", "f25b6c4d2f9fca2f"),
    ("compressed_tensors", "mxfp4_e2m1", "bf16", "246fe5d56911fd25"),
    ("compressed_tensors", "mxfp4_e2m1", "f16", "98848f14d5e82719"),
    ("gguf_mxfp4", "mxfp4_e2m1", "f32", "f1a578a75301122f"),
    ("gguf_mxfp4", "mxfp4_e2m1", "f16", "88d7eb7f2a136892"),
]


@pytest.mark.parametrize(("name", "format", "source", "theirs"), DIGESTS)
def test_many_blocks(name: str, format: str, source: str, theirs: str) -> None:
    blocks = mxref.profile(name).quantize(many(source), format)
    assert digest(blocks.scale_codes, blocks.codes) == theirs


@pytest.mark.parametrize(
    ("name", "format", "scale", "code", "number"),
    [
        ("mlx_0_31", FP8, 127, 0x7F, 480.0),
        ("mlx_0_31", FP8, 127, 0xFF, -480.0),
        ("mlx_0_32", FP8, 127, 0x7F, NAN),
        ("mlx_0_32", FP4, 0xFF, 0x1, INF),
        ("mlx_0_32", FP4, 0xFF, 0x8, NAN),
        ("gguf_mxfp4", FP4, 0xFF, 0x1, 2.0**127),
        ("gguf_mxfp4", FP4, 127, 0x8, 0.0),
        ("triton_kernels_up", FP4, 0, 0xF, -0.0),
        ("triton_kernels_up", FP4, 0xFF, 0x0, NAN),
        ("compressed_tensors", FP6, 0xFF, 0x3F, -INF),
    ],
)
def test_numbers_read(name: str, format: str, scale: int, code: int, number: float) -> None:
    codes, scales = np.full(32, code, np.uint8), np.array([scale], np.uint8)
    blocks = mxref.Blocks(codes, scales, block_format(format), 0, (32,))
    found = mxref.profile(name).dequantize(blocks)
    assert {float(one).hex() for one in found} == {float(number).hex()}


def test_casts_of_mlx() -> None:
    old, new = mxref.profile("mlx_0_31"), mxref.profile("mlx_0_32")
    codes = np.uint8([0x7E, 0x7F, 0xFF])
    assert old.decode(codes, "e4m3").tolist() == [448.0, 480.0, -480.0]
    assert np.isnan(new.decode(codes, "e4m3")).tolist() == [False, True, True]
    values = np.float32([NAN, -NAN, 464.0, -INF, -0.0])
    assert new.encode(values, "e4m3").tolist() == [0x7E, 0xFE, 0x7E, 0xFE, 0x80]


def test_casts_of_compressed_tensors() -> None:
    ours = mxref.profile("compressed_tensors")
    values = [NAN, -NAN, -0.0, -0.1, 9.0]
    single, short = np.float32(values), np.array(values).astype(BF16)
    assert ours.encode(single, "e2m1").tolist() == [0, 0, 0, 8, 7]
    assert ours.encode(short, "e2m1").tolist() == [8, 8, 0, 8, 7]
    assert ours.encode(single, "e2m3").tolist() == [0x20, 0x20, 0x20, 0x21, 0x1F]
    assert ours.encode(single, "e4m3").tolist()[:2] == [0x7F, 0xFF]
    assert ours.encode(short, "e4m3").tolist()[:2] == [0x7F, 0x7F]
    assert ours.shared_scale(np.float32([448.0, 447.0, INF]), "e4m3").tolist() == [128, 127, 127]
