"""float32 arithmetic that no processor mode can change, on float64 numbers that float32 holds.

`fl` rounds the float64 result of one operation to float32. That is the correctly rounded float32
result:

- A product of two such numbers has at most 48 significant bits, so float64 holds it.
- A sum is exact unless one number is below 2**-28 of the other, too little to reach a midpoint.
- A quotient n / d that is neither a float32 number nor a midpoint q differs from each of them by at
  least one part in 2**49: n - q d is a nonzero multiple of the product of the last bits of q and d,
  which have at most 25 and 24 bits. float64 division is off by less than one part in 2**52 in any
  rounding mode, so `fl` still rounds to the right side.

Every nonzero operand and result is a normal float64 (2**-298 and above), so that flushing modes
change nothing. Source: SPEC_NOTES N41.
"""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import BF16, F16, F32, F64, Bits, FloatLayout, compose, split

F64Array = NDArray[np.float64]

FLT_MAX = float.fromhex("0x1.fffffep127")
_SMALLEST = float.fromhex("0x1p-149")
# Arrays, with which NumPy begins to compute sooner than with scalars.
_MAGNITUDE, _SIGN, _SMALLEST_NORMAL, _29, _0, _1, _BELOW_HALF, _KEPT = (
    np.array(one, np.int64)
    for one in ((1 << 63) - 1, -1 << 63, 1023 - 126 << 52, 29, 0, 1, (1 << 28) - 1, -1 << 29)
)
_AS_FLOAT, _AS_INTEGER = struct.Struct("<d"), struct.Struct("<q")
_LEAST_NORMAL = float.fromhex("0x1p-126")
_INF = 0x7FF << 52


def fl(x: F64Array) -> F64Array:
    """float64 rounded to the nearest float32 number, ties to even; infinity beyond the largest.

    >>> fl(np.array([1 / 3, 2.0**-149 * 1.5, 2.0**128])).tolist()
    [0.3333333432674408, 2.802596928649634e-45, inf]
    """
    x = np.asarray(x, np.float64)
    if x.ndim == 0 and (pattern := _normal(x.item())):
        one: F64Array = np.array(pattern, np.int64).view(np.float64)[()]
        return one
    bits = x.view(np.int64)
    magnitude = bits & _MAGNITUDE
    # To a multiple of 2**29 in the pattern: a carry moves into the exponent by itself.
    rounded = magnitude >> _29
    rounded &= _1
    rounded += _BELOW_HALF
    rounded += magnitude
    rounded &= _KEPT
    overflow = (1023 + 128) << 52
    if magnitude.max(initial=0) >= overflow - (1 << 28):
        rounded = np.where(rounded >= overflow, _INF, rounded)
        # NaN becomes quiet: from a signalling NaN fmax makes one that counts as the largest.
        rounded = np.where(magnitude > _INF, magnitude | 1 << 51, rounded)
    places = np.ravel((magnitude < _SMALLEST_NORMAL) & (magnitude != _0)).nonzero()[0]
    if places.size:
        few = np.ravel(magnitude)[places].view(np.uint64)
        rounded = np.array(rounded, order="C")
        rounded.reshape(-1)[places] = as_float64(compose(split(few, F64), F32), F32).view(np.int64)
    result: F64Array = (rounded | (bits & _SIGN)).view(np.float64)
    return result


def _normal(number: float) -> int:
    """The float64 pattern of the nearest float32 number, if both are normal; else 0.

    >>> f"{_normal(1 / 3):x}", _normal(2.0**-130), _normal(2.0**128)
    ('3fd5555560000000', 0, 0)
    """
    bits: int = _AS_INTEGER.unpack(_AS_FLOAT.pack(number))[0]
    magnitude = bits & ~(-1 << 63)
    if not 1023 - 126 << 52 <= magnitude < (1023 + 128 << 52) - (1 << 28):
        return 0
    return bits + (magnitude >> 29 & 1) + (1 << 28) - 1 & -1 << 29


def flushed(x: F64Array) -> F64Array:
    """float32 numbers with zeros of their sign in place of subnormal ones.

    >>> flushed(np.array([-(2.0**-127), 2.0**-126])).tolist()
    [-0.0, 1.1754943508222875e-38]
    """
    return np.where(np.abs(x) < _LEAST_NORMAL, np.copysign(0.0, x), x)


