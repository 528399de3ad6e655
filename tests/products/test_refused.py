"""What products and layers refuse."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from refused import assert_says, refusals

import mxref
from mxref import ADDERS
from mxref.formats.catalog import E8M0, BlockFormat, ElementFormat

DRAWS = np.random.default_rng(5)
X, W = (DRAWS.standard_normal((n, 70)).astype(np.float32) for n in (7, 9))
A = mxref.quantize(X, "mxfp8_e4m3", axis=1)
B = mxref.quantize(W, "mxfp8_e4m3", axis=1).T
SQUARE = mxref.quantize(np.ones((2, 4), np.float32), "mxfp4_e2m1", axis=1)
#: What the calls of the table name.
NAMED = {
    "hopper": ADDERS["hopper_fp8"],
    "changed": dataclasses.replace,
    "Adder": mxref.Adder,
    "mma_bounds": mxref.mma_bounds,
    "one": np.ones((1, 1), ml_dtypes.float8_e4m3fn),
    "square": SQUARE,
    "square_t": SQUARE.T,
    "a": A,
    "b": B,
    "values": X,
    "tiles": mxref.quantize(X, "mxfp8_e4m3", axis=(0, 1), block_size=(4, 8)),
    "cube": mxref.quantize(np.ones((2, 3, 32), np.float32), "mxfp8_e4m3"),
    "shorter": B[:64],
    "short_blocks": mxref.quantize(W.T, "mxfp8_e4m3", axis=0, block_size=16),
    "two_levels": mxref.quantize(X, "nvfp4", axis=1),
    "small_scales": mxref.quantize(W.T, "fp4_ue4m3", axis=0),
    "sixteen": mxref.quantize(W.T, "fp4_e8m0", axis=0),
    "long_scales": mxref.quantize(X, "fp4_ue4m3", axis=1, block_size=32),
    "rows": mxref.quantize(X, "nvfp4", axis=1, tensor_scale="row"),
    "tiny": mxref.quantize(X, "nvfp4", axis=1, tensor_scale=2.0**-122),
    "wide": mxref.quantize(X, BlockFormat("wide", ElementFormat("w", 4, 3, 90), E8M0, 32), axis=1),
}


@pytest.mark.parametrize(("call", "kind", "text"), refusals("products", **NAMED))
def test_what_is_refused(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)
