"""float32 arithmetic of PTX, on patterns: one rounding, NaN always 7fffffff.

Everything goes through float64, in which the product of two float32 numbers is exact, and a sum is
rounded to odd there: rounded again to float32, in any direction, it is as if rounded once.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import mxref

__all__ = [
    *("PAIRS", "SIGNLESS", "flushed", "fma", "mul", "pair", "rcp", "saturated", "signless"),
    *("to_half", "widened"),
]

#: Patterns: an array, or one for all.
Bits = Any
NAN = np.uint32(0x7FFFFFFF)
#: Formats of the conversions of pairs, by the names of their modifiers.
PAIRS = {f"{name}x2": name for name in ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")}


def _double(bits: Bits) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return np.atleast_1d(np.asarray(bits, np.uint32)).view(np.float32).astype(np.float64)


def _rounded(exact: NDArray[np.float64], rounding: str) -> Bits:
    """float64, which is exact or rounded to odd, as float32: to nearest even, to zero, or up."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        nearest = exact.astype(np.float32)
    bits, back = nearest.view(np.uint32), nearest.astype(np.float64)
    if rounding == "rz":  # a pattern less is nearer to zero; below infinity lies the largest number
        bits = bits - (np.abs(back) > np.abs(exact))
    elif rounding == "rp":
        bits = bits + np.where(back < exact, np.where(bits >> 31, -1, 1), 0).astype(np.uint32)
    elif rounding == "rm":
        bits = bits + np.where(back > exact, np.where(bits >> 31, 1, -1), 0).astype(np.uint32)
    elif rounding != "rn":
        raise ValueError(f"rounding .{rounding} is not known")
    return np.where(np.isnan(exact), NAN, bits).astype(np.uint32)


def mul(a: Bits, b: Bits, rounding: str) -> Bits:
    """`mul.f32`: the product, rounded once."""
    with np.errstate(invalid="ignore"):
        return _rounded(_double(a) * _double(b), rounding)


def _odd_sum(p: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    """P + c in float64, rounded to odd: the sum, and its error by Knuth's two sums."""
    s = p + c
    back = s - p
    error = (p - (s - back)) + (c - back)
    even = (s.view(np.uint64) & np.uint64(1)) == 0
    inexact = np.isfinite(s) & (error != 0) & even
    away = (error > 0) == (s > 0)
    step = np.where(away, np.int64(1), np.int64(-1))
    return (s.view(np.int64) + np.where(inexact, step, np.int64(0))).view(np.float64)


def fma(a: Bits, b: Bits, c: Bits, rounding: str) -> Bits:
    """`fma.f32` (and `add`, with b = 1): a * b + c, rounded once."""
    with np.errstate(invalid="ignore"):
        product, c64 = np.broadcast_arrays(_double(a) * _double(b), _double(c))
        total = _odd_sum(np.ascontiguousarray(product), np.ascontiguousarray(c64))
    result = _rounded(total, rounding)
    if rounding == "rm":  # x - x is -0 there
        zero = (total == 0) & (np.signbit(product) != np.signbit(c64))
        result = np.where(zero, np.uint32(0x80000000), result).astype(np.uint32)
    return result


def saturated(bits: Bits) -> Bits:
    """`.sat`: from 0 to 1; NaN is +0."""
    negative = bits >> 31 != 0
    result = np.where(bits > 0x3F800000, np.uint32(0x3F800000), bits)
    return np.where(negative | (bits > 0x7F800000), np.uint32(0), result).astype(np.uint32)


#: By type the bits without a sign, and infinity, of each float in a word.
SIGNLESS = {
    "f16": ((0x7FFF, 0x7C00),),
    "f16x2": ((0x7FFF, 0x7C00), (0x7FFF0000, 0x7C000000)),
    "f32": ((0x7FFFFFFF, 0x7F800000),),
}


def signless(bits: Bits, type: str) -> Bits:
    """`abs`: no sign; which NaN comes of a NaN the ISA leaves open: here it has all bits."""
    found = bits & bits.dtype.type(0)
    for mask, infinity in SIGNLESS[type]:
        one = bits & bits.dtype.type(mask)
        found |= np.where(one > infinity, bits.dtype.type(mask), one)
    return found


def flushed(bits: Bits) -> Bits:
    """`.ftz`: subnormal numbers are zeros with their sign."""
    bits = np.asarray(bits, np.uint32)
    return np.where(bits & 0x7F800000, bits, bits & np.uint32(0x80000000)).astype(np.uint32)


def rcp(bits: Bits, side: int) -> Bits:
    """`rcp.approx.ftz.f32`, whose error is below one place: the nearest, or on a side of exact.

    Args:
        bits: patterns.
        side: 0 the nearest number, -1 the one that is not above the exact value, 1 not below it.
            Zeros, infinities, NaN and results that are exact have no sides.
    """
    x = _double(flushed(bits))
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = 1 / x  # correct to 2**-53: on the same side of each float32, or that number
    return flushed(_rounded(exact, {0: "rn", -1: "rm", 1: "rp"}[side]))


def widened(half: Bits) -> Bits:
    """`cvt.f32.f16`: exact."""
    with np.errstate(invalid="ignore"):
        wide = np.asarray(half, np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
    return np.where(wide & 0x7FFFFFFF > 0x7F800000, NAN, wide).astype(np.uint32)


def to_half(bits: Bits, target: str) -> Bits:
    """`cvt.rn.f16.f32` and `cvt.rn.bf16.f32`: to nearest even; NaN is 7fff."""
    kind = np.float16 if target == "f16" else ml_dtypes.bfloat16
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        half = np.asarray(bits, np.uint32).view(np.float32).astype(kind).view(np.uint16)
    return np.where(bits & 0x7FFFFFFF > 0x7F800000, np.uint16(0x7FFF), half).astype(np.uint16)


def pair(high: Bits, low: Bits, format: str) -> Bits:
    """`cvt.rn.satfinite.FORMATx2.f32`: the first operand is the upper half of the result.

    Also infinity is the largest number; NaN is 7f, or the largest number where there is none.
    """
    high, low = np.broadcast_arrays(high, low)
    codes = [
        mxref.encode(np.ascontiguousarray(x, np.uint32).view(np.float32), format)
        for x in (high, low)
    ]
    if format == "e2m1":
        return codes[0] << np.uint8(4) | codes[1]
    return codes[0].astype(np.uint16) << np.uint16(8) | codes[1]
