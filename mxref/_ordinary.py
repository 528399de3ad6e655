"""Quantization of ordinary blocks: keys and a table, a dozen integer operations per element.

Scales: inside a binade of amax the scale code takes two values at most, so that its first one, its
last one and the pattern from which on it is the last say everything. `_Outcomes` holds them.

Elements: a pattern rounded to odd in its top bits is a key (see `to_odd`), and division by the
scale is subtraction from the key's exponent field. Keys count exponents from -C, and C is chosen so
that everything below 2**(1 - C) lies between zero and a quarter of the format's smallest number: it
all rounds alike, as the smallest key does. What falls below it is lifted to that key, or to zero's
if both give the same code; the sign, which stands above the field, is kept by adding it to the
floor. So a key is right wherever its number is normal in its own type, or below 2**(1 - C):

- in float32 and bfloat16 for scale codes from C on, which put every subnormal number there, and
  where what is subtracted is not negative, so that no key grows into the sign;
- in float64 for every scale code: all of float32's numbers are normal there, which is why blocks
  under smaller scales are taken as float64.

Blocks with NaN or infinity that are not NaN blocks, scales that jump inside a binade and amax that
is subnormal in float64 are others: what is given for them means nothing.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._bits import F32, F64, U8, Bits, Bool, FloatLayout, Parts, to_odd
from mxref._float32 import as_float32
from mxref._scratch import scratch
from mxref.choices import BlockInf, BlockNaN, NaNBlockCodes, Scaling
from mxref.element import encode_parts
from mxref.formats import E8M0, ElementFormat
from mxref.policy import ElementPolicy, ScalePolicy
from mxref.scale import scale_codes

__all__ = ["FLUSHED", "NAN", "OTHER", "quantize_ordinary"]

#: Beside the scale code of a block: every element is a zero; a NaN block; none of this kernel's.
FLUSHED, NAN, OTHER = 1 << 8, 1 << 9, 1 << 10


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """By the exponent field of amax: first scale code, the last one, and from which pattern on."""

    first: NDArray[np.int32]
    step: Bits
    last: NDArray[np.int32]

    def of(self, amax: Bits, layout: FloatLayout) -> NDArray[np.int32]:
        """Scale codes with `FLUSHED`, `NAN` or `OTHER`."""
        field = (amax >> layout.uint.type(layout.mantissa_bits)).astype(np.intp)
        found = np.where(amax >= self.step[field], self.last[field], self.first[field])
        return np.asarray(found, np.int32)


def smallest_code(fmt: ElementFormat) -> int:
    """C: everything below 2**(1 - C), a quarter of the smallest number, rounds alike."""
    return 3 - (fmt.emin - fmt.mantissa_bits)


@functools.lru_cache(maxsize=256)
def _outcomes(fmt: ElementFormat, policy: ScalePolicy, layout: FloatLayout) -> _Outcomes:
    if layout == F64:
        return _outcomes_of_float64(fmt, policy)
    # A part of them; the step is the first pattern of this layout that is not below theirs.
    whole = _outcomes(fmt, policy, F64)
    bias, lost = F64.bias - layout.bias, 52 - layout.mantissa_bits
    part = slice(bias, bias + 255)
    first, last = whole.first[part].copy(), whole.last[part].copy()
    for outcome in (first, last):
        outcome[outcome < smallest_code(fmt)] = OTHER
    first[0], last[0] = whole.first[0], OTHER  # of zero; of subnormal numbers
    below = whole.step[part] - np.uint64(bias << 52)
    step = ((below + np.uint64((1 << lost) - 1)) >> np.uint64(lost)).astype(layout.uint)
    step[0] = 1
    special = whole.last[-1]
    return _Outcomes(np.append(first, special), np.append(step, step[:1]), np.append(last, special))


def _outcomes_of_float64(fmt: ElementFormat, policy: ScalePolicy) -> _Outcomes:
    def outcome(amax: Bits) -> NDArray[np.int32]:
        found = scale_codes(amax, F64, fmt, policy)
        return np.asarray(found.codes | found.is_nan * NAN | found.flushed * FLUSHED, np.int32)

    one = np.uint64(1)
    below = np.arange(0x7FF, dtype=np.uint64) << np.uint64(52)
    above = below + np.uint64((1 << 52) - 1)
    first, last, step = outcome(below), outcome(above), above + one
    two = np.flatnonzero(first != last)
    low, high = below[two], above[two]
    for _ in range(52):  # low has the first outcome, high another one, until they are neighbours
        middle = low + (high - low >> one)
        same = outcome(middle) == first[two]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    step[two] = high
    jump = two[outcome(high) != last[two]]  # where there is one more between them
    first[jump] = last[jump] = OTHER
    step[0], first[0], last[0] = (
        one,
        outcome(below[:1])[0],
        OTHER,
    )  # subnormal ones have many binades
    if policy.scaling is Scaling.RECIPROCAL_FLUSHED:
        first[first == E8M0.max_code] = last[last == E8M0.max_code] = OTHER
    all_nan = policy.block_nan is BlockNaN.NAN_BLOCK and policy.block_inf is BlockInf.NAN_BLOCK
    special = np.int32(0xFF | NAN if all_nan else OTHER)
    return _Outcomes(np.append(first, special), np.append(step, one), np.append(last, special))


@dataclass(frozen=True, slots=True)
class _Codes:
    """Element codes by key, and whether what falls below the smallest key gives zero's codes."""

    table: U8
    one_floor: bool
    zeros: U8
    nan_block: int


