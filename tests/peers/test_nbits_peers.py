"""`matmul_nbits` beside onnxruntime's MatMulNBits: bits where no order rounds, else bounds."""

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
from mxref.integer import linear_bounds, matmul_nbits, nbits_weights

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "adapters"))
import onnxruntime_operators_adapter as operators

F32 = np.float32
BLOCKS = (16, 32, 64, 128, 256)


def layer(drawn: np.random.Generator, bits: int, block: int, k: int) -> tuple[Any, Any]:
    """Random bytes, and zero points in two layers of three."""
    n, groups = int(drawn.integers(1, 20)), -(-k // block)
    packed = drawn.integers(0, 256, (n, groups, block * bits // 8)).astype(np.uint8)
    zeros = drawn.integers(0, 256, (n, -(-groups * bits // 8))).astype(np.uint8)
    return packed, zeros if drawn.integers(3) else None


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("bits", [2, 4])
def test_onnxruntime_gives_the_same_numbers(bits: int, block: int, share: Share) -> None:
    drawn, apart = np.random.default_rng(block + bits), 0
    for turn in range(200 if share.complete else 12):
        k = block * int(drawn.integers(1, 6)) - int(drawn.integers(0, block)) * (turn % 2)
        packed, zeros = layer(drawn, bits, block, k)
        m, size = int(drawn.integers(1, 20)), packed.shape[:2]
        more = {"bits": bits, "level": turn % 4 // 2}
        # Integers under powers of two: all sums are exact.
        x = drawn.integers(-8, 9, (m, k)).astype(F32)
        scales = np.ldexp(F32(1), drawn.integers(-4, 3, size)).astype(F32)
        scales *= drawn.choice(F32([1, -1, 0]), size)
        theirs = operators.matmul_nbits(x, packed, scales, zeros, **more)
        assert np.array_equal(matmul_nbits(x, packed, scales, zeros, bits=bits), theirs)
        compared("onnxruntime", "matmul_nbits", theirs.size)
        x, scales = F32(drawn.normal(size=(m, k))), F32(drawn.uniform(-0.1, 0.1, size))
        theirs = operators.matmul_nbits(x, packed, scales, zeros, **more)
        weights = nbits_weights(packed, zeros, bits)
        weights[:, k:] = 0
        wide = np.pad(x, [(0, 0), (0, weights.shape[1] - k)])
        low, high, _ = linear_bounds(wide, weights, scales, "offset")
        assert ((low <= theirs) & (theirs <= high)).all()
        apart += np.count_nonzero(theirs != matmul_nbits(x, packed, scales, zeros, bits=bits))
    assert apart > 0


def test_blocks_of_512_are_refused() -> None:
    """Of such blocks version 1.26 gave zeros (onnxruntime#28551)."""
    packed, scales = np.full((4, 4, 256), 0x22, np.uint8), np.full((4, 4), 0.5, F32)
    zeros, x = np.full((4, 2), 0x33, np.uint8), np.ones((1, 2048), F32)
    with pytest.raises(Exception, match="Only block sizes 16, 32, 64, 128, and 256"):
        operators.matmul_nbits(x, packed, scales, zeros)
    assert matmul_nbits(x, packed, scales, zeros).tolist() == [[-1024.0] * 4]


def test_onnxruntime_conforms() -> None:
    """`verify` asks it in every size, order and kind of tensors."""
    vectors = Path(__file__).resolve().parents[2] / "vectors"
    files = golden.read_vectors(vectors, lambda stem: stem.startswith("matmul_nbits"))
    report = check(target_of(operators, "onnxruntime"), files)
    assert report.passed
    rows = {row.format: row.description for row in report.rows if row.op == "matmul_nbits"}
    assert set(rows) == {"uint4", "uint4_zeros", "uint2", "uint2_zeros"}
