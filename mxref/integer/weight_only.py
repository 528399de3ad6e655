"""Linear layers with float32 inputs and integer weights; two 4-bit weights in a byte."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import fl
from mxref.bits.floats import F32
from mxref.bits.single import float32_patterns, float64_numbers, integer_array, single
from mxref.bits.weighted_sums import (
    bounds_of_sums,
    exact_sums,
    one_nan,
    rounded_sums,
    with_specials,
)
from mxref.integer.integer_choices import Nibbles, Order, chosen
from mxref.products.intervals import Bounds

Array = NDArray[Any]


def pack_int4(w: ArrayLike, nibbles: str | Nibbles = "high_first") -> NDArray[np.uint8]:
    """Codes from -8 to 7, two to a byte as w + 8; a row of odd length is padded with a 0.

    Args:
        w: integers (..., K); the result is bytes (..., ceil(K / 2)).
        nibbles: `high_first` or `low_first`.

    Raises:
        TypeError: no integers.
        ValueError: a code outside of -8 to 7, no axis, or an unknown choice.

    Source: SPEC_NOTES Q9; ExecuTorch 1.5.1 `fuse_quantized_ops.py`.

    >>> pack_int4([[-8, 7, 0, -1], [1, 2, 3, -4]]).tobytes().hex(" ")
    '0f 87 9a b4'
    """
    codes = integer_array(w, "w").astype(np.int64)
    high_first = chosen(Nibbles, nibbles, "nibbles") is Nibbles.HIGH_FIRST
    if codes.ndim == 0 or ((codes < -8) | (codes > 7)).any():
        raise ValueError("w must have at least one axis, and codes from -8 to 7")
    odd = [(0, 0)] * (codes.ndim - 1) + [(0, codes.shape[-1] % 2)]
    pairs = [np.pad(codes, odd)[..., i::2] + 8 for i in (0, 1)]
    high, low = pairs if high_first else pairs[::-1]
    return (high << 4 | low).astype(np.uint8)


def unpack_int4(packed: ArrayLike, k: int, nibbles: str | Nibbles = "high_first") -> Array:
    """The k codes of each row of bytes, as int8; the inverse of `pack_int4`.

    Args:
        packed: bytes (..., ceil(k / 2)).
        k: codes of a row; of an odd number the last nibble is not read.
        nibbles: `high_first` or `low_first`.

    Raises:
        TypeError: no integers.
        ValueError: no bytes, a k that the rows do not have, or an unknown choice.

    Source: SPEC_NOTES Q9.

    >>> unpack_int4(np.uint8([0x9A, 0xB8]), 3).tolist()
    [1, 2, 3]
    """
    bytes_ = integer_array(packed, "packed").astype(np.int64)
    high_first = chosen(Nibbles, nibbles, "nibbles") is Nibbles.HIGH_FIRST
    if bytes_.ndim == 0 or ((bytes_ < 0) | (bytes_ > 255)).any():
        raise ValueError("packed must have at least one axis, and bytes from 0 to 255")
    if (k + 1) // 2 != bytes_.shape[-1]:
        raise ValueError(f"k must be the codes of {bytes_.shape[-1]} bytes, got {k}")
    both = [bytes_ >> 4, bytes_ & 15][:: 1 if high_first else -1]
    codes = np.stack(both, -1).reshape(*bytes_.shape[:-1], 2 * bytes_.shape[-1])[..., :k]
    return (codes - 8).astype(np.int8)


def linear_qcs8w(
    x: ArrayLike, w: ArrayLike, scales: ArrayLike, order: str | Order = "exact"
) -> NDArray[np.float32]:
    """The product of x and the transpose of w * scales, as float32.

    Args:
        x: float32, float16 or bfloat16 (..., K).
        w: integers (N, K) from -128 to 127.
        scales: finite floats, rounded to float32: (N,), or (N, G) for G groups of each row.
        order: `exact`, the exact sum, rounded once; or what is computed in float32, K ascending,
            each product and each sum rounded: `dequantize`, `scale_last` or `offset`.

    Returns:
        (..., N). A sum of zeros is +0; infinities and NaN follow IEEE 754.

    Raises:
        TypeError: float64 inputs, or weights that are no integers.
        ValueError: shapes that do not fit, weights beyond 8 bits, infinite scales, another order.

    Source: SPEC_NOTES Q10.

    >>> x = np.float32([2**24, 3])
    >>> for order in ("dequantize", "scale_last", "offset"):
    ...     print(linear_qcs8w(x, [[0, 1]], [1.0], order))
    [3.]
    [3.]
    [0.]
    """
    which = chosen(Order, order, "order")
    bits, shape, weights, factors = _operands(x, w, scales)
    if which is not Order.EXACT:
        return _in_order(bits, weights, factors, which).reshape(shape)
    sums, exponent = exact_sums(bits, weights, factors)
    return with_specials(rounded_sums(sums, exponent), bits, weights, factors).reshape(shape)


def linear_qcs4w(
    x: ArrayLike,
    packed: ArrayLike,
    scales: ArrayLike,
    order: str | Order = "exact",
    nibbles: str | Nibbles = "high_first",
) -> NDArray[np.float32]:
    """`linear_qcs8w` with weights packed by `pack_int4`.

    Args:
        x: as there, (..., K); so are scales and order.
        packed: bytes (N, ceil(K / 2)).
        scales: see there.
        order: see there.
        nibbles: as in `pack_int4`.

    Raises:
        TypeError: as `linear_qcs8w`.
        ValueError: as `linear_qcs8w` and `unpack_int4`.

    Source: SPEC_NOTES Q9, Q10.

    >>> packed = np.uint8([[0x0F, 0x87], [0x9A, 0xB4]])
    >>> linear_qcs4w(np.float32([1, 2, 4, 8]), packed, [0.5, 0.25])
    array([-1.  , -3.75], dtype=float32)
    """
    k = np.shape(x)[-1] if np.ndim(x) else 0
    return linear_qcs8w(x, unpack_int4(packed, k, nibbles), scales, order)


def linear_bounds(x: ArrayLike, w: ArrayLike, scales: ArrayLike, order: str | Order) -> Bounds:
    """The float32 numbers that an order can give, in any order of summation.

    A fused multiply-add is within them, too.

    Args:
        x: as in `linear_qcs8w`; the results are (..., N).
        w: as there.
        scales: as there.
        order: as there; those of `exact` are its result.

    Returns:
        As `matmul_bounds`: `lo` and `hi`, and `overflow`, which is NaN where x is infinite or
        something on the way may be.

    Raises:
        TypeError: as `linear_qcs8w`.
        ValueError: as there.

    Source: SPEC_NOTES Q11; Higham, Accuracy and Stability of Numerical Algorithms, 3.1.

    >>> low, high, _ = linear_bounds(np.float32([2**24, 3]), [[0, 1]], [1.0], "offset")
    >>> float(low[0]) < 0 < 3 < float(high[0])
    True
    """
    which = chosen(Order, order, "order")
    bits, shape, weights, factors = _operands(x, w, scales)
    if which is Order.EXACT:
        exact = linear_qcs8w(x, w, scales)
        return Bounds(exact, exact.copy(), exact.copy())
    offset, magnitude = which is Order.OFFSET, bits & np.uint32(F32.sign_bit - 1)
    large, sizes = np.abs(weights), np.abs(factors)
    inner = fl(large * np.repeat(sizes, weights.shape[1] // sizes.shape[1], 1)).max(1, initial=0)
    large = np.abs(weights + 8) + 8 if offset else large
    steps = weights.shape[1] + 1 + offset
    tops = [bounds_of_sums(magnitude, large, large, sizes, steps)[1]]
    if which is not Order.DEQUANTIZE:
        inner = bounds_of_sums(magnitude, large, large, np.ones((len(weights), 1)), steps)[1]
    infinite = (magnitude >= F32.inf_bits).any(1, keepdims=True)
    nan = (magnitude > F32.inf_bits).any(1, keepdims=True)
    low, high = (
        np.where(nan, np.float32(np.nan), np.where(infinite, np.float32(np.inf), end))
        for end in bounds_of_sums(bits, weights, large, factors, steps)
    )
    beyond = infinite | np.isinf(tops[0]) | np.isinf(inner)
    overflow = np.where(beyond, np.float32(np.nan), low)
    return Bounds(*(each.reshape(shape) for each in (low, high, overflow)))


def _operands(
    x: ArrayLike, w: ArrayLike, scales: ArrayLike
) -> tuple[NDArray[np.uint32], tuple[int, ...], NDArray[np.int64], NDArray[np.float64]]:
    """Patterns (M, K), the shape of the result, weights (N, K) and scales (N, G)."""
    bits, weights = float32_patterns(x, "x"), integer_array(w, "w").astype(np.int64)
    factors = fl(float64_numbers(scales, "scales"))
    if weights.ndim != 2 or bits.ndim == 0 or bits.shape[-1] != weights.shape[1]:
        raise ValueError(f"w must be (N, K) for x (..., K), got {weights.shape} and {bits.shape}")
    if ((weights < -128) | (weights > 127)).any():
        raise ValueError("w must be from -128 to 127")
    n, k = weights.shape
    fits = factors.shape == (n,) or (factors.ndim == 2 and len(factors) == n)
    factors = factors.reshape(n, -1) if fits and factors.size else factors
    if not fits or not factors.shape[-1] or k % factors.shape[-1]:
        raise ValueError(f"scales must be (N,) or (N, G), G a divisor of K, got {factors.shape}")
    if not np.isfinite(factors).all():
        raise ValueError("scales must be finite in float32")
    rows = bits.reshape(math.prod(bits.shape[:-1]), k)
    return rows, (*bits.shape[:-1], n), weights, factors


def _in_order(bits: Array, weights: Array, factors: Array, order: Order) -> NDArray[np.float32]:
    """The sums in float32, as an order computes them."""
    s, offset, last = single(), order is Order.OFFSET, order is not Order.DEQUANTIZE
    x, scales = s.read(bits), s.of(factors.T)
    columns = s.of((weights + 8 * offset).T.astype(np.float64))
    groups, size = (len(scales), len(columns) // len(scales)) if last else (1, len(columns))
    result = np.zeros((len(x), len(weights)), s.dtype)
    with np.errstate(all="ignore"):
        if not last:
            columns = s.fl(columns * np.repeat(scales, size // len(scales), 0))
        for group in range(groups):
            total, inputs = np.zeros_like(result), np.zeros((len(x), 1), s.dtype)
            for k in range(group * size, group * size + size):
                total = s.fl(total + s.fl(x[:, k, np.newaxis] * columns[k]))
                if offset:
                    inputs = s.fl(inputs + x[:, k, np.newaxis])
            if offset:
                total = s.fl(total - s.fl(inputs * 8))
            total[total == 0] = 0  # which is -0 where the processor rounds downward
            if last:
                total = s.fl(total * scales[group])
            result = s.fl(result + total) if groups > 1 else total
    if groups > 1:
        result[result == 0] = 0
    return one_nan(s.write(result).view(np.float32))
