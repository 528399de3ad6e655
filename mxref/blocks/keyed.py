"""Quantization by keys: a table lookup and a dozen integer operations per element.

A block's scale word comes from `ScaleSteps`.

An element's key is its pattern rounded to odd in its top bits (see `to_odd`). Division by the scale
is subtraction from the key's exponent field. Keys count exponents from -C, where 2**(1 - C) is half
of the format's smallest number. All numbers between zero and that half round alike, so smaller keys
are replaced by the smallest one, or by that of zero if both have the same code. The sign is the bit
above the exponent field. A key is right under two conditions: its number is normal in its own type
or below 2**(1 - C), and the number subtracted is not negative, or keys would grow into the sign.
This holds

- in float32 and bfloat16 under scale codes from C on, where subnormal numbers are below 2**(1 - C);
- under smaller scale codes, once the numbers are multiplied by 2**64;
- in float64 under every scale code: its subnormal numbers are far smaller.

Blocks with NaN or infinity that are not NaN blocks, and an amax that has no scale word, are
computed in other ways.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import as_float32
from mxref.bits.floats import F32, F64, U8, Bits, Bool, FloatLayout, Parts, to_odd
from mxref.formats.catalog import E8M0, ElementFormat, ScaleFormat
from mxref.numbers.element import encode_parts
from mxref.numbers.scale_steps import FLUSHED, NAN_BLOCK, OTHER, ScaleSteps, Words, scale_steps
from mxref.policy.choices import BlockInf, BlockNaN, NaNBlockCodes, Scaling
from mxref.policy.policy import ElementPolicy, ScalePolicy
from mxref.support.scratch import scratch

#: Not scale words: the block must be multiplied by 2**64 first; the block has NaN or infinity.
SMALL, SPECIAL = OTHER << 1, OTHER << 2
#: Blocks under small scales are multiplied by 2**64.
_UP = 64
#: 2**64 times the smallest number of float32; `pow` might round.
_SMALLEST = np.float32(float.fromhex("0x1p-85"))


def _kept(fmt: ElementFormat) -> int:
    """Fraction bits of a key: two more than the format has."""
    return fmt.mantissa_bits + 2


def smallest_code(fmt: ElementFormat) -> int:
    """C, where all numbers below 2**(1 - C), half of the format's smallest number, round alike."""
    return 2 - (fmt.emin - fmt.mantissa_bits)


def _first(fmt: ElementFormat, layout: FloatLayout, up: int, powers: ScaleFormat) -> int:
    """The first scale code under which keys give the right codes; negative if all do."""
    return smallest_code(fmt) - up + powers.bias - layout.bias


def _steps(
    fmt: ElementFormat, policy: ScalePolicy, layout: FloatLayout, up: int, scale: ScaleFormat
) -> ScaleSteps:
    """The scale words of blocks; SMALL, SPECIAL or OTHER where keys do not give the codes."""
    steps = scale_steps(fmt, policy, layout, up, scale)
    words, count = steps.table.copy(), 1 << layout.exponent_bits
    if policy.scaling is Scaling.RECIPROCAL_FLUSHED:  # of 2**127, and of 2**128 by wrapping
        words[(words - scale.bias >= F32.bias) & (words <= 0xFF)] = OTHER
    if layout != F64:
        small = words & ~FLUSHED < _first(fmt, layout, up, scale)
        small[0], small[count] = False, True  # of zero; of subnormal numbers
        field = np.arange(words.size) % count
        words[small] = np.where(field < (0 if up else layout.bias + 60), SMALL, OTHER)[small]
    if policy.block_nan is not BlockNaN.NAN_BLOCK or policy.block_inf is not BlockInf.NAN_BLOCK:
        words[[count - 1, -1]] = SPECIAL
    return dataclasses.replace(steps, table=words)


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
class _KeyTables:
    """Tables of `quantize_keyed` for one format, policy and layout."""

    layout: FloatLayout
    steps: ScaleSteps
    first: int  # the first scale code under which keys give the codes
    less: NDArray[Any]  # subtracted from keys, by scale code
    drop: int
    sign: np.unsignedinteger[Any]  # the bit above a key's field
    table: U8
    one_floor: bool  # whether numbers below the smallest key have the codes of zero
    zeros: U8
    nan_block: int


@functools.lru_cache(maxsize=64)
def _plan(
    fmt: ElementFormat,
    scale: ScalePolicy,
    element: ElementPolicy,
    layout: FloatLayout,
    up: int,
    powers: ScaleFormat,
) -> _KeyTables:
    kept = _kept(fmt)
    less = np.arange(256) - _first(fmt, layout, up, powers)
    table = _codes(fmt, element, layout.exponent_bits)
    zeros, smallest = table.reshape(2, -1)[:, :2].T
    return _KeyTables(
        layout=layout,
        steps=_steps(fmt, scale, layout, up, powers),
        first=_first(fmt, layout, up, powers),
        less=(np.maximum(less, 0) << kept).astype(f"i{layout.uint.itemsize}"),
        drop=layout.mantissa_bits - kept,
        sign=layout.uint.type(1 << (layout.exponent_bits + kept)),
        table=table,
        one_floor=np.array_equal(zeros, smallest),
        zeros=zeros,
        nan_block=fmt.code_count - 1 if scale.nan_block_codes is NaNBlockCodes.ONES else 0,
    )


