"""Exact sums of float32 numbers times integers, held as integers; rounding and bounds.

The inputs are fixed-point numbers cut into slices of 32 bits. A slice is below 2**32, a weight is
at most 2**8 and a sum has at most 2**13 terms. So every partial sum of the float64 matrix product
is an integer of at most 2**53: exact in any order and under any mode of the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl, wide
from mxref.bits.floats import F32, F64, I64, Parts, compose, floats_from, floor_log2, split

Array = NDArray[Any]
F64Array = NDArray[np.float64]

_SLICE, _TERMS, _KEPT = 32, 1 << 13, 52
#: Bits of a weight, of the magnitudes that float64 adds exactly, and of those that int64 holds.
_WEIGHT, _EXACT, _HELD = 9, 53, 62


def exact_sums(bits: Array, weights: I64, scales: F64Array) -> tuple[Array, int]:
    """Sums of x * weight * scale over the last axis, as integers times a power of two.

    Args:
        bits: patterns (M, K) of finite float32 numbers; others count as 0.
        weights: (N, K), at most 2**8 in magnitude.
        scales: (N, G), finite numbers that float32 holds, one for K / G weights.

    Returns:
        Integers (M, N), int64 if all of them are sure to fit, else Python's; and the exponent of
        their unit.

    >>> exact_sums(np.uint32([[0x3F800000]]), np.array([[3]]), np.array([[0.5]]))
    (array([[3]]), -1)
    """
    x, factor = split(bits, F32), split(scales.view(np.uint64), F64)
    finite = np.where(x.is_inf | x.is_nan, 0, x.significand)
    significand, place, lowest = _in_one_unit(finite, x.exponent)
    significand = np.where(x.negative, -significand, significand)
    multiplier, moved, least = _in_one_unit(factor.significand, factor.exponent)
    multiplier = np.where(factor.negative, -multiplier, multiplier)
    size = weights.shape[1] // max(scales.shape[1], 1)
    terms = _bits(significand, place) + _WEIGHT + size.bit_length()
    whole = terms + _bits(multiplier, moved) + scales.shape[1].bit_length()
    fits = terms <= _EXACT and whole <= _HELD
    dot, dtype = (_short_dot, np.int64) if fits else (_dot, object)
    multipliers = multiplier.astype(dtype) << moved.astype(dtype)
    total: Array = np.zeros((len(bits), len(weights)), dtype)
    for group in range(scales.shape[1]):
        part = slice(group * size, (group + 1) * size)
        sums = dot(significand[:, part], place[:, part], weights[:, part])
        total += sums * multipliers[:, group]
    return total, lowest + least


def _in_one_unit(significand: I64, exponent: I64) -> tuple[I64, I64, int]:
    """Significands without zeros at their ends, their places from the lowest of all on; that one.

    Zeros are in place 0.
    """
    ends = floor_log2(np.maximum(significand & -significand, 1))
    lowest = int((exponent + ends).min(initial=0, where=significand != 0))
    return significand >> ends, np.where(significand != 0, exponent + ends - lowest, 0), lowest


def _bits(significand: I64, place: I64) -> int:
    """Bits of the largest magnitude of significand * 2**place."""
    return int((floor_log2(np.maximum(np.abs(significand), 1)) + 1 + place).max(initial=0))


def _short_dot(significand: I64, place: I64, weights: I64) -> I64:
    """Sums of significand * 2**place * weight that float64 adds exactly in every order."""
    found: I64 = ((significand << place).astype(np.float64) @ weights.T).astype(np.int64)
    return found


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
    """Integers as `exact_sums` gives them times 2**exponent, rounded once to float32; 0 is +0.

    >>> rounded_sums(np.array([3 << 199, -(1 << 200) - 1], object), -200).tolist()
    [1.5, -1.0]
    >>> rounded_sums(np.array([3 << 59, -(1 << 60) - 1]), -60).tolist()
    [1.5, -1.0]
    """
    kept, drops = (_rounded_to_odd if sums.dtype == object else _held_to_odd)(sums)
    parts = Parts.finite((sums < 0).astype(bool), kept, drops + exponent)
    result: NDArray[np.float32] = floats_from(compose(parts, F32), F32)
    return result


def _held_to_odd(sums: I64) -> tuple[I64, I64]:
    """The magnitudes' upper bits, and how many are dropped: the last bit says if one was set.

    Next below a power of two one more than needed is dropped, as float64 rounds up to it.
    """
    size = np.abs(sums)
    drops = np.maximum(floor_log2(np.maximum(size, 1)) + 1 - _KEPT, 0)
    return size >> drops | (size & (np.int64(1) << drops) - 1 != 0), drops


def _rounded_to_odd(sums: Array) -> tuple[I64, I64]:
    """The same of Python integers."""
    flat = sums.reshape(-1).tolist()
    drops = [max(abs(n).bit_length() - _KEPT, 0) for n in flat]
    kept = [
        abs(n) >> d | (d > 0 and n & (1 << d) - 1 != 0) for n, d in zip(flat, drops, strict=True)
    ]
    return np.array(kept, np.int64).reshape(sums.shape), np.array(drops).reshape(sums.shape)


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
    sums, total = sums.astype(object), total.astype(object)
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
