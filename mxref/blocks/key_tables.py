"""Tables of quantization by keys, for one format, policy and layout; see `quantize_keyed`."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxref.bits.floats import BF16, F32, F64, U8, Bits, FloatLayout, Parts, to_odd
from mxref.formats.catalog import E8M0, ElementFormat, ScaleFormat
from mxref.numbers.element import encode_parts
from mxref.numbers.scale_steps import FLUSHED, OTHER, ScaleSteps, Words, scale_steps
from mxref.policy.choices import BlockInf, BlockNaN, NaNBlockCodes, Scaling
from mxref.policy.groups import ElementPolicy, ScalePolicy

#: Not scale words: the block must be multiplied by 2**64 first; the block has NaN or infinity; the
#: largest key does not tell the scale.
SMALL, SPECIAL, UNSURE = OTHER << 1, OTHER << 2, OTHER << 3
#: Blocks under small scales are multiplied by 2**64.
UP = 64


def _kept(fmt: ElementFormat, layout: FloatLayout) -> int:
    """Fraction bits of a key: two more than the format has at least.

    With as many as bfloat16 has, its patterns are keys, and so are the upper halves of float32's.
    """
    least = fmt.mantissa_bits + 2
    return least if layout == F64 else max(least, BF16.mantissa_bits)


def smallest_code(fmt: ElementFormat) -> int:
    """C, where all numbers below 2**(1 - C), half of the format's smallest number, round alike."""
    return 2 - (fmt.emin - fmt.mantissa_bits)


def _first(fmt: ElementFormat, layout: FloatLayout, up: int, powers: ScaleFormat) -> int:
    """The first scale code under which keys give the right codes; negative if all do."""
    return smallest_code(fmt) - up + powers.bias - layout.bias


@functools.lru_cache(maxsize=128)
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


@functools.lru_cache(maxsize=128)
def _codes(fmt: ElementFormat, policy: ElementPolicy, kept: int, bits: int) -> U8:
    """Element codes by key: sign, exponent field counted from -C, significand; (2, 2**bits)."""
    c, least = smallest_code(fmt), fmt.mantissa_bits + 2
    fields = min(1 << bits - kept, c + fmt.emax + 3)  # from the last one on everything overflows
    key = np.arange(fields << least)
    field = key >> least
    significand = key & ((1 << least) - 1) | (field > 0).astype(np.int64) << least
    exponent = np.maximum(field, 1) - c - least
    longer = to_odd(np.arange(fields << kept), kept - least)
    signs = []
    for negative in (False, True):
        parts = Parts.finite(np.full(key.shape, negative), significand, exponent)
        codes = encode_parts(parts, fmt, policy)[longer]
        signs.append(np.pad(codes, (0, (1 << bits) - codes.size), "edge"))
    return np.stack(signs)


@dataclass(frozen=True, slots=True, eq=False)
class KeyTables:
    """Tables of `quantize_keyed`.

    Args:
        layout: of the patterns.
        steps: scale words by amax.
        words: scale words by the largest key of a block.
        largest: the word of blocks with the largest scale whatever their amax, if there may be any.
        drop: low bits that keys leave out; -1 if keys have one more.
        word: the dtype of keys and indices.
        magnitude: the bits of a key.
        is_full: whether a key fills its word, so that the sign has no bit above it.
        sign: the bit of the sign in indices; if `is_full`, no key has it after the subtraction.
        is_signed: whether what the scale codes subtract is subtracted from keys with their sign.
        less: what the scale codes subtract from keys.
        table: codes by index.
        one_floor: whether numbers below the smallest key have the codes of zero.
        zeros: the codes of zero and -0.
        nan_block: the code of all elements of NaN blocks.
    """

    layout: FloatLayout
    steps: ScaleSteps
    words: Words
    largest: int
    drop: int
    word: np.dtype[Any]
    magnitude: Bits
    is_full: bool
    sign: Bits
    is_signed: bool
    less: Bits
    table: U8
    one_floor: bool
    zeros: U8
    nan_block: int


