"""Scales like E8M0 of fewer bits against microxcaling's `scale_bits`, bit for bit.

It needs torch, and `MXREF_MICROXCALING`, which names a checkout at 7bc41952.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch
from needs import checkout

import mxref
from mxref.formats.catalog import BLOCK_FORMATS, BlockFormat, ScaleFormat, Specials
from mxref.operands.splitmix import splitmix64

NAMES = {
    **{"mxfp8_e5m2": "fp8_e5m2", "mxfp8_e4m3": "fp8_e4m3", "mxfp6_e3m2": "fp6_e3m2"},
    **{"mxfp6_e2m3": "fp6_e2m3", "mxfp4_e2m1": "fp4", "mxint8": "int8"},
}
ROUNDINGS = {"nearest": "ties_to_away", "even": "ties_to_even"}


def blocks_of_every_amax() -> np.ndarray:
    """Every exponent of float32, at both ends of its binade and inside, with shorter elements."""
    fractions = np.uint32([0, 1, 0x200000, 0x400000, 0x600000, 0x7FFFFE, 0x7FFFFF])
    amax = (np.arange(256, dtype=np.uint32)[:, np.newaxis] << np.uint32(23) | fractions).reshape(-1)
    words = splitmix64(7, amax.size * 8).reshape(-1, 8)
    down = (words >> np.uint64(60)).astype(np.int64)
    fields = np.maximum((amax[:, np.newaxis] >> 23).astype(np.int64) - 1 - down, 0)
    rest = fields << 23 | (words & np.uint64(0x7FF000)).astype(np.int64)
    rows = np.concatenate([amax[:, np.newaxis], rest.astype(np.uint32)], axis=1)
    signs = (words[:, :1] >> np.uint64(32) << np.uint64(31)).astype(np.uint32)
    rows[:, ::2] |= signs & np.uint32(0x80000000)
    rows[:5] = 0  # a block of zeros
    return rows.view(np.float32)


@pytest.mark.parametrize("width", range(2, 8))
def test_numbers_are_those_of_microxcaling(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(checkout("MXREF_MICROXCALING"))
    mx = importlib.import_module("mx.mx_ops")
    nan = Specials.TOP_CODE_NAN
    scale = ScaleFormat(f"e{width}m0", width, 0, 2 ** (width - 1) - 1, nan, subnormals=False)
    x = blocks_of_every_amax()
    for block, name in NAMES.items():
        fmt = BlockFormat("mine", BLOCK_FORMATS[block].element, scale, x.shape[1])
        for mode, rounding in ROUNDINGS.items():
            want = mx._quantize_mx(
                torch.tensor(x), width, name, axes=[-1], block_size=0, round=mode
            ).numpy()
            blocks = mxref.quantize(
                *(x, fmt, f"ocp+rounding={rounding}+zero_sign=dropped"),
                scale_rule="floor_log2_float32",
                scale_overflow="nan",
            )
            got, codes = blocks.dequantize(), blocks.scale_codes.astype(int)
            # Just below half of the smallest number 0.5 is added in float32, which gives 1.
            least = np.ldexp(fmt.element.value(1), codes - scale.bias)
            up = np.abs(x) == least * (0.5 - 2.0**-25)
            assert up.sum() == 1
            assert np.abs(want[up]) == least[up.any(axis=1)]
            assert np.array_equal(np.isnan(got), np.isnan(want))
            assert np.array_equal(np.isnan(got).all(axis=1), codes[:, 0] == 2**width - 1)
            assert np.array_equal(got[~up], want[~up], equal_nan=True)
            alike = ~up & ~np.isnan(got) & (block != "mxint8")  # which has no -0
            assert np.array_equal(np.signbit(got[alike]), np.signbit(want[alike]))
