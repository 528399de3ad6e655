"""Blocks that put given numbers, and largest magnitudes, in every place.

All numbers are patterns of one float type, and the largest magnitude of every block is one of a
range `first` to `last`, so that all blocks have one scale.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import BF16, FloatLayout
from mxref.cases.product import every_number
from mxref.operands.splitmix import splitmix64

__all__ = ["at_every_place", "below", "largest_at_every_place", "near", "numbers", "specials"]

Words = NDArray[np.uint64]


def below(number: Fraction, layout: FloatLayout) -> int:
    """The pattern of the largest float that is at most a number of 0 or more.

    >>> from mxref.bits.floats import F32
    >>> hex(below(Fraction(1, 3), F32)), hex(below(Fraction(3), F32))
    ('0x3eaaaaaa', '0x40400000')
    """
    if number == 0:
        return 0
    binade = number.numerator.bit_length() - number.denominator.bit_length()
    if Fraction(2) ** binade > number:
        binade -= 1
    binade = max(binade, layout.emin)
    count = int(number / Fraction(2) ** (binade - layout.mantissa_bits))
    # Consecutive numbers have consecutive patterns: the hidden bit adds one to the field.
    return min((binade - layout.emin << layout.mantissa_bits) + count, layout.inf_bits)


def near(changes: Iterable[int], spots: Iterable[int], last: int, layout: FloatLayout) -> Words:
    """Two numbers on either side of changes and of spots, with both signs.

    Args:
        changes: patterns of the first numbers with another answer.
        spots: patterns of the last numbers at or below something.
        last: the largest pattern.
        layout: the float type.
    """
    starts = {*changes, *(bits + 1 for bits in spots)}
    found = {bits + i for bits in starts for i in (-2, -1, 0, 1)} | {0, 1, last - 1, last}
    one = np.array(sorted(bits for bits in found if 0 <= bits <= last), np.uint64)
    return np.stack([one, one | np.uint64(layout.sign_bit)], axis=1).reshape(-1)


def at_every_place(points: Words, first: int, last: int, layout: FloatLayout, size: int) -> Words:
    """Blocks with every number in every place, and besides in each a largest one.

    A block lacks the number whose place the largest one takes, but not twice: the places of the
    largest ones of both halves differ. It is `last` in the first half. In the second half it is the
    block's own, or `first` if that is larger.
    """
    n = len(points)
    row = np.arange(n)
    blocks = points[(row[:, np.newaxis] + np.arange(size)) % n]
    sign = (row // size % 2).astype(np.uint64) << np.uint64(layout.width - 1)
    own = (blocks & np.uint64(layout.sign_bit - 1)).max(axis=1)
    halves = []
    for largest, place in ((last, row % size), (np.maximum(own, first), (row + size // 2) % size)):
        half = blocks.copy()
        half[row, place] = np.asarray(largest, np.uint64) | sign
        halves.append(half)
    return np.concatenate(halves)


def largest_at_every_place(
    points: Words, first: int, last: int, layout: FloatLayout, size: int
) -> Words:
    """Blocks whose largest magnitudes are both ends of a range, and the numbers beside these.

    Each stands in every place, with both signs; of a float type of 16 bits every number of the
    range stands in one place. The others are those of the points that are not above `first`.
    """
    sign_bit = np.uint64(layout.sign_bit)
    small = points[(points & (sign_bit - np.uint64(1))) <= first]
    ends = sorted({n for n in (first, first + 1, last - 1, last) if first <= n <= last})
    largest = np.repeat(np.array([*ends, *(n | layout.sign_bit for n in ends)], np.uint64), size)
    place = np.arange(len(largest)) % size
    if layout.width == 16:
        every = np.arange(first, last + 1, dtype=np.uint64)
        signs = splitmix64(first, len(every)) & sign_bit
        largest = np.concatenate([largest, every | signs])
        place = np.concatenate([place, np.arange(len(every)) % size])
    rows = np.arange(len(largest))
    blocks: Words = small[(rows[:, np.newaxis] * (size - 1) + np.arange(size)) % len(small)]
    blocks[rows, place] = largest
    return blocks


def numbers(seed: int, last: int, layout: FloatLayout) -> NDArray[np.uint32]:
    """Every number of 16 bits up to a magnitude, of both signs, in an order that the seed gives.

    Of float32 that is one number for each upper half, with a lower half that the seed gives.
    """
    if layout.width == 16:
        return every_number(layout, seed, last)
    upper = every_number(BF16, seed, last >> 16)
    found = upper << np.uint32(16) | (splitmix64(seed, len(upper)) >> np.uint64(48)).astype("u4")
    kept: NDArray[np.uint32] = found[found & np.uint32(layout.sign_bit - 1) <= last]
    return kept


def specials(ordinary: int, layout: FloatLayout, size: int) -> Words:
    """Blocks of zeros, and with infinities and NaN of both signs in every place.

    These stand alone, among zeros and among ordinary numbers; and NaN behind an infinity.
    """
    sign_bit = np.uint64(layout.sign_bit)
    signs = np.arange(size, dtype=np.uint64) % np.uint64(2) * sign_bit
    zeros = np.zeros(size, np.uint64)
    found = [np.stack([zeros, zeros + sign_bit, zeros | signs])]
    place = np.arange(size)
    for rest in (zeros, signs | np.uint64(ordinary)):
        for bits in (layout.inf_bits, layout.nan_bits):
            for sign in (np.uint64(0), sign_bit):
                blocks = np.tile(rest, (size, 1))
                blocks[place, place] = np.uint64(bits) | sign
                found.append(blocks)
    both = np.tile(signs | np.uint64(ordinary), (size, 1))
    both[place, place] = np.uint64(layout.inf_bits)
    both[place, (place + 1) % size] = np.uint64(layout.nan_bits)
    return np.concatenate([*found, both])