@functools.lru_cache(maxsize=128)
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
        layout: a layout that `keyed_layout` gives.
        powers: the format of the scales.
        is_scaled_up: whether the numbers were multiplied by 2**64.
    """
    kept, up = _kept(fmt, layout), UP if is_scaled_up else 0
    steps, first = _steps(fmt, scale, layout, up, powers), _first(fmt, layout, up, powers)
    bits, count = layout.exponent_bits + kept, 1 << layout.exponent_bits
    less = np.minimum(np.maximum(np.arange(256) - first, 0) << kept, (1 << bits) - 1)
    computed = scale.block_inf is not BlockInf.LARGEST_SCALE or powers.max_code < first
    computed |= scale.scaling is Scaling.RECIPROCAL_FLUSHED
    largest = OTHER if computed else powers.max_code
    # The largest key after the subtraction in blocks with a scale code: no element has a larger one
    # than amax, which is in a binade that gives the code.
    words, last = np.append(steps.table, largest), np.resize(np.arange(1, count + 1), 2 * count + 1)
    last[-1] = count
    words, last = words[words <= 0xFF], last[words <= 0xFF]
    most, farthest = ((last << kept) - 1 - less[words]).max(initial=0), less[words].max(initial=0)
    is_full = bits == 16 and bool(most < 1 << 15)
    word: np.dtype[Any] = np.dtype(np.uint16 if bits < 16 or is_full else np.uint32)
    place = min(bits, 8 * word.itemsize - 1)
    codes = _codes(fmt, element, kept, place)
    zeros, smallest = codes[:, :2].T
    one_floor = np.array_equal(zeros, smallest)
    is_signed = bits == 15 and one_floor and bool(most + farthest < 1 << 15)
    if is_signed:
        table = _signed(fmt, element, kept, int(most), int(farthest))
    else:
        table = codes.reshape(-1)
    return KeyTables(
        layout=layout,
        steps=steps,
        words=_words_by_key(steps, kept),
        largest=largest,
        drop=layout.mantissa_bits - kept,
        word=word,
        magnitude=np.array((1 << bits) - 1, word),  # quicker than a scalar in a short call
        is_full=is_full,
        sign=np.array(1 << place, word),
        is_signed=is_signed,
        less=less.astype(word),
        table=table,
        one_floor=one_floor,
        zeros=zeros,
        nan_block=fmt.code_count - 1 if scale.nan_block_codes is NaNBlockCodes.ONES else 0,
    )


@functools.lru_cache(maxsize=128)
def _signed(fmt: ElementFormat, policy: ElementPolicy, kept: int, most: int, farthest: int) -> U8:
    """Codes by key with its sign after the subtraction, modulo 2**16."""
    codes = _codes(fmt, policy, kept, 15)
    table, key = np.zeros(1 << 16, np.uint8), np.arange(-farthest, most + 1)
    for sign in (0, 1):
        table[(sign << 15) + key & 0xFFFF] = codes[sign, np.maximum(key, 0)]
    return table


def keyed_layout(fmt: ElementFormat, layout: FloatLayout) -> FloatLayout:
    """The layout whose patterns have keys: the numbers' own, or float32."""
    few = layout.exponent_bits < F32.exponent_bits or layout.mantissa_bits <= fmt.mantissa_bits
    return F32 if few else layout


@functools.lru_cache(maxsize=128)
def _words_by_key(steps: ScaleSteps, kept: int) -> Words:
    """Scale words by the key of amax; UNSURE where numbers with the key have different ones.

    The numbers with an odd key lie between its neighbours, in one binade, which has two words at
    most: if the first and the last number have the same, then all have it.
    """
    layout, drop = steps.layout, steps.layout.mantissa_bits - kept
    first, last = steps.table.reshape(2, -1)
    words, two = np.repeat(first, 1 << kept).reshape(first.size, -1), np.flatnonzero(first != last)
    key = np.arange(words.size).reshape(words.shape)[two]
    if drop <= 0:
        words[two] = steps.words((key >> -drop).astype(layout.uint))
        return words.reshape(-1)
    odd = key & 1
    low = steps.words(((key - odd << drop) + odd).astype(layout.uint))
    high = steps.words(((key + odd << drop) - odd).astype(layout.uint))
    words[two] = np.where(low == high, low, np.int32(UNSURE))
    return words.reshape(-1)


@functools.lru_cache(maxsize=128)
def rows_of_less(tables: KeyTables, size: int) -> Bits:
    """What is subtracted from each key of a row, by scale code."""
    return np.repeat(tables.less[:, np.newaxis], size, axis=1)
