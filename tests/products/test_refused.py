"""What products and layers refuse."""

from __future__ import annotations

import builtins
import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers import sentence
from tables import arguments, rows

import mxref

DRAWS = np.random.default_rng(5)
X, W = (DRAWS.standard_normal((n, 70)).astype(np.float32) for n in (7, 9))
A = mxref.quantize(X, "mxfp8_e4m3", axis=1)
B = mxref.quantize(W, "mxfp8_e4m3", axis=1).T
NAMED = {
    "a": A,
    "b": B,
    "values": X,
    "tiles": mxref.quantize(X, "mxfp8_e4m3", axis=(0, 1), block_size=(4, 8)),
    "cube": mxref.quantize(np.ones((2, 3, 32), np.float32), "mxfp8_e4m3"),
    "shorter": B[:64],
    "short_blocks": mxref.quantize(W.T, "mxfp8_e4m3", axis=0, block_size=16),
    "two_levels": mxref.quantize(X, "nvfp4", axis=1),
    "small_scales": mxref.quantize(W.T, "fp4_ue4m3", axis=0),
    "out_turned": np.empty((9, 7), np.float32),
    "out_wide": np.empty((7, 9)),
    "tile_format": dataclasses.replace(mxref.formats.block_format("mxint8"), block_size=(2, 2)),
    "three_rows": np.ones((3, 5)),
}
LAYER: dict[str, Any] = {"x": np.ones((2, 4)), "w": np.ones((5, 4)), "block_format": "mxfp8_e4m3"}
#: A good call of each.
GOOD: dict[str, dict[str, Any]] = {
    "matmul": {"a": A, "b": B},
    "matmul_bounds": {"a": A, "b": B},
    "linear": LAYER,
    "linear_gradients": LAYER | {"grad": np.ones((2, 5))},
}


@pytest.mark.parametrize(("name", "changed", "kind", "text"), rows("products", "refused"))
def test_what_is_refused(name: str, changed: str, kind: str, text: str) -> None:
    call = partial(getattr(mxref, name), **GOOD[name])
    call()
    said = sentence(getattr(builtins, kind), partial(call, **arguments(changed, NAMED)))
    assert text in said
    assert said.startswith(text) or "does not read" in text