def quantize_keyed(
    blocks: NDArray[Any],
    layout: FloatLayout,
    fmt: ElementFormat,
    scale: ScalePolicy,
    element: ElementPolicy,
    powers: ScaleFormat = E8M0,
    largest: Bool | None = None,
    *,
    is_scaled_up: bool = False,
) -> tuple[Words, U8, bool]:
    """Scale words and codes of blocks along the middle one of three axes.

    Args:
        blocks: patterns, (m, size, n), not empty.
        layout: their layout.
        fmt: the element format.
        scale: the choices for scales.
        element: the choices for elements.
        powers: the format of the scales.
        largest: (m, n), blocks that have the largest scale whatever their amax.
        is_scaled_up: whether the numbers were multiplied by 2**64.

    Returns:
        Scale words (m, n), codes (m, size, n), and whether all words are scale codes without flags.
    """
    if layout.exponent_bits < F32.exponent_bits or layout.mantissa_bits <= _kept(fmt):
        blocks, layout = as_float32(blocks, layout), F32
    plan = _plan(fmt, scale, element, layout, _UP if is_scaled_up else 0, powers)
    shape, word = blocks.shape, layout.uint
    key, other = scratch("key", blocks.size, word), scratch("other", blocks.size, word)
    magnitude = other.reshape(shape)
    np.bitwise_and(blocks, word.type(layout.sign_bit - 1), out=magnitude)
    words = plan.steps.words(_maxima(magnitude, key))
    if largest is not None:
        computed = scale.scaling is Scaling.RECIPROCAL_FLUSHED or powers.max_code < plan.first
        words[largest] = OTHER if computed else powers.max_code

    keys = to_odd(blocks, plan.drop, out=key.reshape(shape))
    if plan.one_floor:
        floor = np.bitwise_and(keys, plan.sign, out=magnitude)
    else:
        floor = np.minimum(magnitude, _ones(key.size, word).reshape(shape), out=magnitude)
        signs = scratch("signs", key.size, word).reshape(shape)
        np.bitwise_or(floor, np.bitwise_and(keys, plan.sign, out=signs), out=floor)
    less = plan.less.take(words, mode="clip")
    signed = keys.view(less.dtype)
    np.subtract(signed, less[:, np.newaxis], out=signed)
    np.maximum(signed, floor.view(less.dtype), out=signed)
    index = scratch("index", key.size, np.intp)
    np.copyto(index, key, casting="same_kind")
    codes = plan.table.take(index, mode="wrap").reshape(shape)  # other keys may be too large
    plain = int(words.max()) <= 0xFF
    if not plain:
        _fill(codes, blocks, words, plan)
    return words, codes, plain


def _fill(codes: U8, blocks: NDArray[Any], words: Words, plan: _KeyTables) -> None:
    """Write the codes of NaN blocks and of flushed ones."""
    rows = codes.swapaxes(1, 2)
    rows[words & NAN_BLOCK != 0] = plan.nan_block
    flushed = words & ~0xFF == FLUSHED
    if flushed.any():
        signs = blocks.swapaxes(1, 2)[flushed] >> plan.layout.uint.type(plan.layout.width - 1)
        rows[flushed] = plan.zeros[signs]


def times_2_to_64(bits: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """float32 patterns of 2**64 times numbers that are below 2**60, exactly.

    A subnormal number is its significand times 2**-149: a product of two normal float32 numbers, or
    of zero, and itself a normal one, so that no processor mode changes it.
    """
    magnitude = bits & np.uint32(F32.sign_bit - 1)
    small = magnitude.view(np.int32).astype(np.float32) * _SMALLEST
    normal = magnitude + np.uint32(_UP << 23)
    result = np.where(magnitude < np.uint32(1 << 23), small.view(np.uint32), normal)
    return np.asarray(result | (bits & np.uint32(F32.sign_bit)), np.uint32)


@functools.lru_cache(maxsize=8)
def _ones(size: int, dtype: np.dtype[Any]) -> Bits:
    """An array of ones: `minimum` takes four times as long with a single number."""
    return np.ones(size, dtype)


def _maxima(magnitude: NDArray[Any], spare: NDArray[Any]) -> NDArray[Any]:
    """The largest along the middle axis, by halves while it can be halved: reductions are slow."""
    m, size, n = magnitude.shape
    if n == 1 and size in (8, 16, 32, 64) and magnitude.itemsize < 4:
        return _row_maxima(magnitude.reshape(-1), size, spare)
    while size > 1 and size % 2 == 0:
        size //= 2
        half, spare = spare[: m * size * n], spare[m * size * n :]
        if n == 1:  # neighbours, since long operands are fast
            flat = magnitude.reshape(-1)
            magnitude = np.maximum(flat[::2], flat[1::2], out=half).reshape(m, size, n)
        else:
            halves = magnitude[:, :size], magnitude[:, size:]
            magnitude = np.maximum(*halves, out=half.reshape(m, size, n))
    maxima: NDArray[Any] = magnitude[:, 0] if size == 1 else magnitude.max(axis=1)
    return maxima


def _row_maxima(flat: NDArray[Any], size: int, spare: NDArray[Any]) -> NDArray[Any]:
    """The largest of each row; `size`, the length of rows, is a power of two.

    Every number is compared with the one half a row on, a quarter of a row on, and so forth, until
    the first of each row is the row's largest. Most results are unused, but operands stay long.
    """
    every = flat
    spares = spare, scratch("signs", flat.size, flat.dtype)
    further = size // 2
    while further:
        count = every.size - further
        every = np.maximum(every[:count], every[further:], out=spares[0][:count])
        spares, further = spares[::-1], further // 2
    return every[::size, np.newaxis]
