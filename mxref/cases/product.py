"""The block product: blocks that pair every scale code with every element under it.

The blocks are complete if an element's code depends on its block's scale code and on x only, as the
standard says; varied neighbours test that assumption. The code then depends on x / scale, and only
on its odd-rounded key: sign, exponent and first fraction bits, the last one sticky, two or more
beyond the format's precision, which decides every rounding (see `mxref.bits.floats.to_odd`). Every
pair (scale code, key) of a float32 block stands in one block: `scale_range` gives the amax of each
scale code, `reachable` one number for each key under it. No pair exists for quotients above the
limit of the scale rule and for quotients that no float32 has; quotients below the keys' subnormals
share the smallest key. Infinities and NaN are left to level 1: under `ocp` their blocks have no
element codes.

Of float16 and bfloat16 the elements are not keys but all numbers, each under every scale that a
block with this number can have.

In each block one element is the largest and fixes the scale, 31 others run through the keys. The
neighbours, the float32 that stands for a key's interval, and the place, sign and size of the
largest element vary from block to block, by a fixed permutation and fixed splitmix64 words.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, LAYOUTS, FloatLayout, floor_log2, split
from mxref.cases.steps import steps
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, ElementFormat
from mxref.operands.splitmix import splitmix64
from mxref.policy.policy import Policy

__all__ = [
    "every_number",
    "key_layout",
    "product_blocks",
    "reachable",
    "scale_blocks",
    "scale_range",
    "with_largest",
]

U32 = NDArray[np.uint32]


def key_layout(fmt: ElementFormat) -> FloatLayout:
    """Odd-rounded keys: 16 bits, 17 where the format has more than 5 fraction bits (INT8)."""
    return FloatLayout("key", F32.exponent_bits, max(7, fmt.mantissa_bits + 2))


@functools.cache
def scale_range(
    fmt: ElementFormat, policy: Policy, float: str = F32.name
) -> tuple[tuple[int, int, int], ...]:
    """The scale codes of blocks of a float type, each with its first and last amax pattern.

    A code that wraps around is listed once for each range of amax that gives it.

    >>> from mxref.formats.catalog import E2M1
    >>> ranges = scale_range(E2M1, Policy())
    >>> len(ranges), [f"{n:x}" for n in ranges[125]]  # amax from 1 to just below 2: scale 2**-2
    (253, ['7d', '3f800000', '3fffffff'])
    """
    found = steps("shared_scale", fmt.name, float, policy).runs(1, LAYOUTS[float].inf_bits)
    return tuple((code, first, end - 1) for first, end, code in found)


@functools.cache
def _permuted_keys(width: int) -> NDArray[np.int64]:
    """Every key in a scrambled order: multiplications by odd numbers, which are bijections."""
    mask = (1 << width) - 1
    keys = np.arange(1 << width, dtype=np.int64)
    keys = keys * 0x9E3B & mask
    keys ^= keys >> (width // 2)
    return keys * 0x6A57 & mask


def reachable(fmt: ElementFormat, code: int, largest: int) -> U32:
    """Float32 patterns under a scale code, one for each possible key.

    Args:
        fmt: the element format.
        code: the scale code.
        largest: the largest magnitude pattern that the scale code allows.
    """
    layout = key_layout(fmt)
    drop = F32.mantissa_bits - layout.mantissa_bits
    # Another order for every scale code.
    order = _permuted_keys(layout.width) ^ (code * 0x2B5 & ((1 << layout.width) - 1))
    magnitude = order & (layout.sign_bit - 1)
    order = order[magnitude < layout.inf_bits]
    key = order & (layout.sign_bit - 1)
    parts = split(key.astype(np.uint64), layout)
    # The quotient with 24 bits, and the exponent field of quotient times scale.
    shift = F32.mantissa_bits - floor_log2(parts.significand)
    n = parts.significand << shift
    field = parts.exponent - shift + F32.mantissa_bits + F32.bias + code - E8M0.bias
    # A normal odd key is an open interval two units wide, within one binade.
    unit = np.int64(1) << drop
    is_interval = (key & 1 == 1) & (shift == drop)
    lowest = np.where(is_interval, n - unit + 1, n)
    words = splitmix64(code, key.size).view(np.int64) & (2 * unit - 1)
    inside = np.where(is_interval, lowest + np.minimum(words, 2 * unit - 2), n)
    fraction = (1 << F32.mantissa_bits) - 1
    lowest, inside = (field << F32.mantissa_bits | (m & fraction) for m in (lowest, inside))
    pattern = np.where(lowest <= largest, np.minimum(inside, largest), F32.inf_bits)
    # A subnormal number must equal its quotient: subnormals are no closer than a key's two ends.
    down = np.clip(1 - field, 0, 62)
    small = n >> down
    is_float = (small << down == n) & (small <= largest)
    pattern = np.where(field < 1, np.where(is_float, small, F32.inf_bits), pattern)
    pattern = np.where(key == 0, 0, pattern)
    sign = (order >> (layout.width - 1)) << (F32.width - 1)
    found: U32 = (pattern | sign)[pattern < F32.inf_bits].astype(np.uint32)
    return found


def product_blocks(block: str, policy: Policy) -> Iterator[U32]:
    """The blocks of float32 patterns, one a row, one array for each scale code.

    Source: OCP MX v1.0 6.3.
    """
    fmt = BLOCK_FORMATS[block].element
    for code, first, last in scale_range(fmt, policy):
        yield scale_blocks(fmt, code, first, last)


def scale_blocks(
    fmt: ElementFormat, code: int, first: int, last: int, float: str = F32.name, size: int = 32
) -> U32:
    """The blocks under the scale code of every amax from `first` to `last`."""
    layout = LAYOUTS[float]
    others = reachable(fmt, code, last) if layout is F32 else every_number(layout, code, last)
    return with_largest(others, code + 256, first, last, layout, size)


def with_largest(
    others: U32, seed: int, first: int, last: int, layout: FloatLayout, size: int
) -> U32:
    """Blocks of numbers, each with one more that is the largest, from `first` to `last`.

    Args:
        others: the numbers, at most `last` in magnitude; zeros are added at the end.
        seed: where the words that choose the largest ones begin.
        first: the smallest pattern of a largest one.
        last: the largest pattern.
        layout: the float type.
        size: numbers of a block, with the largest one.
    """
    count = -(-others.size // (size - 1))
    rows = np.zeros((count, size - 1), np.uint32)
    rows.reshape(-1)[: others.size] = others
    words = splitmix64(seed, count)
    magnitudes = rows & np.uint32(layout.sign_bit - 1)
    low = np.maximum(magnitudes.max(axis=1), first).astype(np.uint64)
    # One in four has the largest amax, one in four the smallest; the others lie between.
    amax = low + (words >> np.uint64(8)) % (np.uint64(last + 1) - low)
    choice = words & np.uint64(3)
    amax = np.where(choice == 0, np.uint64(last), np.where(choice == 1, low, amax))
    amax |= (words >> np.uint64(2) & np.uint64(1)) << np.uint64(layout.width - 1)
    position = np.arange(count) * 5 % size
    blocks = np.empty((count, size), np.uint32)
    is_largest = np.arange(size) == position[:, np.newaxis]
    blocks[~is_largest] = rows.reshape(-1)
    blocks[is_largest] = amax.astype(np.uint32)
    return blocks


def every_number(layout: FloatLayout, code: int, largest: int) -> U32:
    """Every number of 16 bits up to a magnitude, of both signs, in another order for every code."""
    order = _permuted_keys(layout.width) ^ (code * 0x2B5 & ((1 << layout.width) - 1))
    found: U32 = order[order & (layout.sign_bit - 1) <= largest].astype(np.uint32)
    return found
