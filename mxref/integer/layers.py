"""Linear layers with float32 inputs and integer weights; two 4-bit weights in a byte."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import fl
from mxref.bits.float32_sums import float32_sums
from mxref.bits.single import (
    float32_patterns,
    float64_numbers,
    int64_array,
    integer_array,
    single,
)
from mxref.bits.weighted_sums import exact_sums, possible_sums, rounded_sums, with_specials
from mxref.integer.integer_choices import Nibbles, Order, Stored, chosen
from mxref.products.intervals import Bounds
from mxref.support.integers import integer

__all__ = [
    "linear_bounds",
    "linear_qcs4w",
    "linear_qcs8w",
    "pack_int4",
    "qlinear_matmul",
    "unpack_int4",
]

Array = NDArray[Any]
#: What `offset` adds to a weight.
_OFFSET = 8


def pack_int4(
    w: ArrayLike, nibbles: str | Nibbles = "high_first", stored: str | Stored = "offset"
) -> NDArray[np.uint8]:
    """Codes from -8 to 7, two to a byte; a row of odd length is padded with a 0.

    Args:
        w: integers (..., K); the result is bytes (..., ceil(K / 2)).
        nibbles: `high_first` or `low_first`.
        stored: `offset`, w + 8, or `twos_complement`.

    Raises:
        TypeError: no integers.
        ValueError: a code outside of -8 to 7, no axis, or an unknown choice.

    Source: SPEC_NOTES Q9; ExecuTorch 1.5.1 `fuse_quantized_ops.py`.

    >>> pack_int4([[-8, 7, 0, -1], [1, 2, 3, -4]]).tobytes().hex(" ")
    '0f 87 9a b4'
    >>> pack_int4([-8, 7, 0, -1], "low_first", "twos_complement").tobytes().hex(" ")
    '78 f0'
    """
    codes = int64_array(w, "w")
    high_first = chosen(Nibbles, nibbles, "nibbles") is Nibbles.HIGH_FIRST
    if codes.ndim == 0 or ((codes < -8) | (codes > 7)).any():
        raise ValueError("w must have at least one axis, and codes from -8 to 7")
    odd = [(0, 0)] * (codes.ndim - 1) + [(0, codes.shape[-1] % 2)]
    flip = _flip(stored)
    pairs = [np.pad(codes, odd)[..., i::2] & 15 ^ flip for i in (0, 1)]
    high, low = pairs if high_first else pairs[::-1]
    return (high << 4 | low).astype(np.uint8)


def unpack_int4(
    packed: ArrayLike,
    k: int,
    nibbles: str | Nibbles = "high_first",
    stored: str | Stored = "offset",
) -> Array:
    """The k codes of each row of bytes, as int8; the inverse of `pack_int4`.

    Args:
        packed: bytes (..., ceil(k / 2)).
        k: codes of a row; if it is odd, the last nibble is not read.
        nibbles: `high_first` or `low_first`.
        stored: `offset` or `twos_complement`, as in `pack_int4`.

    Raises:
        TypeError: no integers.
        ValueError: no bytes, a k that the rows do not have, or an unknown choice.

    Source: SPEC_NOTES Q9.

    >>> unpack_int4(np.uint8([0x9A, 0xB8]), 3).tolist()
    [1, 2, 3]
    """
    bytes_ = int64_array(packed, "packed")
    high_first = chosen(Nibbles, nibbles, "nibbles") is Nibbles.HIGH_FIRST
    if bytes_.ndim == 0 or ((bytes_ < 0) | (bytes_ > 255)).any():
        raise ValueError("packed must have at least one axis, and bytes from 0 to 255")
    if (integer(k, "k") + 1) // 2 != bytes_.shape[-1] or k < 0:
        raise ValueError(f"k must be the codes of {bytes_.shape[-1]} bytes, got {k}")
    both = [bytes_ >> 4, bytes_ & 15][:: 1 if high_first else -1]
    codes = np.stack(both, -1).reshape(*bytes_.shape[:-1], 2 * bytes_.shape[-1])[..., :k]
    return ((codes ^ _flip(stored) ^ 8) - 8).astype(np.int8)


def _flip(stored: str | Stored) -> int:
    """The bit in which a nibble differs from the lower four bits of its code."""
    return _OFFSET if chosen(Stored, stored, "stored") is Stored.OFFSET else 0


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
        offset, last = _OFFSET * (which is Order.OFFSET), which is not Order.DEQUANTIZE
        found = float32_sums(bits, weights, factors, scales_last=last, offset=offset)
        return found.reshape(shape)
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
    shape = float32_patterns(x, "x").shape
    weights = unpack_int4(packed, shape[-1] if shape else 0, nibbles)
    return linear_qcs8w(x, weights, scales, order)


def qlinear_matmul(
    a: ArrayLike,
    a_scale: float,
    a_zero: int,
    b: ArrayLike,
    b_scale: ArrayLike,
    b_zero: ArrayLike,
    y_scale: float,
    y_zero: int,
) -> Array:
    """The product of two matrices of codes, as codes of the first one's dtype.

    The exact sum of (a - a_zero) * (b - b_zero) is rounded to float32, multiplied with the float32
    number a_scale * b_scale / y_scale, rounded to the nearest integer, ties to even, and saturated
    after y_zero is added. The product of the scales is rounded before it is divided.

    Args:
        a: int8 or uint8 (M, K).
        a_scale: positive and finite, read as float32; so are b_scale and y_scale.
        a_zero: a code of a.
        b: int8 or uint8 (K, N).
        b_scale: one, or one for each column (N,).
        b_zero: codes of b, as many or one.
        y_scale: of the result.
        y_zero: a code of the result.

    Returns:
        (M, N).

    Raises:
        TypeError: codes that are no integers.
        ValueError: codes of other dtypes, shapes that do not fit, scales that are not positive and
            finite, zero points that are no codes.

    Source: SPEC_NOTES Q14.

    >>> a, b = np.int8([[1, 2]]), np.int8([[3], [-4]])  # 3 - 8 is -5, and half of it a tie
    >>> qlinear_matmul(a, 0.5, 0, b, 1.0, 0, 1.0, 7).tolist()
    [[5]]
    """
    x, w = integer_array(a, "a"), integer_array(b, "b")
    if x.dtype not in (np.int8, np.uint8) or w.dtype not in (np.int8, np.uint8):
        raise ValueError(f"a and b must be int8 or uint8, got {x.dtype} and {w.dtype}")
    if x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[0]:
        raise ValueError(f"a and b must be (M, K) and (K, N), got {x.shape} and {w.shape}")
    zeros = [int64_array(one, "zero points") for one in (a_zero, b_zero, y_zero)]
    for zero, dtype in zip(zeros, (x.dtype, w.dtype, x.dtype), strict=True):
        info = np.iinfo(dtype)
        columns = w.shape[1] if zero is zeros[1] else 1
        if ((zero < info.min) | (zero > info.max)).any() or zero.size not in (1, columns):
            raise ValueError(f"zero points must be codes of {dtype}, one or one a column")
    with np.errstate(over="ignore"):
        scales = [fl(float64_numbers(one, "scales")) for one in (a_scale, b_scale, y_scale)]
    if not all(((one > 0) & np.isfinite(one)).all() for one in scales):
        raise ValueError("scales must be positive and finite as float32")
    with np.errstate(over="ignore"):
        factor = fl(fl(scales[0] * scales[1]) / scales[2])
    if not np.isfinite(factor).all():
        raise ValueError("a_scale * b_scale / y_scale must be finite as float32")
    if scales[1].size not in (1, w.shape[1]):
        raise ValueError(f"b_scale must be one or one a column, got {scales[1].shape}")
    # Sums of so few products of 9 bits are exact in float64.
    sums = (x.astype(np.float64) - zeros[0]) @ (w.astype(np.float64) - zeros[1])
    with np.errstate(over="ignore"):
        y = single().nearest(fl(fl(sums) * factor))
    info, y_zero = np.iinfo(x.dtype), int(zeros[2])
    return (np.clip(y, info.min - y_zero, info.max - y_zero) + y_zero).astype(x.dtype)


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
    offset, last = _OFFSET * (which is Order.OFFSET), which is not Order.DEQUANTIZE
    large = np.abs(weights + offset) + offset
    steps = weights.shape[1] + 1 + (offset > 0)
    found = possible_sums(bits, weights, large, factors, steps, scales_last=last)
    return Bounds(*(each.reshape(shape) for each in found))


def _operands(
    x: ArrayLike, w: ArrayLike, scales: ArrayLike
) -> tuple[NDArray[np.uint32], tuple[int, ...], NDArray[np.int64], NDArray[np.float64]]:
    """Patterns (M, K), the shape of the result, weights (N, K) and scales (N, G)."""
    bits, weights = float32_patterns(x, "x"), int64_array(w, "w")
    factors = fl(float64_numbers(scales, "scales"))
    if weights.ndim != 2 or bits.ndim == 0 or bits.shape[-1] != weights.shape[1]:
        raise ValueError(f"w must be (N, K) for x (..., K), got {weights.shape} and {bits.shape}")
    if ((weights < -128) | (weights > 127)).any():
        raise ValueError("w must be from -128 to 127")
    (n, k), given = weights.shape, factors.shape
    factors = factors[:, np.newaxis] if factors.ndim == 1 else factors
    if factors.ndim != 2 or len(factors) != n or not factors.shape[1] or k % factors.shape[1]:
        raise ValueError(f"scales must be (N,) or (N, G), G a divisor of K, got {given}")
    if not np.isfinite(factors).all():
        raise ValueError("scales must be finite in float32")
    rows = bits.reshape(math.prod(bits.shape[:-1]), k)
    return rows, (*bits.shape[:-1], n), weights, factors
