"""Products of matrices of codes beside onnxruntime's QLinearMatMul."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live import compared
from shares import Share

from mxref.integer import qlinear_matmul

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "adapters"))
import onnxruntime_operators_adapter as operators

F32 = np.float32


def in_pairs(*given: Any) -> np.ndarray:
    """The codes where sums of two products, uint8 times int8, saturate at 16 bits."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = given
    odd, k = a.shape[1] % 2, a.shape[1]
    x, w = a.astype(int), b.astype(int)
    x, w = np.pad(x, [(0, 0), (0, odd)]), np.pad(w, [(0, odd), (0, 0)])
    pairs = x[:, ::2, None] * w[None, ::2] + x[:, 1::2, None] * w[None, 1::2]
    sums = np.clip(pairs, -(2**15), 2**15 - 1).sum(1)
    zeros = np.broadcast_to(np.asarray(b_zero, int), b.shape[1])
    sums += k * a_zero * zeros - a_zero * w.sum(0) - x.sum(1)[:, None] * zeros
    factor = F32(F32(a_scale) * F32(b_scale)) / F32(y_scale)
    y = np.rint(sums.astype(F32) * factor) + y_zero
    return np.clip(y, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_onnxruntime_gives_the_same_codes(dtype: str, columns: bool, share: Share) -> None:
    """One sum of each product lies next to a tie; a third of the scales are powers of two."""
    random, info = np.random.default_rng(7), np.iinfo(dtype)
    for turn in range(5200 if share.complete else 600):
        m, k, n = (int(random.integers(1, most)) for most in (14, 60, 14))
        a = random.integers(info.min, info.max, (m, k), endpoint=True).astype(dtype)
        b = random.integers(-128, 127, (k, n), endpoint=True).astype(np.int8)
        a_zero, y_zero = random.integers(info.min, info.max, 2, endpoint=True).astype(dtype)
        count = n if columns else 1
        b_zero = random.integers(-128, 127, count, endpoint=True).astype(np.int8)
        scales = random.uniform(0.001, 0.1, count + 1)
        if turn % 3 == 0:
            scales = 2.0 ** random.integers(-8, 0, count + 1)
        a_scale, b_scale = F32(scales[0]), scales[1:].astype(F32)
        total = (a[0].astype(int) - int(a_zero)) @ (b[:, 0].astype(int) - int(b_zero[0]))
        tie = random.integers(0, 128) + 0.5
        y_scale = F32(abs(int(total)) * float(a_scale) * float(b_scale[0]) / tie) or F32(1)
        if not columns:
            b_scale, b_zero = b_scale[0], b_zero[0]
        given = a, float(a_scale), int(a_zero), b, b_scale, b_zero, float(y_scale), int(y_zero)
        theirs = operators.qlinear_matmul(*given)
        got = qlinear_matmul(*given)
        if dtype == "uint8" and operators.adds_in_pairs():
            got = in_pairs(*given)
        assert np.array_equal(got, theirs)
        compared("onnxruntime", "qlinear_matmul", got.size)
