"""RESCALE of TOSA: integers times M * 2**-S, in integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.floats import F64, split
from mxref.bits.single import float64_numbers, int64_array, integer_array
from mxref.integer.integer_choices import Rounding, chosen
from mxref.support.integers import integer

__all__ = ["multiplier_shift", "rescale"]

_TYPES = tuple(map(np.dtype, ("i1", "u1", "i2", "u2", "i4", "i8")))


def multiplier_shift(
    scale: ArrayLike, bits: int = 32
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """The multiplier M and the shift S of a scale: M * 2**-S, M of bits - 1 bits, rounded once.

    Args:
        scale: positive floats: a ratio of scales, not rounded to float32.
        bits: 32 or 16.

    Returns:
        M and S in the scale's shape. Where S would be above 62 it is 62, and low bits of M are cut
        off.

    Raises:
        TypeError: no floats.
        ValueError: a scale that is not positive and finite or needs an S below 2, or other bits.

    Source: SPEC_NOTES Q12; ExecuTorch 1.5.1 `backends/arm/tosa/quant_utils.py`.

    >>> [part.tolist() for part in multiplier_shift([1.0, 0.5, 1 / 3])]
    [[1073741824, 1073741824, 1431655765], [30, 31, 32]]
    """
    bits = _bits(bits)
    parts = split(float64_numbers(scale, "scale").view(np.uint64), F64)
    if (parts.negative | parts.is_nan | parts.is_inf | (parts.significand == 0)).any():
        raise ValueError("scale must be positive and finite")
    cut = 54 - bits  # Of a subnormal scale S = 62 leaves no bit, whatever is cut here.
    m = parts.significand + (1 << cut - 1) - 1 + (parts.significand >> cut & 1) >> cut
    full = m >> bits - 1
    m, shift = m >> full, -(parts.exponent + cut) - full
    if (shift < 2).any():
        raise ValueError(f"scale must be below 2**{bits - 3}, so that its shift is at least 2")
    m = m >> np.clip(shift - 62, 0, 31)
    return m.astype(np.int32), np.minimum(shift, 62).astype(np.int8)


def rescale(
    q: ArrayLike,
    multiplier: ArrayLike,
    shift: ArrayLike,
    input_zp: int = 0,
    output_zp: int = 0,
    rounding: str | Rounding = "single",
    *,
    dtype: Any = np.int8,
    bits: int = 32,
) -> NDArray[Any]:
    """Integers less a zero point, times multiplier * 2**-shift, plus a zero point, clamped.

    Args:
        q: int8, uint8, int16, uint16 or int32; int64 for 48-bit integers, with bits=16.
        multiplier: M from 0 to 2**(bits - 1) - 1: one, or one for each index of the last axis.
        shift: S from 2 to 62: one, or as many.
        input_zp: any of 8 bits; 0 or 32768 for uint16; else 0.
        output_zp: the same for the output.
        rounding: `single`, or `double` with 32 bits.
        dtype: int8, uint8, int16, uint16 or int32, of the result.
        bits: of the multiplier, 32 or 16.

    Raises:
        TypeError: no integers, or another dtype.
        ValueError: what TOSA excludes: dtypes together, a zero point, M or S, v = q - input_zp
            outside of -2**(S-1) <= v < 2**(S-1) with 32 bits, or a product beyond int32 with 16;
            shapes that do not fit, or an unknown choice.

    Source: SPEC_NOTES Q12; TOSA 1.0 RESCALE.

    >>> rescale(np.int8([1, 3, -1, -3]), *multiplier_shift(0.5)).tolist()
    [1, 2, 0, -1]
    """
    source, target = integer_array(q, "q"), np.dtype(dtype)
    double = chosen(Rounding, rounding, "rounding") is Rounding.DOUBLE
    m, s = int64_array(multiplier, "multiplier"), int64_array(shift, "shift")
    input_zp, output_zp = integer(input_zp, "input_zp"), integer(output_zp, "output_zp")
    given = f"{source.dtype} and {target}"
    if source.dtype not in _TYPES or target not in _TYPES[:5]:
        raise TypeError(f"q and dtype must be int or uint of 8 or 16 bits or int32, got {given}")
    unsigned, wide = (source.dtype.kind == "u", target.kind == "u"), source.itemsize > 2
    if all(unsigned) or (unsigned[0] and target == np.int32) or (unsigned[1] and wide):
        raise ValueError(f"q and dtype must not be {given}: TOSA has no such RESCALE")
    bits = _bits(bits)
    if bits == 32 and source.dtype == np.int64:
        raise ValueError("q must not be int64 with bits=32: give its own dtype, as numpy.int8(q)")
    if bits == 16 and double:
        raise ValueError("rounding must be single with bits=16")
    for name, zp, kind in (("input_zp", input_zp, source.dtype), ("output_zp", output_zp, target)):
        of_8_bits = kind.itemsize == 1 and np.iinfo(kind).min <= zp <= np.iinfo(kind).max
        if not of_8_bits and zp != 0 and not (kind == np.uint16 and zp == 32768):
            raise ValueError(f"{name} must be 0, of 8 bits, or 32768 of uint16, got {zp}")
    if {m.shape, s.shape} - {(), source.shape[-1:]}:
        raise ValueError("multiplier and shift must be one or one for each index of the last axis")
    if ((m < 0) | (m >= 1 << bits - 1) | (s < 2) | (s > 62)).any():
        raise ValueError(f"multiplier must be from 0 to 2**{bits - 1} - 1, and shift from 2 to 62")
    v, half = source.astype(np.int64) - input_zp, np.int64(1) << s - 1
    if bits == 32 and ((v < -half) | (v >= half)).any():
        raise ValueError("q - input_zp must be from -2**(shift - 1) to 2**(shift - 1) - 1")
    if bits == 16 and ((v < -(1 << 47)) | (v >= 1 << 47)).any():
        raise ValueError("q must have at most 48 bits")
    away = np.where(s > 31, np.where(v >= 0, 1 << 30, -(1 << 30)), 0)
    result = v * m + half + away * double >> s
    if ((result < -(2**31)) | (result >= 2**31)).any():
        raise ValueError("q * multiplier * 2**-shift must be within int32")
    info = np.iinfo(target)
    return np.asarray(np.clip(result + output_zp, info.min, info.max).astype(target))


def _bits(bits: int) -> int:
    if integer(bits, "bits") not in (16, 32):
        raise ValueError(f"bits must be 16 or 32, got {bits}")
    return int(bits)
