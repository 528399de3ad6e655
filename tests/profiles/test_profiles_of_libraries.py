"""Quark, FBGEMM, JAX, Qwix, pychop: what they were seen to do.

Every row was answered so by the library, by the adapter that the profile names; the digests are of
its answers to the blocks of `many`.
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
FP4, E3M2, E4M3, E5M2 = "mxfp4_e2m1", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2"
BELOW_ROOT_2 = float.fromhex("0x1.6a09e6p0")  # the float32 just below it
BELOW_7 = float.fromhex("0x1.bffffep2")

# Blocks of 32, filled up with zeros; the last code is that of the first zero.
BLOCKS = [
    # Quark: infinity and NaN are packed by their bits, and so is what a NaN scale makes of numbers.
    ("quark_even", FP4, F32, [1.0, INF, NAN, -INF], 127, [7, 7, 7, 7, 7]),
    ("quark_even", E3M2, F32, [-NAN, 1.0, INF], 127, [0x3E, 0x1E, 0x1E, 0x1E]),
    ("quark_floor", E3M2, F32, [NAN, 1.0], 127, [0x1E, 0x3F, 0x3F]),
    ("quark_ceil", E3M2, F32, [NAN, -1.0], 127, [0x1E, 0x3F, 0x3F]),
    ("quark_floor", FP4, F32, [INF, -INF, -1.0], 127, [15, 15, 0, 0]),
    ("quark_even", FP4, F32, [7.0, -0.0, -0.1, 6.9], 128, [6, 0, 0, 5, 0]),
    ("quark_even", FP4, F32, [FLT_MAX, -FLT_MAX], 254, [4, 12, 0]),
    # Byte 0 is not written; a scale that is 0 in the values' type becomes 2**-23.
    ("quark_even", FP4, F32, [0.0], 1, [0, 0]),
    ("quark_even", FP4, BF16, [2.0**-126, -(2.0**-127)], 1, [4, 10, 0]),
    ("quark_floor", FP4, F32, [2.0**-148], 104, [0, 0]),
    ("quark_floor", FP4, F32, [2.0**-147], 1, [6, 0]),
    ("quark_floor", FP4, F16, [2.0**-23], 104, [2, 0]),
    ("quark_floor", FP4, F16, [2.0**-22], 103, [6, 0]),
    ("quark_ceil", FP4, F32, [0.0], 104, [0, 0]),
    ("quark_ceil", FP4, F32, [4.5, -1.0], 128, [4, 9, 0]),
    # Its simulation: products beyond float32; INT8 in steps of 2**-126 at least, and with m = 8.
    ("quark_fake", E4M3, F32, [FLT_MAX, 1.0, -(2.0**120)], 254, [0x7F, 0, 0x84, 0]),
    ("quark_fake", E5M2, F32, [FLT_MAX, -FLT_MAX], 254, [0x7C, 0xFC, 0]),
    ("quark_fake", E4M3, F32, [NAN, 1.0], 255, [0, 0, 0]),
    ("quark_fake", "mxint8", F32, [2.0**-126, -(2.0**-127), 1.75 * 2.0**-126], 1, [64, 0, 127, 0]),
    ("quark_fake", "mxint8", F32, [2 - 2.0**-9], 128, [64, 0]),
    ("quark_fake", "mxint8", F32, [0.0], 1, [0, 0]),
    # FBGEMM: sums of logarithms, ties away, NaN as zeros with the sign of torch's NaN.
    ("fbgemm_mx4_nearest", FP4, F32, [float.fromhex("0x1.6a09e4p0")], 125, [7, 0]),
    ("fbgemm_mx4_nearest", FP4, F32, [BELOW_ROOT_2, -0.0, -0.1, 0.125], 126, [5, 8, 8, 1, 0]),
    ("fbgemm_mx4_nearest", FP4, F32, [INF, -INF, 2.0**126], 252, [0, 8, 4, 0]),
    ("fbgemm_mx4_floor", FP4, F32, [2.0**40 * (1 - 2.0**-24)], 165, [6, 0]),
    ("fbgemm_mx4_floor", FP4, F32, [NAN, -1.0, 1.0], 0, [0, 8, 8, 8]),
    ("fbgemm_mx4_ceil", FP4, F32, [4.5, 0.25], 128, [4, 0, 0]),
    ("fbgemm_mx4_even", FP4, F32, [7.0], 128, [6, 0]),
    ("fbgemm_mx4_even", FP4, F32, [BELOW_7], 127, [7, 0]),
    ("fbgemm_mx4_even", FP4, F32, [BELOW_7 * 2.0**40], 168, [5, 0]),
    ("fbgemm_mx4_even", FP4, F32, [FLT_MAX, -1.0], 0, [8, 8, 8]),
    # JAX: reciprocals and flushed subnormal numbers; 0 times infinity is a negative NaN.
    ("jax", E4M3, F32, [0.0, -0.0], 0, [0xFF, 0xFF, 0xFF]),
    ("jax", E4M3, F32, [1.0, NAN, -1.0], 0, [0x7E, 0x7F, 0xFE, 0xFF]),
    ("jax", E4M3, F32, [INF, -1.0, 1.0], 255, [0xFF, 0x80, 0, 0]),
    ("jax", E4M3, F32, [2.0**-126, 2.0**-127], 0, [0x7E, 0xFF, 0xFF]),
    ("jax", E4M3, F32, [448.0, -449.0, 1.0], 128, [0x76, 0xF6, 0x30, 0]),
    ("jax", E4M3, F16, [2.0**-14, 0.0], 104, [0x7E, 0xFF, 0xFF]),
    ("jax", E4M3, F16, [2.0**-24], 0, [1, 0]),
    ("jax", E5M2, F16, [57344.0], 128, [0x77, 0]),
    ("jax", E5M2, BF16, [-NAN, 1.0, 0.0], 0, [0x7F, 0x7B, 0x7F, 0x7F]),
    ("jax", E5M2, F32, [-NAN, 1.0], 0, [0xFE, 0x7B, 0xFE]),
    # Qwix: log2 of 2**-13 is above -13; scales below 2**-63 become 1.
    ("qwix", FP4, F32, [6 * 2.0**-13], 115, [5, 0]),
    ("qwix", FP4, F32, [6 * 2.0**-12], 115, [7, 0]),
    ("qwix", FP4, F32, [2.0**-60], 65, [6, 0]),
    ("qwix", FP4, F32, [2.0**-61], 127, [0, 0]),
    ("qwix", E4M3, F32, [INF, 1.0, -1.0, -INF], 255, [0xFF, 0, 0x80, 0xFF, 0]),
    ("qwix", E4M3, F32, [NAN, 1.0], 255, [0, 0, 0]),
    # pychop: NaN does not count, and is nothing where all else is.
    ("pychop", FP4, F32, [NAN, 1.0, -0.0, -0.1], 125, [7, 6, 0, 9, 0]),
    ("pychop", FP4, F32, [0.0, NAN], 0, [0, 0, 0]),
    ("pychop", "mxint8", F32, [-INF, NAN, 2.0], 254, [0x80, 0x7F, 0, 0]),
    ("pychop", E4M3, F32, [-INF, NAN], 254, [0xFE, 0x7F, 0]),
]


@pytest.mark.parametrize(("name", "format", "dtype", "numbers", "scale", "codes"), BLOCKS)
def test_blocks(
    name: str, format: str, dtype: type, numbers: list[float], scale: int, codes: list[int]
) -> None:
    values = np.zeros(32, dtype)
    with np.errstate(invalid="ignore"):
        values[: len(numbers)] = np.array(numbers, np.float64).astype(dtype)
    blocks = mxref.profile(name).quantize(values, format)
    assert blocks.scale_codes.tolist() == [scale]
    assert blocks.codes[: len(codes)].tolist() == codes


DIGESTS = [
    ("quark_even", "mxfp6_e3m2", "f32", "f1262f48a3e298b2"),
    ("quark_even", "mxfp6_e3m2", "bf16", "a7ad157ef8a9eb60"),
    ("quark_even", "mxfp6_e3m2", "f16", "cc2fa019bb7a7a6d"),
    ("quark_even", "mxfp6_e2m3", "f32", "130bea33a2813ea8"),
    ("quark_even", "mxfp6_e2m3", "bf16", "c5cfb92a28f1a985"),
    ("quark_even", "mxfp6_e2m3", "f16", "fd96b4dbabeb44a1"),
    ("quark_even", "mxfp4_e2m1", "f32", "94a382f341b93796"),
    ("quark_even", "mxfp4_e2m1", "bf16", "a8185b71a1164b8d"),
    ("quark_even", "mxfp4_e2m1", "f16", "6c249ed716c3be08"),
    ("quark_floor", "mxfp6_e3m2", "f32", "d3649a08175108fc"),
    ("quark_floor", "mxfp6_e3m2", "bf16", "ade8259f7b305a30"),
    ("quark_floor", "mxfp6_e3m2", "f16", "549cf2cff648ca8e"),
    ("quark_floor", "mxfp6_e2m3", "f32", "34e8203a44f6b820"),
    ("quark_floor", "mxfp6_e2m3", "bf16", "8eb50df36c5f78bf"),
    ("quark_floor", "mxfp6_e2m3", "f16", "f2a76112db3f9a5a"),
    ("quark_floor", "mxfp4_e2m1", "f32", "1f178e40e84d3364"),
    ("quark_floor", "mxfp4_e2m1", "bf16", "359c7fed70991234"),
    ("quark_floor", "mxfp4_e2m1", "f16", "8bc778cdc4914e7b"),
    ("quark_ceil", "mxfp6_e3m2", "f32", "9a002ddc51932f5e"),
    ("quark_ceil", "mxfp6_e3m2", "bf16", "ff84daf46ab413f8"),
    ("quark_ceil", "mxfp6_e3m2", "f16", "049d043dda31a2bb"),
    ("quark_ceil", "mxfp6_e2m3", "f32", "56f869f8081474bf"),
    ("quark_ceil", "mxfp6_e2m3", "bf16", "c412de79b7530c90"),
    ("quark_ceil", "mxfp6_e2m3", "f16", "291cc317b8a6d018"),
    ("quark_ceil", "mxfp4_e2m1", "f32", "338fd1269cebe786"),
    ("quark_ceil", "mxfp4_e2m1", "bf16", "3c14d63fb077900c"),
    ("quark_ceil", "mxfp4_e2m1", "f16", "ab1bf99bd247a214"),
    ("quark_fake", "mxfp8_e5m2", "f32", "cc29986479fe25c0"),
    ("quark_fake", "mxfp8_e4m3", "f32", "176cfc9dd47ba217"),
    ("quark_fake", "mxint8", "f32", "747a54dd5329368c"),
    ("fbgemm_mx4_nearest", "mxfp4_e2m1", "f32", "a13f85d0893c120a"),
    ("fbgemm_mx4_floor", "mxfp4_e2m1", "f32", "d44360f7c54827ff"),
    ("fbgemm_mx4_even", "mxfp4_e2m1", "f32", "50a609aa95418c09"),
    ("fbgemm_mx4_ceil", "mxfp4_e2m1", "f32", "6873f89e3842bf66"),
    ("pychop", "mxfp8_e5m2", "f32", "65fc265e64e69372"),
    ("pychop", "mxfp8_e4m3", "f32", "a69099fca464552f"),
    ("pychop", "mxfp6_e3m2", "f32", "0d30b48ac066e21d"),
    ("pychop", "mxfp6_e2m3", "f32", "f16d3c5aa338a375"),
    ("pychop", "mxfp4_e2m1", "f32", "5bf0cc471e2d8c20"),
    ("pychop", "mxint8", "f32", "1204e205d2b3c06a"),
    ("jax", "mxfp8_e5m2", "f32", "97f8b6f9a944999e"),
    ("jax", "mxfp8_e5m2", "bf16", "92392e106b5a2a90"),
    ("jax", "mxfp8_e5m2", "f16", "b8cb320a01ed81c1"),
    ("jax", "mxfp8_e4m3", "f32", "cae780cfedfe238d"),
    ("jax", "mxfp8_e4m3", "bf16", "fdf8d555e29f633c"),
    ("jax", "mxfp8_e4m3", "f16", "4460ccb5585407bc"),
    ("qwix", "mxfp8_e4m3", "f32", "04a469cda9fae4ed"),
    ("qwix", "mxfp8_e4m3", "bf16", "f0844eb34f930c95"),
    ("qwix", "mxfp4_e2m1", "f32", "0611d20cfb0610dc"),
    ("qwix", "mxfp4_e2m1", "bf16", "64493f332180ee3b"),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "format", "source", "theirs"), DIGESTS)
def test_many_blocks(name: str, format: str, source: str, theirs: str) -> None:
    blocks = mxref.profile(name).quantize(many(source), format)
    assert digest(blocks.scale_codes, blocks.codes) == theirs


def test_scales_of_quark() -> None:
    numbers = F32([2.0**-127, 0, -1, 3, NAN, INF, -INF, 1.9 * 2.0**127, BELOW_ROOT_2])
    exported = [1, 1, 1, 129, 127, 127, 1, 254, 127]
    assert mxref.profile("quark_even").encode_scale(numbers).tolist() == exported
    amax = F16([0, 2.0**-24, 2.0**-23, 2.0**-22, 1.0, INF, NAN])
    scales = [104, 104, 104, 103, 125, 127, 127]
    assert mxref.profile("quark_floor").shared_scale(amax, "e2m1").tolist() == scales


@pytest.mark.parametrize(
    ("format", "codes"),
    [
        ("e3m2", [30, 63, 31, 60, 0, 0]),
        ("e2m3", [28, 62, 31, 56, 0, 0]),
        ("e2m1", [7, 15, 7, 14, 0, 0]),
    ],
)
def test_quark_packs_bits(format: str, codes: list[int]) -> None:
    bits = np.uint32([0x7F800001, 0xFFE00000, 0x7FFFFFFF, 0xFF800000, 0x80000000, 0xBD000000])
    assert mxref.profile("quark_ceil").encode(bits.view(F32), format).tolist() == codes


def test_quark_reads_float16_by_a_scale_of_float16() -> None:
    fmt = block_format(E3M2)
    codes = np.pad(np.uint8([[29, 61], [29, 61]]), ((0, 0), (0, 30)))
    blocks = mxref.Blocks(codes, np.uint8([[98], [103]]), fmt, 1, (2, 2))
    numbers = mxref.profile("quark_even").dequantize(
        blocks, F16
    )  # 2**-29 is 0 there, 2**-24 is not
    assert numbers.view(np.uint16).tolist() == [[0, 0x8000], [20, 0x8014]]
    assert mxref.profile("quark_even").dequantize(blocks)[0].tolist() == [
        20 * 2.0**-29,
        -20 * 2.0**-29,
    ]


def test_fbgemm_looks_at_the_first_payload() -> None:
    # NaN and half a unit less one: NaN up to 7fe00000, then -0, whose logarithm is -infinity.
    x = np.zeros((4, 32), np.uint32)
    x[:, 0] = [0x7FE00000, 0xFFE00001, 0x7FE00002, 0x7FE00001]
    x[:, 1] = [0x00200000, 0x00200000, 0x00200000, 0x3F600000]  # 2**-128; 1.75 * 2**-1
    x[3, 2] = 0x7FFFFFFF
    blocks = mxref.profile("fbgemm_mx4_even").quantize(x.view(F32), FP4)
    assert blocks.scale_codes.ravel().tolist() == [0, 0, 0, 0]
    assert blocks.codes[:, :4].tolist() == [[0, 8, 8, 8], [8, 1, 0, 0], [0, 8, 8, 8], [0, 0, 0, 0]]


def test_fbgemm_reads_byte_ff_as_2_to_the_minus_128() -> None:
    codes = np.full((2, 32), 0xB, np.uint8)
    codes[:, 0] = 8
    scales = np.uint8([[255], [254]])
    blocks = mxref.Blocks(codes, scales, block_format(FP4), 1, (2, 32))
    numbers = mxref.profile("fbgemm_mx4_nearest").dequantize(blocks)
    assert numbers[:, 1].tolist() == [-1.5 * 2.0**-128, -1.5 * 2.0**127]
    assert numbers[:, 0].tobytes() == bytes(8)


@pytest.mark.parametrize(
    ("dtype", "codes"),
    [
        (F32, [[126, 254, 128, 95], [127, 255, 128, 126], [8, 8, 8, 7]]),
        (np.float64, [[126, 254, 128, 95], [127, 255, 128, 126], [8, 8, 8, 7]]),
        (F16, [[127, 127, 128, 95], [127, 255, 128, 126], [8, 8, 8, 7]]),
        (BF16, [[127, 127, 128, 95], [127, 255, 128, 126], [8, 8, 8, 7]]),
    ],
)
def test_casts_of_jax(dtype: type, codes: list[list[int]]) -> None:
    with np.errstate(invalid="ignore"):
        numbers = np.array([NAN, -NAN, -0.0, 464.0]).astype(dtype)
    ours = mxref.profile("jax_casts")
    assert [ours.encode(numbers, one).tolist() for one in ("e5m2", "e4m3", "e2m1")] == codes


def test_scales_of_jax() -> None:
    casts = mxref.profile("jax_casts")
    tiny = np.array([2.0**-127, np.nextafter(2.0**-127, 0), np.nextafter(2.0**-127, 1)])
    assert casts.encode_scale(tiny).tolist() == [0, 255, 1]
    assert casts.encode_scale(F32([2.0**-127, 2.0**-128])).tolist() == [0, 0]
    ours = mxref.profile("jax")
    amax = F32([448.0, 449.0, INF, NAN, 2.0**-120])
    assert ours.shared_scale(amax, "e4m3").tolist() == [127, 128, 255, 0, 0]
    assert ours.shared_scale(F16([57344.0, 896.0]), "e5m2").tolist() == [128, 122]
