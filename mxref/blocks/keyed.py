"""Quantization of ordinary blocks: keys and a table, a dozen integer operations per element.

Scales: inside a binade of amax the scale code takes two values at most, so that its first one, its
last one and the pattern from which on it is the last say everything. `_Outcomes` holds them.

Elements: a pattern rounded to odd in its top bits is a key (see `to_odd`), and division by the
scale is subtraction from the key's exponent field. Keys count exponents from -C, where 2**(1 - C)
is half of the format's smallest number: what lies below it lies between zero and that half and all
rounds alike, as the smallest key does. It is lifted to that key, or to zero's if both give the same
code; the sign stands above the field and in the floor. So a key is right if its number is normal in
its own type or below 2**(1 - C), and if what is subtracted is not negative, which would let keys
grow into the sign:

- in float32 and bfloat16 under scale codes from C on, which put every subnormal number there;
- under smaller ones too, once the numbers are `raised`;
- in float64 under every scale code: its subnormal numbers are far below all of these.

What is left: blocks with NaN or infinity that are no NaN blocks for it, scales that jump inside a
binade, as where a narrower type of amax ends, and amax that is subnormal in float64.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import as_float32
from mxref.bits.floats import F32, F64, U8, Bits, Bool, FloatLayout, Parts, to_odd
from mxref.formats.catalog import E8M0, ElementFormat
from mxref.numbers.element import encode_parts
from mxref.numbers.scale import scale_codes
from mxref.numbers.scale_steps import last_alike
from mxref.policy.choices import BlockInf, BlockNaN, NaNBlockCodes, Scaling
from mxref.policy.policy import ElementPolicy, ScalePolicy
from mxref.support.scratch import scratch

__all__ = ["FLUSHED", "OTHER", "SMALL", "SPECIAL", "Outcome", "quantize_ordinary", "raised"]

#: Scale codes of blocks, and one of the words below.
Outcome = NDArray[np.int32]
#: Added to a scale code: every element is a zero; a NaN block.
FLUSHED, NAN = 1 << 8, 1 << 9
#: Instead of a scale code: to be raised; with NaN or infinity; none of this kernel's.
SMALL, SPECIAL, OTHER = 1 << 10, 1 << 11, 1 << 12
#: Exponents by which blocks under small scales are raised.
_RAISED = 64
#: 2**64 times the smallest number of float32; `pow` might round.
_SMALLEST_RAISED = np.float32(float.fromhex("0x1p-85"))


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """By the exponent field of amax: first scale code, the last one, and from which pattern on."""

    first: Outcome
    step: Bits
    last: Outcome


def _kept(fmt: ElementFormat) -> int:
    """Fraction bits of a key: two more than the format has."""
    return fmt.mantissa_bits + 2


def smallest_code(fmt: ElementFormat) -> int:
    """C: everything below 2**(1 - C), half of the smallest number, rounds alike."""
    return 2 - (fmt.emin - fmt.mantissa_bits)


@functools.lru_cache(maxsize=256)
def _outcomes(
    fmt: ElementFormat, policy: ScalePolicy, layout: FloatLayout, up: int = 0
) -> _Outcomes:
    if layout == F64:
        return _outcomes_of_float64(fmt, policy)
    # A part of them; the step is the first pattern of this layout that is not below theirs.
    whole = _outcomes(fmt, policy, F64)
    bias, lost = F64.bias - layout.bias - up, 52 - layout.mantissa_bits
    part = slice(bias, bias + 255)
    first, last = whole.first[part].copy(), whole.last[part].copy()
    less = smallest_code(fmt) - up
    small = np.full(255, OTHER if up else SMALL, np.int32)
    small[layout.bias + 60 :] = OTHER  # too large to be raised
    for outcome in (first, last):
        outcome[...] = np.where(outcome & ~FLUSHED < less, small, outcome)
    first[0], last[0] = whole.first[0], small[0]  # of zero; of subnormal numbers
    below = whole.step[part] - np.uint64(bias << 52)
    step = ((below + np.uint64((1 << lost) - 1)) >> np.uint64(lost)).astype(layout.uint)
    step[0] = 1
    special = whole.last[-1]
    return _Outcomes(np.append(first, special), np.append(step, step[:1]), np.append(last, special))


def _outcomes_of_float64(fmt: ElementFormat, policy: ScalePolicy) -> _Outcomes:
    def outcome(amax: Bits) -> Outcome:
        found = scale_codes(amax, F64, fmt, policy)
        return np.asarray(found.codes | found.is_nan * NAN | found.flushed * FLUSHED, np.int32)

    one = np.uint64(1)
    below = np.arange(0x7FF, dtype=np.uint64) << np.uint64(52)
    above = below + np.uint64((1 << 52) - 1)
    first, last, step = outcome(below), outcome(above), above + one
    two = 1 + np.flatnonzero(first[1:] != last[1:])
    step[two] = last_alike(outcome, below[two], above[two]) + one
    jump = two[outcome(step[two]) != last[two]]  # where there is one more between them
    first[jump] = last[jump] = OTHER
    step[0], last[0] = one, OTHER  # beside zero the subnormal ones, which have many binades
    if policy.scaling is Scaling.RECIPROCAL_FLUSHED:
        for codes in (first, last):
            codes[(codes == E8M0.max_code) | (codes == 0xFF)] = OTHER  # FF by wrapping
    all_nan = policy.block_nan is BlockNaN.NAN_BLOCK and policy.block_inf is BlockInf.NAN_BLOCK
    special = np.int32(0xFF | NAN if all_nan else SPECIAL)
    return _Outcomes(np.append(first, special), np.append(step, one), np.append(last, special))


@functools.lru_cache(maxsize=64)
def _codes(fmt: ElementFormat, policy: ElementPolicy, field_bits: int) -> U8:
    """Element codes by key: sign, exponent field counted from -C, significand."""
    kept, c = _kept(fmt), smallest_code(fmt)
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
    return np.concatenate(signs)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What `quantize_ordinary` looks up, for one format, policy and layout."""

    layout: FloatLayout
    outcomes: _Outcomes
    has_steps: bool
    less: NDArray[Any]  # what is subtracted from keys, by scale code
    drop: int
    sign: np.unsignedinteger[Any]  # the bit above a key's field
    table: U8
    one_floor: bool  # whether what falls below the smallest key has zero's codes
    zeros: U8
    nan_block: int


