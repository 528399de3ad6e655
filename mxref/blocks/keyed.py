"""Quantization by keys: a table lookup and a dozen integer operations per element.

An element's key is its pattern rounded to odd in its top bits (see `to_odd`). Keys are ordered as
magnitudes are, so the largest key of a block is that of its largest magnitude, and a block's scale
word is looked up by it. Where numbers with one key have different scales the word is UNSURE, and
comes from `ScaleSteps` and the largest magnitude itself.

Division by the scale is subtraction from the key's exponent field. Keys count exponents from -C,
where 2**(1 - C) is half of the format's smallest number. All numbers between zero and that half
round alike, so smaller keys are replaced by the smallest one, or by that of zero if both have the
same code. The sign is the bit above the exponent field. A key is right under two conditions: its
number is normal in its own type or below 2**(1 - C), and the number subtracted is not negative, or
keys would grow into the sign. This holds

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

from mxref.bits.floats import F32, F64, U8, Bits, Bool, FloatLayout, Parts, to_odd
from mxref.formats.catalog import E8M0, ElementFormat, ScaleFormat
from mxref.numbers.element import encode_parts
from mxref.numbers.scale_steps import FLUSHED, NAN_BLOCK, OTHER, ScaleSteps, Words, scale_steps
from mxref.policy.choices import BlockInf, BlockNaN, NaNBlockCodes, Scaling
from mxref.policy.policy import ElementPolicy, ScalePolicy
from mxref.support.scratch import scratch

#: Not scale words: the block must be multiplied by 2**64 first; the block has NaN or infinity; the
#: largest key does not tell the scale.
SMALL, SPECIAL, UNSURE = OTHER << 1, OTHER << 2, OTHER << 3
#: Blocks under small scales are multiplied by 2**64.
_UP = 64
#: Elements of the longest row that has its own copies of what is subtracted.
_SHORT = 64
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


@dataclass(frozen=True, slots=True, eq=False)
class KeyTables:
    """Tables of `quantize_keyed` for one format, policy and layout."""

    layout: FloatLayout
    steps: ScaleSteps
    words: Words  # scale words by the largest key of a block
    largest: int  # the word of blocks with the largest scale whatever their amax
    drop: int  # low bits that keys leave out; negative if keys have more bits
    less: NDArray[Any]  # subtracted from keys, by scale code
    sign: np.unsignedinteger[Any]  # the bit above a key's field
    table: U8
    one_floor: bool  # whether numbers below the smallest key have the codes of zero
    zeros: U8
    nan_block: int


@functools.lru_cache(maxsize=256)
def key_tables(
    fmt: ElementFormat,
    scale: ScalePolicy,
    element: ElementPolicy,
    layout: FloatLayout,
    powers: ScaleFormat = E8M0,
    *,
    is_scaled_up: bool = False,
) -> KeyTables:
    """The tables for blocks in a layout.

    Args:
        fmt: the element format.
        scale: the choices for scales.
        element: the choices for elements.
        layout: that of the patterns, or float32's if they are those of float16.
        powers: the format of the scales.
        is_scaled_up: whether the numbers were multiplied by 2**64.
    """
    kept, up = _kept(fmt), _UP if is_scaled_up else 0
    steps, first = _steps(fmt, scale, layout, up, powers), _first(fmt, layout, up, powers)
    less = np.arange(256) - first
    table = _codes(fmt, element, layout.exponent_bits)
    zeros, smallest = table.reshape(2, -1)[:, :2].T
    computed = scale.scaling is Scaling.RECIPROCAL_FLUSHED or powers.max_code < first
    word = _key_type(layout, kept)
    return KeyTables(
        layout=layout,
        steps=steps,
        words=_words_by_key(steps, kept),
        largest=OTHER if computed else powers.max_code,
        less=(np.maximum(less, 0) << kept).astype(f"i{word.itemsize}"),
        drop=layout.mantissa_bits - kept,
        sign=word.type(1 << (layout.exponent_bits + kept)),
        table=table,
        one_floor=np.array_equal(zeros, smallest),
        zeros=zeros,
        nan_block=fmt.code_count - 1 if scale.nan_block_codes is NaNBlockCodes.ONES else 0,
    )


def _key_type(layout: FloatLayout, kept: int) -> np.dtype[Any]:
    """The dtype of keys: signed numbers hold them, since they are compared as such."""
    return np.dtype(np.uint16 if layout.exponent_bits + kept < 15 else np.uint32)


def _words_by_key(steps: ScaleSteps, kept: int) -> Words:
    """Scale words by the key of amax; UNSURE where numbers with the key have different ones.

    The numbers with an odd key lie between its neighbours, in one binade, which has two words at
    most: if the first and the last number have the same, then all have it.
    """
    layout, word = steps.layout, steps.layout.uint.type
    key = np.arange(1 << layout.exponent_bits + kept, dtype=np.uint64)
    if layout.mantissa_bits <= kept:
        return steps.words((key >> word(kept - layout.mantissa_bits)).astype(layout.uint))
    odd, drop = key & np.uint64(1), np.uint64(layout.mantissa_bits - kept)
    first = steps.words(((key - odd << drop) + odd).astype(layout.uint))
    last = steps.words(((key + odd << drop) - odd).astype(layout.uint))
    return np.where(first == last, first, np.int32(UNSURE))


@functools.lru_cache(maxsize=256)
def _rows_of_less(tables: KeyTables, size: int) -> NDArray[Any]:
    """What is subtracted from each key of a row, by scale code."""
    return np.repeat(tables.less[:, np.newaxis], size, axis=1)


def quantize_keyed(
    blocks: NDArray[Any], tables: KeyTables, largest: Bool | None = None, out: U8 | None = None
) -> tuple[Words, U8, bool]:
    """Scale words and codes of blocks along the middle one of three axes.

    Args:
        blocks: patterns, (m, size, n), not empty.
        tables: those of their layout.
        largest: (m, n), blocks that have the largest scale whatever their amax.
        out: C-contiguous memory for the codes.

    Returns:
        Scale words (m, n), codes (m, size, n), and whether all words are scale codes without flags.
    """
    shape, (_, size, beside), word = blocks.shape, blocks.shape, tables.sign.dtype
    key, other = scratch("key", blocks.size, word), scratch("other", blocks.size, word)
    keys = _keys(blocks, tables.drop, key).reshape(shape)
    magnitude = np.bitwise_and(keys, tables.sign - word.type(1), out=other.reshape(shape))
    signs = scratch("signs", key.size, word)
    words = tables.words.take(_maxima(magnitude, signs), mode="clip")
    most = int(words.max())
    if most >= UNSURE:
        _make_sure(words, blocks, tables)
        most = int(words.max())
    if largest is not None:
        words[largest] = tables.largest
        most = int(words.max())

    if tables.one_floor:
        floor = np.bitwise_and(keys, tables.sign, out=magnitude)
    else:
        floor = np.minimum(magnitude, _ones(key.size, word).reshape(shape), out=magnitude)
        np.bitwise_or(floor, np.bitwise_and(keys, tables.sign, out=signs.reshape(shape)), out=floor)
    signed = keys.view(tables.less.dtype)
    if beside == 1 and size <= _SHORT:  # long operands are fast
        less = _rows_of_less(tables, size).take(words[:, 0], axis=0, mode="clip")[..., np.newaxis]
    else:
        less = tables.less.take(words, mode="clip")[:, np.newaxis]
    np.subtract(signed, less, out=signed)
    np.maximum(signed, floor.view(signed.dtype), out=signed)
    index = scratch("index", key.size, np.intp)
    np.copyto(index, key, casting="same_kind")
    codes = np.empty(shape, np.uint8) if out is None else out
    tables.table.take(index, out=codes.reshape(-1), mode="wrap")  # other keys may be too large
    plain = most <= 0xFF
    if not plain:
        _fill(codes, blocks, words, tables)
    return words, codes, plain


def _keys(blocks: NDArray[Any], drop: int, key: NDArray[Any]) -> NDArray[Any]:
    """The keys of patterns."""
    to = key if blocks.itemsize == key.itemsize else scratch("wide", blocks.size, blocks.dtype)
    odd = blocks if drop <= 0 else to_odd(blocks, drop, out=to.reshape(blocks.shape))
    if odd.base is not key.base or drop <= 0:
        np.copyto(key.reshape(blocks.shape), odd, casting="same_kind")
    if drop < 0:
        np.left_shift(key, key.dtype.type(-drop), out=key)
    return key


def _make_sure(words: Words, blocks: NDArray[Any], tables: KeyTables) -> None:
    """Write the words of blocks whose largest key does not tell them."""
    unsure = words == UNSURE
    magnitude = blocks.swapaxes(1, 2)[unsure] & tables.layout.uint.type(tables.layout.sign_bit - 1)
    words[unsure] = tables.steps.words(magnitude.max(axis=1))


def _fill(codes: U8, blocks: NDArray[Any], words: Words, tables: KeyTables) -> None:
    """Write the codes of NaN blocks and of flushed ones."""
    rows = codes.swapaxes(1, 2)
    rows[words & NAN_BLOCK != 0] = tables.nan_block
    flushed = words & ~0xFF == FLUSHED
    if flushed.any():
        signs = blocks.swapaxes(1, 2)[flushed] >> tables.layout.uint.type(tables.layout.width - 1)
        rows[flushed] = tables.zeros[signs]


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
    if n == 1 and size in (8, 16, 32, 64):
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
    the largest of each row is within its first 8 bytes. Most results are unused, but operands stay
    long.
    """
    every, item = flat, 8 // flat.itemsize
    spares = spare, scratch("spare", flat.size, flat.dtype)
    further = size // 2
    while further >= item:
        count = every.size - further
        every = np.maximum(every[:count], every[further:], out=spares[0][:count])
        spares, further = spares[::-1], further // 2
    every = every.view(np.uint64)[:: size // item].copy().view(flat.dtype)
    while further:
        every, further = np.maximum(every[::2], every[1::2]), further // 2
    return every[:, np.newaxis]