def fl_sum(x: F64Array, y: F64Array) -> F64Array:
    """The exact sum of float64 numbers, rounded once to float32: of a product, a fused operation.

    Of the sum s the nearest float64 may be a midpoint of float32 that s is not; its neighbour with
    an odd pattern is none. What was rounded off is the smaller number less (s - the larger one), a
    difference that is exact in every mode: s is at least half of the larger one and at most twice
    it, or has no error. Both numbers are zero or, like those of `fl`, 2**-298 and above.
    Source: Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008.

    >>> fl_sum(np.array([2.0**-60, -(2.0**-60)]), np.array([1 + 2.0**-24])).tolist()
    [1.0000001192092896, 1.0]
    """
    total = np.asarray(x + y)
    swapped = np.abs(x) < np.abs(y)
    large, small = np.where(swapped, y, x), np.where(swapped, x, y)
    rest = small - (total - large)
    bits = total.view(np.int64)
    inexact = (rest != 0) & np.isfinite(total) & (bits & 1 == 0)
    away = np.where((rest > 0) == (total > 0), 1, -1)
    return fl((bits + inexact * away).view(np.float64))


def rounded(x: F64Array, layout: FloatLayout) -> F64Array:
    """float64 rounded to the nearest number of a narrower type, ties to even.

    The proof of this module holds here, too: a midpoint of a narrower type is a float32 number or
    midpoint.
    """
    if layout in (F32, F64):
        return fl(x)
    return wide(compose(split(np.asarray(x, np.float64).view(np.uint64), F64), layout), layout)


def wide(bits: NDArray[Any], layout: FloatLayout) -> F64Array:
    """Float patterns as float64 numbers, subnormals included: exact, but float64 rounds to float32.

    >>> wide(np.array([1], np.uint32), F32)
    array([1.40129846e-45])
    """
    if layout == F64:
        return fl(bits.view(np.float64))
    return as_float64(bits, layout).view(np.float64)


def as_float32(bits: Bits, layout: FloatLayout) -> NDArray[np.uint32]:
    """Patterns of float32, bfloat16 or float16 as those of float32, exactly; NaN becomes quiet."""
    if layout == F16:
        return np.take(_half_floats(), bits.astype(np.intp), mode="wrap")
    words = bits.astype(np.uint32, copy=False)
    return words << np.uint32(16) if layout == BF16 else words


def as_float64(bits: Bits, layout: FloatLayout) -> NDArray[np.uint64]:
    """Patterns of float32, bfloat16 or float16 as those of float64, exactly; NaN becomes quiet.

    A subnormal number is its significand times 2**-149. The factors are normal float64 numbers or
    zero and so is the product: no rounding, whatever the processor's modes are.
    """
    single = as_float32(bits, layout)
    magnitude = single & np.uint32(F32.sign_bit - 1)
    whole = magnitude.astype(np.uint64)
    normal = (whole << np.uint64(29)) + np.uint64((F64.bias - F32.bias) << 52)
    sign = (single >> np.uint32(31)).astype(np.uint64) << np.uint64(63)
    is_normal = (magnitude >= np.uint32(1 << 23)) & (magnitude < np.uint32(F32.inf_bits))
    if is_normal.all():
        return np.asarray(normal | sign, np.uint64)
    small = (magnitude.view(np.int32) * _SMALLEST).view(np.uint64)
    result = np.where(magnitude < np.uint32(1 << 23), small, normal)
    result = np.where(magnitude == np.uint32(F32.inf_bits), np.uint64(F64.inf_bits), result)
    result = np.where(magnitude > np.uint32(F32.inf_bits), np.uint64(F64.nan_bits), result)
    return np.asarray(result | sign, np.uint64)


@functools.cache
def _half_floats() -> NDArray[np.uint32]:
    """float32 patterns of every float16."""
    every: NDArray[np.uint32] = compose(split(np.arange(1 << 16), F16), F32)
    return every


def normal_pattern(number: float) -> int:
    """The float32 pattern of a number, if it is a positive normal float32 number; else 0.

    >>> f"{normal_pattern(1.5):x}", normal_pattern(0.1), normal_pattern(-1.5)
    ('3fc00000', 0, 0)
    """
    field, fraction = divmod(int.from_bytes(struct.pack("<d", number), "little"), 1 << 52)
    field, below = field - (F64.bias - F32.bias), fraction & ((1 << 29) - 1)
    is_held = 0 < field < (1 << F32.exponent_bits) - 1 and not below
    return field << 23 | fraction >> 29 if is_held else 0