@functools.lru_cache(maxsize=256)
def _codes(
    fmt: ElementFormat, policy: ElementPolicy, ones: NaNBlockCodes, field_bits: int
) -> _Codes:
    """Keys are sign, exponent field counted from -C, significand."""
    kept, c = fmt.mantissa_bits + 2, smallest_code(fmt)
    fields = min(1 << field_bits, c + fmt.emax + 3)  # from the last one on everything overflows
    key = np.arange(fields << kept)
    field = key >> kept
    significand = key & ((1 << kept) - 1) | (field > 0).astype(np.int64) << kept
    exponent = np.maximum(field, 1) - c - kept
    signs = []
    for negative in (False, True):
        parts = Parts.finite(np.full(key.shape, negative), significand, exponent)
        codes = encode_parts(parts, fmt, policy)
        signs.append(np.pad(codes, (0, (1 << (field_bits + kept)) - key.size), "edge"))
    positive, negative_ = signs
    return _Codes(
        np.concatenate(signs),
        bool(positive[0] == positive[1] and negative_[0] == negative_[1]),
        np.array([positive[0], negative_[0]]),
        fmt.code_count - 1 if ones is NaNBlockCodes.ONES else 0,
    )


def quantize_ordinary(
    blocks: NDArray[Any],
    layout: FloatLayout,
    fmt: ElementFormat,
    scale: ScalePolicy,
    element: ElementPolicy,
    largest: Bool | None = None,
) -> tuple[NDArray[np.int32], U8]:
    """Scale codes with their flags, and codes, of blocks along the middle one of three axes.

    Args:
        blocks: patterns, (m, size, n); patterns of float16 are taken as float32.
        layout: their layout.
        fmt: the element format.
        scale: the choices for scales.
        element: the choices for elements.
        largest: (m, n), blocks that have the largest scale whatever their amax.

    Returns:
        (m, n) and (m, size, n).
    """
    kept, c = fmt.mantissa_bits + 2, smallest_code(fmt)
    if layout.exponent_bits < F32.exponent_bits or layout.mantissa_bits < kept:
        blocks, layout = as_float32(blocks, layout), F32
    shape, word = blocks.shape, layout.uint.type
    key, other = (scratch(name, blocks.size, layout.uint) for name in ("key", "other"))
    magnitude = np.bitwise_and(blocks, word(layout.sign_bit - 1), out=other.reshape(shape))
    outcome = _outcomes(fmt, scale, layout).of(_maxima(magnitude, key), layout)
    if largest is not None:
        flushed = scale.scaling is Scaling.RECIPROCAL_FLUSHED
        outcome[largest] = OTHER if flushed else E8M0.max_code
    codes = _codes(fmt, element, scale.nan_block_codes, layout.exponent_bits)

    keys = to_odd(blocks, layout.mantissa_bits - kept, out=key.reshape(shape))
    sign = word(1 << (layout.exponent_bits + kept))
    if codes.one_floor:
        floor = np.bitwise_and(keys, sign, out=magnitude)
    else:
        floor = np.minimum(magnitude, _ones(key.size, layout.uint).reshape(shape), out=magnitude)
        signs = scratch("signs", key.size, layout.uint).reshape(shape)
        np.bitwise_or(floor, np.bitwise_and(keys, sign, out=signs), out=floor)
    less = np.maximum((outcome & 0xFF) + (layout.bias - F32.bias - c), 0)
    signed = keys.view(f"i{layout.uint.itemsize}")
    np.subtract(signed, (less << kept).astype(signed.dtype)[:, np.newaxis], out=signed)
    np.maximum(signed, floor.view(signed.dtype), out=signed)
    index = scratch("index", key.size, np.intp)
    np.copyto(index, key, casting="same_kind")
    found = np.take(codes.table, index, mode="wrap").reshape(shape)  # others may lie beyond
    if int(outcome.max(initial=0)) > 0xFF:
        _fill(found, blocks, outcome, codes, layout)
    return outcome, found


def _fill(
    found: U8, blocks: NDArray[Any], outcome: NDArray[np.int32], codes: _Codes, layout: FloatLayout
) -> None:
    """The codes of NaN blocks and of flushed ones."""
    rows = found.swapaxes(1, 2)
    rows[outcome & NAN != 0] = codes.nan_block
    flushed = outcome & (FLUSHED | NAN | OTHER) == FLUSHED
    if flushed.any():
        signs = blocks.swapaxes(1, 2)[flushed] >> layout.uint.type(layout.width - 1)
        rows[flushed] = codes.zeros[signs]


@functools.lru_cache(maxsize=8)
def _ones(size: int, dtype: np.dtype[Any]) -> Bits:
    """An operand: one of a single number takes four times as long in `minimum`."""
    return np.ones(size, dtype)


def _maxima(magnitude: NDArray[Any], scratch: NDArray[Any]) -> NDArray[Any]:
    """The largest along the middle axis, by halves while they are whole: reductions are slow."""
    m, size, n = magnitude.shape
    while size > 1 and size % 2 == 0:
        size //= 2
        half, scratch = scratch[: m * size * n], scratch[m * size * n :]
        if n == 1:  # neighbours, since what is long is fast
            flat = magnitude.reshape(-1)
            magnitude = np.maximum(flat[::2], flat[1::2], out=half).reshape(m, size, n)
        else:
            halves = magnitude[:, :size], magnitude[:, size:]
            magnitude = np.maximum(*halves, out=half.reshape(m, size, n))
    maxima: NDArray[Any] = magnitude.max(axis=1, initial=0)
    return maxima
