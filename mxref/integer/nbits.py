"""`MatMulNBits` of onnxruntime: weights of 2 or 4 bits in blocks with scales and zero points.

Source: SPEC_NOTES Q10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.single import float32_patterns, float64_numbers, int64_array
from mxref.integer.integer_choices import Order
from mxref.integer.layers import linear_qcs8w
from mxref.support.integers import integer

__all__ = ["matmul_nbits", "nbits_weights"]

Array = NDArray[Any]


def nbits_weights(
    packed: ArrayLike, zero_points: ArrayLike | None = None, bits: int = 4
) -> NDArray[np.int8]:
    """The integers of packed weights, each code less the zero point of its block.

    Args:
        packed: bytes (N, G, block * bits / 8): of each output G blocks of 16 or more codes, a power
            of two, the first code in the lowest bits of the first byte.
        zero_points: bytes (N, ceil(G * bits / 8)), packed in the same way, so that those of an
            output begin in a byte of their own; without them all are 2**(bits - 1).
        bits: 2 or 4.

    Returns:
        (N, G * block), from -15 to 15.

    Raises:
        TypeError: no integers.
        ValueError: no bytes, shapes that do not fit, blocks of another size, other bits.

    Source: SPEC_NOTES Q10; onnxruntime 1.31.1 `MatMulNBits`.

    >>> nbits_weights(np.uint8([[[0x10, 0x32, *[0x88] * 6]]])).tolist()[0][:5]
    [-8, -7, -6, -5, 0]
    >>> blocks = np.full((1, 3, 8), 0x22, np.uint8)  # code 2, zero points 3, 4 and 5
    >>> nbits_weights(blocks, np.uint8([[0x43, 0x05]]))[0, ::16].tolist()
    [-1, -2, -3]
    """
    if integer(bits, "bits") not in (2, 4):
        raise ValueError(f"bits must be 2 or 4, got {bits}")
    codes = _bytes(packed, "packed")
    if codes.ndim != 3:
        raise ValueError(f"packed must be (N, G, block * bits / 8), got {codes.shape}")
    n, groups, size = codes.shape
    block = size * 8 // bits
    if block < 16 or block & block - 1:
        raise ValueError(f"packed must have blocks of 16, 32, 64, ... codes, got {block}")
    zeros: Any = 1 << bits - 1
    if zero_points is not None:
        given, wanted = _bytes(zero_points, "zero_points"), (n, -(-groups * bits // 8))
        if given.shape != wanted:
            raise ValueError(f"zero_points must be {wanted}, got {given.shape}")
        zeros = _fields(given, bits)[:, :groups, np.newaxis]
    integers: NDArray[np.int64] = _fields(codes, bits) - zeros
    return integers.reshape(n, groups * block).astype(np.int8)


def matmul_nbits(
    x: ArrayLike,
    packed: ArrayLike,
    scales: ArrayLike,
    zero_points: ArrayLike | None = None,
    bits: int = 4,
    *,
    order: str | Order = "exact",
) -> NDArray[np.float32]:
    """The product of x and the transpose of (codes - zero points) * scales, as float32.

    Args:
        x: float32, float16 or bfloat16 (..., K); the last block may have codes beyond K, which are
            not read.
        packed: as in `nbits_weights`, with G = ceil(K / block); so are zero_points and bits.
        scales: finite floats (N, G), rounded to float32, also 0 and negative ones.
        zero_points: see there.
        bits: see there.
        order: as in `linear_qcs8w`; `linear_bounds` of `nbits_weights` has what others may give.

    Returns:
        (..., N). A sum of zeros is +0; infinities and NaN follow IEEE 754.

    Raises:
        TypeError: float64 inputs, or bytes that are no integers.
        ValueError: as `nbits_weights` and `linear_qcs8w`, and blocks that K does not have.

    Source: SPEC_NOTES Q10.

    >>> packed, zeros = np.full((1, 4, 8), 0x22, np.uint8), np.uint8([[0x33, 0x33]])
    >>> matmul_nbits(np.ones(64, np.float32), packed, np.full((1, 4), 0.5), zeros).tolist()
    [-32.0]
    """
    patterns = float32_patterns(x, "x")
    weights = nbits_weights(packed, zero_points, bits)
    factors = float64_numbers(scales, "scales")
    groups = np.shape(packed)[1]
    k = patterns.shape[-1] if patterns.ndim else 0
    block = weights.shape[1] // max(groups, 1)
    if factors.shape != (len(weights), groups):
        wanted = len(weights), groups
        raise ValueError(f"scales must be {wanted}, as packed is, got {factors.shape}")
    if not patterns.ndim or groups != -(-k // max(block, 1)) or not groups:
        got = f"{groups} blocks of {block} for x {patterns.shape}"
        raise ValueError(f"packed must have the blocks of x (..., K), and K be above 0, got {got}")
    wide = [(0, 0)] * (patterns.ndim - 1) + [(0, weights.shape[1] - k)]
    weights[:, k:] = 0
    return linear_qcs8w(np.pad(patterns, wide).view(np.float32), weights, factors, order)


def _bytes(given: ArrayLike, name: str) -> NDArray[np.int64]:
    """Bytes as integers."""
    found = int64_array(given, name)
    if ((found < 0) | (found > 255)).any():
        raise ValueError(f"{name} must be bytes from 0 to 255")
    return found


def _fields(given: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """The codes in bytes along the last axis, the lowest bits first."""
    parts = given[..., np.newaxis] >> np.arange(0, 8, bits) & (1 << bits) - 1
    return parts.reshape(*given.shape[:-1], given.shape[-1] * (8 // bits))
