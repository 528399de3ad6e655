"""Quantization of ordinary blocks: keys and a table, a dozen integer operations per element.

A block is ordinary if it holds neither NaN nor infinity and its scale code is from C to the largest
one, or if it is all zeros. What is not ordinary takes the general path.

Scales: inside a binade of amax the scale code grows by one at most, so that the binade's first code
and the pattern from which on it is one more say everything.

Elements: the magnitude, rounded to odd in its top bits, is a key (see `to_odd`), and division by
the scale is subtraction from the key's exponent field. Keys count exponents from -C, so that what
is subtracted, code - C, is not negative and a zero stays zero. C is chosen so that everything below
2**-C, which includes every subnormal float32 under these scales, lies between zero and half of the
smallest subnormal number of the format: it all rounds alike, as the smallest key does.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref._bits import BF16, F16, F32, U8, Bits, FloatLayout, Parts, compose, split, to_odd
from mxref._scratch import scratch
from mxref.choices import Scaling
from mxref.element import encode_parts
from mxref.formats import E8M0, ElementFormat
from mxref.policy import ElementPolicy, ScalePolicy
from mxref.scale import scale_codes

__all__ = ["as_float32", "quantize_ordinary"]

_MAGNITUDE = np.uint32(0x7FFF_FFFF)
_FIELD_BITS = 6
_NEVER = 0x7FFF_FFFF


@dataclass(frozen=True, slots=True)
class _Scales:
    """By the exponent field of amax: first code, pattern of the next one, whether ordinary."""

    code: NDArray[np.int32]
    step: NDArray[np.uint32]
    ordinary: NDArray[np.bool_]


def smallest_code(fmt: ElementFormat) -> int:
    """C: below 2**-C everything rounds alike. Two bits more than half of the smallest number."""
    return 3 - (fmt.emin - fmt.mantissa_bits)


@functools.lru_cache(maxsize=256)
def _scales(fmt: ElementFormat, policy: ScalePolicy) -> _Scales:
    below = np.arange(255, dtype=np.uint32) << np.uint32(23)
    above = below | np.uint32(0x7F_FFFF)
    first, last = (scale_codes(amax, F32, fmt, policy) for amax in (below, above))
    ordinary = ~(first.is_nan | first.flushed | last.is_nan | last.flushed)
    top = E8M0.max_code - (policy.scaling is Scaling.RECIPROCAL_FLUSHED)
    ordinary &= (first.codes >= smallest_code(fmt)) & (last.codes <= top)
    ordinary &= (last.codes == first.codes) | (last.codes == first.codes + 1)
    for _ in range(23):  # above has the last code, below the first one, until they are neighbours
        middle = below + (above - below >> 1)
        up = scale_codes(middle, F32, fmt, policy).codes != first.codes
        below, above = np.where(up, below, middle), np.where(up, middle, above)
    step = np.where(last.codes == first.codes, _NEVER, above)
    code = np.append(first.codes, 0).astype(np.int32)
    ordinary[0] = False  # subnormal amax has many binades
    return _Scales(code, np.append(step, _NEVER).astype(np.uint32), np.append(ordinary, False))


@functools.lru_cache(maxsize=256)
def _scale_of_zero(fmt: ElementFormat, policy: ScalePolicy) -> int:
    """The scale code of zeros; negative where the general path has more to say."""
    zero = scale_codes(np.zeros(1, np.uint32), F32, fmt, policy)
    return -1 if zero.is_nan[0] or zero.flushed[0] else int(zero.codes[0])


@functools.lru_cache(maxsize=256)
def _codes(fmt: ElementFormat, policy: ElementPolicy) -> U8:
    """Element codes by key: sign, exponent field counted from -C, significand."""
    kept = fmt.mantissa_bits + 2
    key = np.arange(1 << (1 + _FIELD_BITS + kept))
    field = key >> kept & ((1 << _FIELD_BITS) - 1)
    significand = key & ((1 << kept) - 1) | (field > 0).astype(np.int64) << kept
    exponent = np.maximum(field, 1) - smallest_code(fmt) - kept
    parts = Parts.finite(key >> (_FIELD_BITS + kept) != 0, significand, exponent)
    return encode_parts(parts, fmt, policy)


def quantize_ordinary(
    rows: NDArray[np.uint32], fmt: ElementFormat, scale: ScalePolicy, element: ElementPolicy
) -> tuple[U8, U8, NDArray[np.bool_]]:
    """Scale codes and codes of blocks of float32, one a row, and which of them are ordinary.

    What is given for other blocks means nothing.
    """
    count, size = rows.shape
    bits = rows.reshape(-1)
    key, other = (scratch(name, rows.size, np.uint32) for name in ("key", "other"))
    index = scratch("index", rows.size, np.intp)
    magnitude = other.reshape(count, size)
    np.bitwise_and(rows, _MAGNITUDE, out=magnitude)
    amax = _row_maxima(magnitude, key)
    scales = _scales(fmt, scale)
    field = amax >> 23
    code = scales.code[field] + (amax >= scales.step[field])
    ordinary = scales.ordinary[field]

    kept = fmt.mantissa_bits + 2
    to_odd(other, 23 - kept, out=key)
    smallest = np.minimum(key, _ones(key.size), out=other).view(np.int32)
    signed = key.view(np.int32).reshape(count, size)
    less = np.maximum(code - smallest_code(fmt), 0).astype(np.int32) << kept
    np.subtract(signed, less[:, np.newaxis], out=signed)
    np.maximum(signed, smallest.reshape(count, size), out=signed)
    np.right_shift(bits, np.uint32(31 - _FIELD_BITS - kept), out=other)
    np.bitwise_and(other, np.uint32(1 << (_FIELD_BITS + kept)), out=other)
    np.bitwise_or(key, other, out=key)
    np.copyto(index, key, casting="same_kind")
    # Keys of other blocks may lie beyond the table.
    codes = np.take(_codes(fmt, element), index, mode="wrap")
    zero = _scale_of_zero(fmt, scale)
    is_zero = amax == 0
    return (
        np.where(is_zero, max(zero, 0), code).astype(np.uint8),
        codes.reshape(rows.shape),
        ordinary | is_zero & (zero >= 0),
    )


@functools.lru_cache(maxsize=4)
def _ones(size: int) -> NDArray[np.uint32]:
    """An operand: one of a single number takes four times as long in `minimum`."""
    return np.ones(size, np.uint32)


def as_float32(bits: Bits, layout: FloatLayout) -> NDArray[np.uint32]:
    """Patterns of float32, bfloat16 or float16 as those of float32, exactly."""
    if layout == F16:
        return _half_floats()[bits]
    words = bits.astype(np.uint32, copy=False)
    return words << np.uint32(16) if layout == BF16 else words


@functools.cache
def _half_floats() -> NDArray[np.uint32]:
    """float32 patterns of every float16."""
    every: NDArray[np.uint32] = compose(split(np.arange(1 << 16), F16), F32)
    return every


def _row_maxima(magnitude: NDArray[np.uint32], scratch: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The largest of each row, by halves while they are whole: reductions of rows are slow."""
    count, size = magnitude.shape
    flat = magnitude.reshape(-1)
    while size > 1 and size % 2 == 0:
        half, scratch = scratch[: flat.size // 2], scratch[flat.size // 2 :]
        flat, size = np.maximum(flat[::2], flat[1::2], out=half), size // 2
    maxima: NDArray[np.uint32] = flat.reshape(count, size).max(axis=1)
    return maxima
