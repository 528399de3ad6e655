"""Quark, FBGEMM, MLX and torchmx: what they were seen to do that no table of test_seen.py says."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import mxref
from mxref.formats.catalog import block_format

F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
FP4, E3M2, INF = "mxfp4_e2m1", "mxfp6_e3m2", np.inf


def test_quark_reads_float16_by_a_scale_of_float16() -> None:
    fmt = block_format(E3M2)
    codes = np.pad(np.uint8([[29, 61], [29, 61]]), ((0, 0), (0, 30)))
    blocks = mxref.Blocks(codes, np.uint8([[98], [103]]), fmt, 1, (2, 2))
    quark = mxref.profile("quark_even")  # 2**-29 is 0 there, 2**-24 is not
    assert quark.dequantize(blocks, F16).view(np.uint16).tolist() == [[0, 0x8000], [20, 0x8014]]
    assert (quark.dequantize(blocks)[0] * 2.0**29).tolist() == [20, -20]


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


@pytest.mark.parametrize(("first", "last", "scale"), [(0x7FC0, 0x7FE0, 0), (0xFFE0, 0x7FC0, 254)])
def test_of_nothing_but_nan_the_last_counts(first: int, last: int, scale: int) -> None:
    values = np.full(32, first, np.uint16)
    values[-1] = last
    blocks = mxref.profile("quark_triton_even").quantize(values.view(BF16), FP4)
    assert blocks.scale_codes.tolist() == [scale]
    assert blocks.codes[[0, 31]].tolist() == [first >> 12 & 8 | 7, last >> 12 & 8 | 7]


def test_mlx_read_480_where_it_now_reads_nan() -> None:
    codes = np.uint8([0x7E, 0x7F, 0xFF])
    assert mxref.profile("mlx_0_31").decode(codes, "e4m3").tolist() == [448.0, 480.0, -480.0]
    new = mxref.profile("mlx_0_32").decode(codes, "e4m3")
    assert np.isnan(new).tolist() == [False, True, True]


def test_torchmx_reads_plain_integers() -> None:
    codes = np.zeros((1, 32), np.uint8)
    codes[0, :4] = [1, 64, 0xFD, 0x80]
    fmt, profile = block_format("mxint8"), mxref.profile("torchmx")
    for byte, numbers in {
        0: [2.0**-127, 2.0**-121, -3 * 2.0**-127, -(2.0**-120)],
        127: [1.0, 64.0, -3.0, -128.0],
        249: [2.0**122, INF, -3 * 2.0**122, -INF],
        254: [2.0**127, INF, -INF, -INF],
    }.items():
        blocks = mxref.Blocks(codes, np.array([[byte]], np.uint8), fmt, 1, (1, 32))
        values = profile.dequantize(blocks, BF16)
        assert values[0, :4].astype(np.float64).tolist() == numbers
    blocks = mxref.Blocks(codes, np.array([[255]], np.uint8), fmt, 1, (1, 32))
    assert np.isnan(profile.dequantize(blocks, BF16).astype(F32)).all()
