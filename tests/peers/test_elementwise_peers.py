"""Sums and products of codes beside onnxruntime's QLinearAdd and QLinearMul."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live import compared
from shares import Share

from mxref import golden
from mxref.conformance import check, target_of
from mxref.integer import qlinear_add, qlinear_mul

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "adapters"))
import onnxruntime_operators_adapter as operators

F32 = np.float32


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("own", [qlinear_add, qlinear_mul])
def test_onnxruntime_gives_the_same_codes(own: Any, dtype: str, share: Share) -> None:
    """All pairs of codes under scales with many ties, and without; and one code beside an array."""
    drawn, info = np.random.default_rng(9), np.iinfo(dtype)
    theirs = getattr(operators, own.__name__)
    every = np.arange(info.min, info.max + 1).astype(dtype)
    a, b = (side.reshape(-1) for side in np.meshgrid(every, every))
    for turn in range(16 if share.complete else 3):
        scales = drawn.choice([0.5, 0.25, 1, 0.1, 0.3, 0.7, 1 / 3, 2], 3).astype(F32)
        if turn % 2:
            scales = drawn.uniform(0.01, 1, 3).astype(F32)
        scales[2] *= 64 if own is qlinear_mul else 1
        zeros = drawn.integers(info.min, info.max + 1, 3).astype(dtype)
        for x, y in ((a, b), (every, every[turn : turn + 1]), (every[turn : turn + 1], every)):
            z, (sa, sb, sy) = zeros.tolist(), map(float, scales)
            given = x, sa, z[0], y, sb, z[1], sy, z[2]
            got = own(*given)
            assert np.array_equal(got, theirs(*given))
            compared("onnxruntime", own.__name__, got.size)


def test_onnxruntime_conforms() -> None:
    """`verify` asks it in every size, order and kind of tensors; a processor may saturate pairs."""
    vectors = Path(__file__).resolve().parents[2] / "vectors"
    files = golden.read_vectors(vectors, lambda stem: stem.startswith("qlinear"))
    assert len(files) == 6
    report = check(target_of(operators, "onnxruntime"), files)
    if operators.adds_in_pairs():
        (wrong,) = (row for row in report.rows if row.wrong)
        assert (wrong.op, wrong.format) == ("qlinear_matmul", "uint8")
        assert "I24d" in [cause.name for cause in wrong.causes]
        files = [file for file in files if file.stem != "qlinear_matmul/uint8.bytes"]
        report = check(target_of(operators, "onnxruntime"), files)
    assert report.passed