@functools.lru_cache(maxsize=64)
def _plan(
    fmt: ElementFormat, scale: ScalePolicy, element: ElementPolicy, layout: FloatLayout, up: int
) -> _Plan:
    kept = _kept(fmt)
    outcomes = _outcomes(fmt, scale, layout, up)
    less = np.arange(256) + (layout.bias - F32.bias + up - smallest_code(fmt))
    table = _codes(fmt, element, layout.exponent_bits)
    zeros, smallest = table.reshape(2, -1)[:, :2].T
    return _Plan(
        layout=layout,
        outcomes=outcomes,
        has_steps=not np.array_equal(outcomes.first[1:], outcomes.last[1:]),
        less=(np.maximum(less, 0) << kept).astype(f"i{layout.uint.itemsize}"),
        drop=layout.mantissa_bits - kept,
        sign=layout.uint.type(1 << (layout.exponent_bits + kept)),
        table=table,
        one_floor=np.array_equal(zeros, smallest),
        zeros=zeros,
        nan_block=fmt.code_count - 1 if scale.nan_block_codes is NaNBlockCodes.ONES else 0,
    )


def quantize_ordinary(
    blocks: NDArray[Any],
    layout: FloatLayout,
    fmt: ElementFormat,
    scale: ScalePolicy,
    element: ElementPolicy,
    largest: Bool | None = None,
    *,
    is_raised: bool = False,
) -> tuple[Outcome, U8, bool]:
    """Scale codes with their flags, and codes, of blocks along the middle one of three axes.

    Args:
        blocks: patterns, (m, size, n), not empty.
        layout: their layout.
        fmt: the element format.
        scale: the choices for scales.
        element: the choices for elements.
        largest: (m, n), blocks that have the largest scale whatever their amax.
        is_raised: whether the patterns are `raised` ones.

    Returns:
        (m, n), (m, size, n) and whether all of the first are scale codes.
    """
    if layout.exponent_bits < F32.exponent_bits or layout.mantissa_bits <= _kept(fmt):
        blocks, layout = as_float32(blocks, layout), F32
    plan = _plan(fmt, scale, element, layout, _RAISED if is_raised else 0)
    shape, word = blocks.shape, layout.uint
    key, other = scratch("key", blocks.size, word), scratch("other", blocks.size, word)
    magnitude = other.reshape(shape)
    np.bitwise_and(blocks, word.type(layout.sign_bit - 1), out=magnitude)
    outcome = _outcome(plan, _maxima(magnitude, key))
    if largest is not None:
        flushed = scale.scaling is Scaling.RECIPROCAL_FLUSHED
        outcome[largest] = OTHER if flushed else E8M0.max_code

    keys = to_odd(blocks, plan.drop, out=key.reshape(shape))
    if plan.one_floor:
        floor = np.bitwise_and(keys, plan.sign, out=magnitude)
    else:
        floor = np.minimum(magnitude, _ones(key.size, word).reshape(shape), out=magnitude)
        signs = scratch("signs", key.size, word).reshape(shape)
        np.bitwise_or(floor, np.bitwise_and(keys, plan.sign, out=signs), out=floor)
    less = plan.less.take(outcome, mode="clip")
    signed = keys.view(less.dtype)
    np.subtract(signed, less[:, np.newaxis], out=signed)
    np.maximum(signed, floor.view(less.dtype), out=signed)
    index = scratch("index", key.size, np.intp)
    np.copyto(index, key, casting="same_kind")
    codes = plan.table.take(index, mode="wrap").reshape(shape)  # others may lie beyond
    plain = int(outcome.max()) <= 0xFF
    if not plain:
        _fill(codes, blocks, outcome, plan)
    return outcome, codes, plain


