"""`matmul_nbits`: layouts by hand, the slow twin, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mxref.exact import integer as exact
from mxref.integer import linear_qcs8w, matmul_nbits, nbits_weights

F32 = np.float32


def test_codes_and_zero_points_by_hand() -> None:
    """The issue's own numbers: code 2, zero point 3 and the scale 0.5 are -0.5 for each 1."""
    packed, zeros = np.full((2, 4, 64), 0x22, np.uint8), np.full((2, 2), 0x33, np.uint8)
    x = np.ones((3, 512), F32)
    assert matmul_nbits(x, packed, np.full((2, 4), 0.5), zeros).tolist() == [[-256.0] * 2] * 3
    # Three blocks: the last zero point of each output has a byte of its own.
    three = np.full((2, 3, 8), 0x22, np.uint8)
    zeros = np.uint8([[0x43, 0xF5], [0x10, 0xF2]])
    assert nbits_weights(three, zeros)[:, ::16].tolist() == [[-1, -2, -3], [2, 1, 0]]
    two = np.full((1, 5, 4), 0b11100100, np.uint8)  # the codes 0, 1, 2, 3
    assert nbits_weights(two, np.uint8([[0b11100100, 0xFE]]), 2).reshape(5, 16)[:, :4].tolist() == [
        [0, 1, 2, 3], [-1, 0, 1, 2], [-2, -1, 0, 1], [-3, -2, -1, 0], [-2, -1, 0, 1],
    ]  # fmt: skip
    assert nbits_weights(two, bits=2)[0, :4].tolist() == [-2, -1, 0, 1]


def test_the_first_code_is_in_the_lowest_bits() -> None:
    packed = np.zeros((1, 1, 8), np.uint8)
    packed[0, 0, :2] = 0x21, 0x43
    codes = nbits_weights(packed, np.uint8([[0]]))[0]
    assert codes.tolist() == [1, 2, 3, 4, *[0] * 12]


@pytest.mark.parametrize("bits", [2, 4])
@pytest.mark.parametrize("order", ["exact", "dequantize", "scale_last", "offset"])
def test_numbers_are_those_of_the_twin(order: str, bits: int) -> None:
    drawn = np.random.default_rng(bits)
    for k, block in ((16, 16), (33, 16), (40, 32), (64, 32), (130, 64), (7, 16)):
        n, groups = int(drawn.integers(1, 4)), -(-k // block)
        packed = drawn.integers(0, 256, (n, groups, block * bits // 8)).astype(np.uint8)
        zeros: Any = drawn.integers(0, 256, (n, -(-groups * bits // 8))).astype(np.uint8)
        zeros = None if k == 64 else zeros
        scales = F32(drawn.normal(size=(n, groups)))
        scales[0, 0] = 0
        x = F32(drawn.normal(size=(2, k)) * 2.0 ** drawn.integers(-9, 9, (2, k)))
        got = matmul_nbits(x, packed, scales, zeros, bits=bits, order=order)
        want = []
        for row in x.view(np.uint32).tolist():
            for j in range(n):
                own = None if zeros is None else zeros[j].tolist()
                w = exact.nbits_weights(packed[j].reshape(-1).tolist(), own, groups, bits)
                more = [0] * (groups * block - k)
                w[k:] = more
                factors = scales[j].view(np.uint32).tolist()
                want.append(exact.linear([*row, *more], w, factors, order))
        assert got.view(np.uint32).reshape(-1).tolist() == want


def test_codes_behind_k_are_not_read() -> None:
    packed = np.full((1, 2, 8), 0x99, np.uint8)
    x = F32([1] * 20)
    want = matmul_nbits(x, packed, np.ones((1, 2)))
    packed[0, 1, 2:] = 0xFF
    assert matmul_nbits(x, packed, np.ones((1, 2))) == want == 20
    infinite = F32([np.inf] * 20)
    assert matmul_nbits(infinite, packed, np.ones((1, 2))).tolist() == [np.inf]


def test_it_is_the_layer_of_its_integers() -> None:
    drawn = np.random.default_rng(3)
    packed = drawn.integers(0, 256, (5, 3, 16)).astype(np.uint8)
    scales, x = F32(drawn.normal(size=(5, 3))), drawn.normal(size=(2, 4, 96)).astype(np.float16)
    want = linear_qcs8w(x, nbits_weights(packed), scales)
    assert np.array_equal(matmul_nbits(x, packed, scales), want)
    assert want.shape == (2, 4, 5)


def test_codes_of_zero_are_minus_8() -> None:
    packed = np.zeros((1, 2, 8), np.uint8)
    assert matmul_nbits(np.ones(32, F32), packed, np.ones((1, 2))).tolist() == [-256]
