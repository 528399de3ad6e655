"""microxcaling, torchao main, Transformer Engine, torchmx: blocks that they were seen to make.

Every row was answered so by the original, by the adapter that the profile names.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import mxref
from mxref.formats.catalog import block_format

F32, BF16 = np.float32, ml_dtypes.bfloat16
NAN, INF, FLT_MAX = np.nan, np.inf, float.fromhex("0x1.fffffep127")
TIES = [4.0, 0.25, 0.75, 2.5, -0.0, -0.1]  # under scale 1 of E2M1
EDGE = [FLT_MAX, -0.0, -1.0]
BELOW = 0.25 - 2.0**-26  # the float32 below half of E2M1's smallest number
TORCH = [f"microxcaling_torch{mode}" for mode in ("", "_even", "_floor")]
CUDA = [f"microxcaling_cuda{mode}" for mode in ("", "_even", "_floor")]

BLOCKS = [
    # Ties away, to even, truncated; the kernels drop the sign of all zeros, torch of -0 alone.
    (TORCH[0], "mxfp4_e2m1", F32, TIES, 127, [6, 1, 2, 5, 0, 8]),
    (TORCH[1], "mxfp4_e2m1", F32, TIES, 127, [6, 0, 2, 4, 0, 8]),
    (TORCH[2], "mxfp4_e2m1", F32, TIES, 127, [6, 0, 1, 4, 0, 8]),
    (CUDA[0], "mxfp4_e2m1", F32, TIES, 127, [6, 1, 2, 5, 0, 0]),
    (CUDA[1], "mxfp4_e2m1", F32, TIES, 127, [6, 0, 2, 4, 0, 0]),
    (CUDA[2], "mxfp4_e2m1", F32, TIES, 127, [6, 0, 1, 4, 0, 0]),
    (TORCH[0], "mxfp4_e2m1", F32, [4.0, BELOW], 127, [6, 1]),
    (TORCH[1], "mxfp4_e2m1", F32, [4.0, BELOW], 127, [6, 1]),
    (CUDA[0], "mxfp4_e2m1", F32, [4.0, BELOW], 127, [6, 0]),
    # The logarithm of FLT_MAX is 128: 256 * 2**120 is read as infinity. The kernels saturate.
    (TORCH[1], "mxfp8_e4m3", F32, EDGE, 247, [0x78, 0x00, 0x80]),
    (CUDA[1], "mxfp8_e4m3", F32, EDGE, 246, [0x7E, 0x00, 0x00]),
    # The logarithm in bfloat16: 1.9921875 * 2**-111 counts as 2**-110.
    (TORCH[1], "mxfp8_e4m3", BF16, [1.9921875 * 2.0**-111], 9, [0x78]),
    (TORCH[1], "mxfp8_e4m3", F32, [1.9921875 * 2.0**-111], 8, [0x7E]),
    (CUDA[1], "mxfp8_e4m3", BF16, [1.9921875 * 2.0**-111], 8, [0x7E]),
    # Just below 2**64 the exponent of an element is one too high as well: 7 units, not 15.
    (TORCH[2], "mxfp8_e4m3", F32, [2.0**64 * (1 - 2.0**-24)], 183, [0x76]),
    # Zero counts as 2**-126, which only INT8's scale shows.
    (TORCH[1], "mxint8", F32, [0.0], 1, [0]),
    (TORCH[1], "mxfp4_e2m1", F32, [0.0], 0, [0]),
    (CUDA[1], "mxint8", F32, [0.0], 0, [0]),
    (TORCH[0], "mxint8", F32, [1.0, 127.5 / 64, -0.5 / 64], 127, [64, 127, 0xFF]),
    (TORCH[1], "mxfp4_e2m1", F32, [1.0, INF], 0xFF, [0, 0]),
    (CUDA[1], "mxfp4_e2m1", F32, [NAN, 1.0], 0xFF, [0, 0]),
    # torchao main: tiny blocks are right, infinity is a NaN block, whose elements are NaN.
    ("torchao_main_floor", "mxfp4_e2m1", F32, [2.0**-126, 0.0], 0, [4, 0]),
    ("torchao_main_floor", "mxfp8_e4m3", F32, [-INF, -1.0], 0xFF, [0x7F, 0x7F]),
    ("torchao_main_ceil", "mxfp6_e2m3", BF16, [-NAN, -1.0], 0xFF, [0x0C, 0x0C]),
    ("torchao_main_ceil", "mxfp4_e2m1", F32, [7.0], 128, [6]),
    ("torchao_main_even", "mxfp4_e2m1", F32, [7.0], 128, [6]),
    ("torchao_main_even", "mxfp4_e2m1", F32, [FLT_MAX], 0xFF, [3]),
    ("torchao_main_even", "mxfp4_e2m1", F32, [1.5 * 2.0**127], 252, [7]),
    ("torchao_main_rceil", "mxfp8_e4m3", F32, [float.fromhex("0x1.c00004p-119")], 1, [0x76]),
    ("torchao_main_rceil", "mxfp8_e4m3", F32, [float.fromhex("0x1.c00002p-119")], 0, [0x7E]),
    # Transformer Engine: the scale is that of the other numbers.
    ("transformer_engine_mxfp8", "mxfp8_e4m3", F32, [-NAN, 448.0], 127, [0x7F, 0x7E]),
    ("transformer_engine_mxfp8", "mxfp8_e5m2", np.float16, [NAN, NAN], 0, [0x7F, 0x7F]),
    ("transformer_engine_mxfp8", "mxfp8_e4m3", BF16, [-INF, -1.0], 0xFE, [0xFE, 0x80]),
    ("torchmx", "mxint8", BF16, [127.5, 1.0, -3.0, 0.5], 127, [127, 1, 0xFD, 0]),
    ("torchmx", "mxint8", BF16, [2.0**-126, 3 * 2.0**-128], 0, [2, 2]),
    ("torchmx", "mxfp4_e2m1", BF16, [INF, 1.0], 0xFF, [0, 0]),
]


@pytest.mark.parametrize(
    ("name", "format", "dtype", "numbers", "scale", "codes"),
    BLOCKS,
    ids=[f"{row[0]}-{i}" for i, row in enumerate(BLOCKS)],
)
def test_blocks(
    name: str, format: str, dtype: type, numbers: list[float], scale: int, codes: list[int]
) -> None:
    values = np.zeros((1, 32), dtype)
    values[0, : len(numbers)] = numbers
    if all(np.isnan(numbers)):
        values[:] = NAN
    blocks = mxref.profile(name).quantize(values, format)
    assert blocks.scale_codes.tolist() == [[scale]]
    assert blocks.codes[0, : len(codes)].tolist() == codes


def test_scales() -> None:
    amax = np.uint32([0x04600001, 0x7F800000, 0x7FC00000, 0x7F7FFFFF]).view(F32)
    rules = {
        "torchao_main_rceil": [0, 255, 255, 247],
        "torchao_main_even": [0, 255, 255, 255],
        "transformer_engine_mxfp8": [0, 254, 0, 247],
        "microxcaling_torch_even": [0, 255, 255, 247],
        "microxcaling_cuda_even": [0, 255, 255, 246],
    }
    for name, codes in rules.items():
        assert mxref.profile(name).shared_scale(amax, "e4m3").tolist() == codes, name


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
