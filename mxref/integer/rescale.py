"""RESCALE of TOSA: integers times M * 2**-S, in integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.floats import F64, split
from mxref.integer.integer_arguments import float64, integers
from mxref.integer.integer_choices import Rounding, chosen
from mxref.support.host_arrays import host_array

_INPUTS = tuple(map(np.dtype, ("i1", "u1", "i2", "u2", "i4", "i8")))
_OUTPUTS = _INPUTS[:5]


def multiplier_shift(
    scale: ArrayLike, bits: int = 32
) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """The multiplier M and the shift S of a scale: M * 2**-S with M of bits - 1 bits, rounded once.

    Args:
        scale: positive floats: a ratio of scales, not rounded to float32.
        bits: 32 or 16.

    Returns:
        M and S in the scale's shape. A scale too small for S = 62 has fewer bits in M, cut off.

    Raises:
        TypeError: no floats.
        ValueError: a scale that is not positive and finite or needs an S below 2, or other bits.

    Source: SPEC_NOTES Q12; ExecuTorch 1.5.1 `backends/arm/tosa/quant_utils.py`.

    >>> [part.tolist() for part in multiplier_shift([1.0, 0.5, 1 / 3])]
    [[1073741824, 1073741824, 1431655765], [30, 31, 32]]
    """
    if bits not in (16, 32):
        raise ValueError(f"bits must be 16 or 32, got {bits}")
    parts = split(float64(scale, "scale").view(np.uint64), F64)
    if (parts.negative | parts.is_nan | parts.is_inf | (parts.significand == 0)).any():
        raise ValueError("scale must be positive and finite")
    cut = 53 - (bits - 1)
    # A subnormal scale has no bit left at S = 62, whatever its significand is.
    m = parts.significand + (1 << cut - 1) - 1 + (parts.significand >> cut & 1) >> cut
    shift = -(parts.exponent + cut)
    full = m == 1 << bits - 1
    m, shift = np.where(full, m >> 1, m), np.where(full, shift - 1, shift)
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
        input_zp: within the dtype of q for 8 bits; 0 or 32768 for uint16; else 0.
        output_zp: the same for the output.
        rounding: `single`, or `double` with 32 bits.
        dtype: int8, uint8, int16, uint16 or int32.
        bits: of the multiplier, 32 or 16.

    Raises:
        TypeError: no integers, or another dtype.
        ValueError: what the standard excludes: dtypes that do not go together, a zero point, M or S
            out of range, with 32 bits a value v outside of -2**(S-1) <= v < 2**(S-1), with 16 bits
            one whose product leaves int32; shapes that do not fit; an unknown choice.

    Source: SPEC_NOTES Q12; TOSA 1.0 RESCALE, `apply_scale_32` and `apply_scale_16`.

    >>> multiplier, shift = multiplier_shift(0.5)
    >>> rescale(np.int8([1, 3, -1, -3]), multiplier, shift).tolist()
    [1, 2, 0, -1]
    """
    source, target, how = host_array(q), np.dtype(dtype), chosen(Rounding, rounding, "rounding")
    m, s = integers(multiplier, "multiplier"), integers(shift, "shift")
    if source.dtype not in _INPUTS or target not in _OUTPUTS:
        raise TypeError(
            f"q and dtype must be int8, uint8, int16, uint16 or int32 (q also int64), "
            f"got {source.dtype} and {target}"
        )
    unsigned = (source.dtype.kind == "u", target.kind == "u")
    if (
        all(unsigned)
        or (unsigned[0] and target == np.int32)
        or (unsigned[1] and source.itemsize > 3)
    ):
        raise ValueError(
            f"q and dtype must not be {source.dtype} and {target}: TOSA has no such RESCALE"
        )
    if bits not in (16, 32) or (bits == 32 and (source.dtype == np.int64)):
        raise ValueError(f"bits must be 16 or 32, and 16 for 48-bit integers, got {bits}")
    if bits == 16 and how is Rounding.DOUBLE:
        raise ValueError("rounding must be single with bits=16")
    for name, zp, kind in (("input_zp", input_zp, source.dtype), ("output_zp", output_zp, target)):
        legal = np.iinfo(kind).min <= zp <= np.iinfo(kind).max if kind.itemsize == 1 else zp == 0
        if not legal and not (kind == np.uint16 and zp == 32768):
            raise ValueError(
                f"{name} must be a value of 8 bits, 0 or 32768 of uint16, else 0, got {zp}"
            )
    if {m.shape, s.shape} - {(), source.shape[-1:]}:
        raise ValueError("multiplier and shift must be one or one for each index of the last axis")
    if ((m < 0) | (m >= 1 << bits - 1) | (s < 2) | (s > 62)).any():
        raise ValueError(f"multiplier must be from 0 to 2**{bits - 1} - 1, and shift from 2 to 62")
    v = source.astype(np.int64) - input_zp
    half = np.int64(1) << s - 1
    if bits == 32 and ((v < -half) | (v >= half)).any():
        raise ValueError("q - input_zp must be from -2**(shift - 1) to 2**(shift - 1) - 1")
    if source.dtype == np.int64 and ((v < -(1 << 47)) | (v >= 1 << 47)).any():
        raise ValueError("q must have at most 48 bits")
    total = v * m + half
    if how is Rounding.DOUBLE:
        total = total + np.where(s > 31, np.where(v >= 0, 1 << 30, -(1 << 30)), 0)
    result = total >> s
    if ((result < -(2**31)) | (result >= 2**31)).any():
        raise ValueError("q * multiplier * 2**-shift must be within int32")
    info = np.iinfo(target)
    clamped: NDArray[Any] = np.clip(result + output_zp, info.min, info.max).astype(target)
    return clamped