def _outcome(plan: _Plan, amax: Bits) -> Outcome:
    """Scale codes, or what there is instead."""
    layout, outcomes = plan.layout, plan.outcomes
    field = (amax >> layout.uint.type(layout.mantissa_bits)).astype(np.intp)
    outcome: Outcome = outcomes.first.take(field, mode="wrap")
    if plan.has_steps or int(field.min()) == 0:
        above = amax >= outcomes.step.take(field, mode="wrap")
        outcome = np.where(above, outcomes.last.take(field, mode="wrap"), outcome)
    return outcome


def _fill(codes: U8, blocks: NDArray[Any], outcome: Outcome, plan: _Plan) -> None:
    """The codes of NaN blocks and of flushed ones."""
    rows = codes.swapaxes(1, 2)
    rows[outcome & NAN != 0] = plan.nan_block
    flushed = outcome & ~0xFF == FLUSHED
    if flushed.any():
        signs = blocks.swapaxes(1, 2)[flushed] >> plan.layout.uint.type(plan.layout.width - 1)
        rows[flushed] = plan.zeros[signs]


def raised(bits: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """float32 patterns of 2**64 times numbers that are below 2**60, exactly.

    A subnormal number is its significand times 2**-149: a product of two normal float32 numbers, or
    of zero, and itself a normal one, so that no processor mode changes it.
    """
    magnitude = bits & np.uint32(F32.sign_bit - 1)
    small = magnitude.view(np.int32).astype(np.float32) * _SMALLEST_RAISED
    normal = magnitude + np.uint32(_RAISED << 23)
    result = np.where(magnitude < np.uint32(1 << 23), small.view(np.uint32), normal)
    return np.asarray(result | (bits & np.uint32(F32.sign_bit)), np.uint32)


@functools.lru_cache(maxsize=8)
def _ones(size: int, dtype: np.dtype[Any]) -> Bits:
    """An operand: one of a single number takes four times as long in `minimum`."""
    return np.ones(size, dtype)


def _maxima(magnitude: NDArray[Any], spare: NDArray[Any]) -> NDArray[Any]:
    """The largest along the middle axis, by halves while they are whole: reductions are slow."""
    m, size, n = magnitude.shape
    if n == 1 and size in (8, 16, 32, 64) and magnitude.itemsize < 4:
        return _row_maxima(magnitude.reshape(-1), size, spare)
    while size > 1 and size % 2 == 0:
        size //= 2
        half, spare = spare[: m * size * n], spare[m * size * n :]
        if n == 1:  # neighbours, since what is long is fast
            flat = magnitude.reshape(-1)
            magnitude = np.maximum(flat[::2], flat[1::2], out=half).reshape(m, size, n)
        else:
            halves = magnitude[:, :size], magnitude[:, size:]
            magnitude = np.maximum(*halves, out=half.reshape(m, size, n))
    maxima: NDArray[Any] = magnitude[:, 0] if size == 1 else magnitude.max(axis=1)
    return maxima


def _row_maxima(flat: NDArray[Any], size: int, spare: NDArray[Any]) -> NDArray[Any]:
    """The same of rows, whose size is a power of two.

    Every number and the one half a row on, a quarter of a row on, and so forth: the first of a row
    has then seen all of its row. Most of it is for nothing, but in one run.
    """
    every = flat
    spares = spare, scratch("signs", flat.size, flat.dtype)
    further = size // 2
    while further:
        count = every.size - further
        every = np.maximum(every[:count], every[further:], out=spares[0][:count])
        spares, further = spares[::-1], further // 2
    return every[::size, np.newaxis]
