"""Quantization by keys: a table lookup and a dozen integer operations per element.

An element's key is its magnitude's pattern rounded to odd in its top bits (see `to_odd`). Keys are
ordered as magnitudes are, so the largest key of a block is that of its largest magnitude, and a
block's scale word is looked up by it. Where numbers with one key have different scales the word is
UNSURE, and comes from `ScaleSteps` and the largest magnitude itself.

Division by the scale is subtraction from the key's exponent field. Keys count exponents from -C,
where 2**(1 - C) is half of the format's smallest number. All numbers between zero and that half
round alike, so smaller keys are replaced by the smallest one, or by that of zero if both have the
same code. A key is right if its number is normal in its own type or below 2**(1 - C), and if the
number subtracted is not negative. This holds

- in float32 and bfloat16 under scale codes from C on, where subnormal numbers are below 2**(1 - C);
- under smaller scale codes, once the numbers are multiplied by 2**64;
- in float64 under every scale code: its subnormal numbers are far smaller.

The index of a code is its key with a bit for the sign above it. Keys of INT8 take all 16 bits of a
word. After the subtraction they leave its top bit free in every block that has a scale code, or the
tables choose 32 bits.

One subtraction is enough (`is_signed`) where keys have 15 bits, the sign above them, and numbers
below the smallest key have the code of zero. If F is the most that is subtracted, and M the largest
key after it, results modulo 2**16 are from -F to M without the sign and from 2**15 - F to 2**15 + M
with it. They differ if M + F is below 2**15, and the table has codes of zero where keys are
negative.

Blocks with NaN or infinity that are not NaN blocks, and an amax that has no scale word, are
computed in other ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, U8, Bits, Bool, to_odd
from mxref.bits.keys import halves, ones
from mxref.blocks.key_tables import UNSURE, UP, KeyTables, rows_of_less
from mxref.numbers.scale_steps import FLUSHED, NAN_BLOCK, Words
from mxref.support.scratch import scratch

#: 2**64 times the smallest number of float32; `pow` might round.
_SMALLEST = np.float32(float.fromhex("0x1p-85"))
#: Words whose largest Python finds more quickly than NumPy.
_ONE_BY_ONE = 32
#: Elements of the longest row that has its own copies of what is subtracted.
_SHORT = 64
#: Elements of the fewest blocks whose maxima are found by halves.
_FEW = 1 << 11
_INDEX = np.dtype(np.intp)


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
    shape, (_, size, beside) = blocks.shape, blocks.shape
    keys, signs = _keys_and_signs(blocks, tables)
    words = tables.words.take(maxima(keys), mode="clip")
    most = max(words.reshape(-1).tolist()) if words.size < _ONE_BY_ONE else int(words.max())
    if most >= UNSURE:
        _make_sure(words, blocks, tables)
        most = int(words.max())
    if largest is not None:
        words[largest] = tables.largest
        most = int(words.max())

    if beside == 1 and size <= _SHORT:  # long operands are fast
        less = scratch("less", (len(blocks), size), tables.word)
        rows_of_less(tables, size).take(words[:, 0], axis=0, out=less, mode="clip")
        less = less[..., np.newaxis]
    else:
        less = tables.less.take(words, mode="clip")[:, np.newaxis]
    if tables.is_signed:
        np.subtract(signs, less, out=keys)
    else:
        least = scratch("spare", shape, tables.word)
        if not tables.one_floor:
            np.minimum(keys, ones(keys.size, tables.word).reshape(shape), out=least)
        np.maximum(keys, less, out=keys)
        np.subtract(keys, less, out=keys)
        if not tables.one_floor:
            np.maximum(keys, least, out=keys)
        np.bitwise_or(keys, signs, out=keys)
    codes = np.empty(shape, np.uint8) if out is None else out
    index = scratch("index", shape, _INDEX)
    np.copyto(index, keys, casting="same_kind")
    tables.table.take(index, out=codes, mode="wrap")  # quicker than to raise: none is too large
    plain = most <= 0xFF
    if not plain:
        _fill(codes, blocks, words, tables)
    return words, codes, plain


def _keys_and_signs(blocks: NDArray[Any], tables: KeyTables) -> tuple[Bits, Bits]:
    """The keys of magnitudes, and signed keys or only the bits of signs in indices.

    Patterns lie in the memory that the indices overwrite later.
    """
    shape, word, drop = blocks.shape, tables.word, tables.drop
    keys, signs = scratch("key", shape, word), scratch("signs", shape, word)
    source = signs
    if drop == 16 - tables.is_full and blocks.itemsize == 2 * word.itemsize:
        halves(blocks, scratch("index", shape, blocks.dtype), signs, keys)
        if tables.is_full:  # the next bit is a key's last: set if it or a lower one is
            upper = np.left_shift(signs, 1, out=scratch("spare", shape, word))
            np.bitwise_or(upper, keys, out=keys)
        else:
            np.bitwise_or(signs, keys, out=signs)
    elif drop > 0:
        wide = scratch("index", shape, blocks.dtype)
        np.copyto(keys, to_odd(blocks, drop, out=wide), casting="same_kind")
        np.copyto(signs, np.right_shift(wide, int(tables.is_full), out=wide), casting="same_kind")
    elif blocks.dtype == word:
        source = blocks
        if tables.is_full:
            np.left_shift(blocks, 1, out=keys)
    else:
        np.left_shift(blocks, -drop, out=signs, dtype=word)
    if not tables.is_full:  # else a key has no room for the sign
        np.bitwise_and(source, tables.magnitude, out=keys)
    return keys, source if tables.is_signed else np.bitwise_and(source, tables.sign, out=signs)


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
    normal = magnitude + np.uint32(UP << 23)
    result = np.where(magnitude < np.uint32(1 << 23), small.view(np.uint32), normal)
    return np.asarray(result | (bits & np.uint32(F32.sign_bit)), np.uint32)


def maxima(magnitude: NDArray[Any]) -> NDArray[Any]:
    """The largest along the middle axis, by halves while it can be halved: reductions are slow."""
    m, size, n = magnitude.shape
    if magnitude.size < _FEW:
        return np.asarray(np.maximum.reduce(magnitude, axis=1))
    if n == 1 and size >= 8 and not size & (size - 1):
        return _row_maxima(magnitude.reshape(-1), size)
    spare = scratch("spare", magnitude.size, magnitude.dtype)
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


def _row_maxima(flat: NDArray[Any], size: int) -> NDArray[Any]:
    """The largest of each row; `size`, the length of rows, is a power of two.

    Every number is compared with the one half a row on, a quarter of a row on, and so forth, until
    the largest of each row is within its first 8 bytes. Most results are unused, but operands stay
    long.
    """
    spares = [scratch(name, flat.size, flat.dtype) for name in ("spare", "index")]
    every, item, further = flat, 8 // flat.itemsize, size // 2
    while further >= item:
        count = every.size - further
        every = np.maximum(every[:count], every[further:], out=spares[0][:count])
        spares, further = spares[::-1], further // 2
    every = every.view(np.uint64)[:: size // item].copy().view(flat.dtype)
    while further:
        every, further = np.maximum(every[:-further], every[further:]), further // 2
    return every[::item, np.newaxis]
