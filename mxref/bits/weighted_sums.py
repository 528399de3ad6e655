"""Exact sums of float32 numbers times integers, held as Python integers; rounding and bounds.

The inputs are fixed-point numbers cut into slices of 32 bits. A slice is below 2**32, a weight is
at most 2**8 and a sum has at most 2**13 terms. So every partial sum of the float64 matrix product
is an integer of at most 2**53: exact in any order and under any mode of the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl, wide
from mxref.bits.floats import F32, F64, I64, Parts, compose, floats_from, split

Array = NDArray[Any]
F64Array = NDArray[np.float64]

_SLICE, _TERMS, _KEPT = 32, 1 << 13, 52


def exact_sums(bits: Array, weights: I64, scales: F64Array) -> tuple[Array, int]:
    """Sums of x * weight * scale over the last axis, as integers times a power of two.

    Args:
        bits: patterns (M, K) of finite float32 numbers; others count as 0.
        weights: (N, K), at most 2**8 in magnitude.
        scales: (N, G), finite numbers that float32 holds, one for K / G weights.

    Returns:
        Python integers (M, N), and the exponent of their unit.

    >>> exact_sums(np.uint32([[0x3F800000]]), np.array([[3]]), np.array([[0.5]]))[0] % 3
    array([[0]], dtype=object)
    """
    x, factor = split(bits, F32), split(scales.view(np.uint64), F64)
    significand = np.where(x.is_inf | x.is_nan, 0, x.significand)
    lowest = int(x.exponent.min(initial=0, where=significand != 0))
    place = np.where(significand != 0, x.exponent - lowest, 0)
    significand = np.where(x.negative, -significand, significand)
    least = int(factor.exponent.min(initial=0, where=factor.significand != 0))
    sign = np.where(factor.negative, -1, 1)
    moved = np.where(factor.significand != 0, factor.exponent - least, 0)
    multipliers = (sign * factor.significand).astype(object) << moved.astype(object)
    size = weights.shape[1] // max(scales.shape[1], 1)
    total = np.zeros((len(bits), len(weights)), object)
    for group in range(scales.shape[1]):
        part = slice(group * size, (group + 1) * size)
        total += (
            _dot(significand[:, part], place[:, part], weights[:, part]) * multipliers[:, group]
        )
    return total, lowest + least


def _dot(significand: I64, place: I64, weights: I64) -> Array:
    """Sums of significand * 2**place * weight as Python integers; places are not negative."""
    total = np.zeros((len(significand), len(weights)), object)
    magnitude, sign = np.abs(significand), np.sign(significand)
    for start in range(0, significand.shape[1], _TERMS):
        part = slice(start, start + _TERMS)
        columns = weights[:, part].T.astype(np.float64)
        for low in range(0, int(place[:, part].max(initial=0)) + F32.mantissa_bits + 1, _SLICE):
            shift = place[:, part] - low
            left = magnitude[:, part] << np.clip(shift, 0, _SLICE) & (1 << _SLICE) - 1
            right = magnitude[:, part] >> np.clip(-shift, 0, _SLICE)
            piece = np.where(shift >= 0, np.where(shift < _SLICE, left, 0), right)
            if piece.any():
                sums = (sign[:, part] * piece).astype(np.float64) @ columns
                total += sums.astype(np.int64).astype(object) << low
    return total


def rounded_sums(sums: Array, exponent: int) -> NDArray[np.float32]:
    """Python integers times 2**exponent, each rounded once to float32; 0 is +0.

    >>> rounded_sums(np.array([3 << 199, -(1 << 200) - 1], object), -200).tolist()
    [1.5, -1.0]
    """
    flat = sums.reshape(-1).tolist()
    drops = [max(abs(n).bit_length() - _KEPT, 0) for n in flat]
    # Rounded to odd: the last bit kept says whether a bit that is set was dropped.
    kept = [
        abs(n) >> d | (d > 0 and n & (1 << d) - 1 != 0) for n, d in zip(flat, drops, strict=True)
    ]
    negative = np.array([n < 0 for n in flat], bool)
    exponents = np.array(drops, np.int64) + exponent
    parts = Parts.finite(negative, np.array(kept, np.int64), exponents)
    result: NDArray[np.float32] = floats_from(compose(parts, F32), F32).reshape(sums.shape)
    return result


def with_specials(
    result: NDArray[np.float32], bits: Array, weights: Array, factors: Array
) -> NDArray[np.float32]:
    """The results, with Inf and NaN where the inputs have them, as IEEE 754 gives in any order."""
    magnitude = bits & np.uint32(F32.sign_bit - 1)
    if (magnitude < F32.inf_bits).all():
        return result
    infinite = (magnitude == F32.inf_bits).astype(np.float64)
    sign = np.sign(weights) * np.repeat(np.sign(factors), weights.shape[1] // factors.shape[1], 1)
    count = infinite @ np.abs(sign).T
    net = np.where(bits == magnitude, infinite, -infinite) @ sign.T
    invalid = (magnitude > F32.inf_bits).any(1, keepdims=True) | (infinite @ (sign == 0).T > 0)
    inf = np.float32(np.inf)
    result = np.where(count > 0, np.where(net > 0, inf, -inf), result)
    return one_nan(np.where(invalid | (np.abs(net) < count), np.float32(np.nan), result))


def one_nan(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same numbers with one pattern for NaN."""
    return np.where(np.isnan(x), np.float32(np.nan), x)


def bounds_of_sums(
    bits: Array, weights: I64, large: I64, scales: F64Array, steps: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Lower and upper ends of what float32 sums may be: exact sum -+ radius, each rounded once.

    The radius is steps / (2**24 - steps) of the sum of magnitudes, plus 2**-149 for each term.

    Args:
        bits: as in `exact_sums`; both results are (M, N).
        weights: as there.
        large: magnitudes of the weights, or of the integers that they are computed from.
        scales: as there.
        steps: how many roundings a term goes through.

    >>> ones, three = np.ones((1, 2), np.int64), np.uint32([[0x4B000000, 0xCB000000]])
    >>> [end.item() for end in bounds_of_sums(three, ones, ones, np.ones((1, 1)), 3)]
    [-3.000000476837158, 3.000000476837158]
    """
    sums, exponent = exact_sums(bits, weights, scales)
    total, _ = exact_sums(bits & np.uint32(F32.sign_bit - 1), large, np.abs(scales))
    finer = max(exponent + 149, 0)
    exponent, divisor = exponent - finer, max(2**24 - steps, 1)
    radius = steps * (total << finer) + (divisor * weights.shape[1] << -149 - exponent)
    middle = divisor * (sums << finer)
    low, high = (_quotients(end, divisor, exponent) for end in (middle - radius, middle + radius))
    return low, high


def possible_sums(
    bits: Array, weights: I64, large: I64, scales: F64Array, steps: int, *, scales_last: bool
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """`bounds_of_sums` for any float32 numbers, and where sums may overflow on the way.

    The third array is NaN where they may: Inf, -Inf and NaN are possible there beside what lies
    between the ends. Elsewhere it is the lower end again. Infinite inputs make both ends Inf; NaN
    makes all three NaN.

    Args:
        bits: any patterns (M, K).
        weights: as in `bounds_of_sums`.
        large: as there.
        scales: as there.
        steps: as there.
        scales_last: whether scales multiply the sums, which may overflow first; else the weights.

    >>> ones = np.ones((1, 1), np.int64)
    >>> ends = possible_sums(
    ...     np.uint32([[0x7F800000]]), ones, ones, np.ones((1, 1)), 2, scales_last=True
    ... )
    >>> [end.item() for end in ends]
    [inf, inf, nan]
    """
    magnitude, sizes = bits & np.uint32(F32.sign_bit - 1), np.abs(scales)
    if scales_last:
        inner = bounds_of_sums(magnitude, large, large, np.ones((len(weights), 1)), steps)[1]
    else:
        inner = fl(large * np.repeat(sizes, weights.shape[1] // sizes.shape[1], 1)).max(
            1, initial=0
        )
    top = bounds_of_sums(magnitude, large, large, sizes, steps)[1]
    infinite = (magnitude >= F32.inf_bits).any(1, keepdims=True)
    nan = (magnitude > F32.inf_bits).any(1, keepdims=True)
    low, high = (
        np.where(nan, np.float32(np.nan), np.where(infinite, np.float32(np.inf), end))
        for end in bounds_of_sums(bits, weights, large, scales, steps)
    )
    beyond = infinite | np.isinf(top) | np.isinf(inner)
    return low, high, np.where(beyond, np.float32(np.nan), low)


def _quotients(numbers: Array, divisor: int, exponent: int) -> NDArray[np.float32]:
    """Python integers times 2**exponent, divided and rounded once by way of a sticky last bit."""
    pairs = [divmod(abs(n) << 64, divisor) for n in numbers.reshape(-1).tolist()]
    odd = np.array([whole | (rest > 0) for whole, rest in pairs], object).reshape(numbers.shape)
    return rounded_sums(np.where(numbers < 0, -odd, odd), exponent - 64)


def exact_in_every_order(
    bits: Array, weights: I64, large: I64, scales: F64Array
) -> NDArray[np.bool_]:
    """Whether no float32 operation rounds or overflows, with the scales before or after the sum.

    That is so where the scales are powers of two and all terms are multiples of a unit, with
    magnitudes that add up to at most 2**24 units. float64 computes this exactly: its sums are exact
    up to 2**53 units.

    Args:
        bits: as in `exact_sums`; the result is (M, N).
        weights: as there.
        large: as in `bounds_of_sums`.
        scales: as there.

    >>> x = np.uint32([[0x4B800000, 0x3F800000]])  # 2**24 and 1
    >>> ones = np.ones((2, 2), np.int64)
    >>> exact_in_every_order(x, ones, np.array([[1, 0], [1, 1]]), np.ones((2, 1))).tolist()
    [[True, False]]
    """
    finite = bits & np.uint32(F32.inf_bits) < F32.inf_bits
    x = np.abs(np.where(finite, wide(bits, F32), 0.0))[:, np.newaxis]
    factors = np.repeat(scales, weights.shape[1] // scales.shape[1], 1)
    terms = x * factors
    parts, exponents = np.frexp(terms)
    integers = (parts * 2.0**53).astype(np.int64)
    units = np.ldexp((integers & -integers).astype(np.float64), exponents - 53)
    unit = units.min(-1, initial=2.0**127, where=terms != 0)
    total, plain = ((each * large).sum(-1) for each in (terms, x))
    held = (unit >= 2.0**-149) & (total <= 2.0**24 * unit) & (np.maximum(total, plain) < 2.0**128)
    largest = (np.abs(weights) * factors).max(1, initial=0)
    power = (np.frexp(scales)[0] == 0.5).all(1) & (largest < 2.0**128)
    found: NDArray[np.bool_] = held & power & finite.all(1, keepdims=True)
    return found
