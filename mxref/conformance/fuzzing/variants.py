"""Blocks made from a block: one for each lane, significand or distance at which a kernel may fail.

Each function takes the patterns of a block, and gives blocks of the same float type, one a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.bits.simplicity import lowest_exponent
from mxref.strategies.for_blocks import shifted

__all__ = ["EACH_LANE", "VARIANTS", "turns"]

Words = NDArray[np.uint64]

#: Significands of the largest element, evenly spaced.
_SIGNIFICANDS = 128
#: The nearest distance in binades of an element far below the largest one.
_NEAR = 20
#: The exponent of the largest element from which on all scales are tried.
_LOWEST = -140
#: Steps of a ramp, eight to a binade: one binade more than E4M3 has.
_RAMP = 8 * 20


def turns(block: Words) -> Words:
    """All rotations of a block but the block itself.

    >>> turns(np.array([1, 2, 3], np.uint64)).tolist()
    [[2, 3, 1], [3, 1, 2]]
    """
    size = len(block)
    found: Words = block[(np.arange(1, size)[:, np.newaxis] + np.arange(size)) % size]
    return found


def _largest(block: Words, layout: FloatLayout) -> int:
    """The largest finite magnitude, at least that of the smallest normal number."""
    magnitudes = block & np.uint64(layout.sign_bit - 1)
    finite = magnitudes[magnitudes < layout.inf_bits]
    return max(int(finite.max(initial=0)), 1 << layout.mantissa_bits)


def _times(magnitude: int, binades: int, layout: FloatLayout) -> int:
    """A normal magnitude times a power of two, within the normal numbers."""
    field = (magnitude >> layout.mantissa_bits) + binades
    top = (layout.inf_bits >> layout.mantissa_bits) - 1
    fraction = magnitude & ((1 << layout.mantissa_bits) - 1)
    return min(max(field, 1), top) << layout.mantissa_bits | fraction


def _without_specials(block: Words, layout: FloatLayout) -> Words:
    return np.where(block & np.uint64(layout.sign_bit - 1) >= layout.inf_bits, np.uint64(0), block)


def _largest_in_every_lane(block: Words, layout: FloatLayout) -> Words:
    """In every lane one element far above all others, of either sign."""
    block, lanes = _without_specials(block, layout), np.arange(len(block))
    limit = _times(layout.inf_bits - 1, -2, layout)
    block = np.where(block & np.uint64(layout.sign_bit - 1) > limit, np.uint64(0), block)
    above = _times(_largest(block, layout), 2, layout)
    rows = np.tile(block, (2 * len(block), 1))
    rows[lanes, lanes], rows[len(block) + lanes, lanes] = above, above | layout.sign_bit
    return rows


def _pairs(block: Words, layout: FloatLayout) -> Words:
    """Two largest elements, equal or of opposite sign, in every lane and another one."""
    rows = _largest_in_every_lane(block, layout)
    size = len(block)
    lanes = np.arange(size)
    for first, distance in ((0, 1), (size, size // 2)):
        some = rows[first : first + size]
        other = (lanes + distance) % size
        flip = np.where(lanes % 2 == 0, np.uint64(0), np.uint64(layout.sign_bit))
        some[lanes, other] = some[lanes, lanes] ^ flip
    return rows


def _significands(block: Words, layout: FloatLayout) -> Words:
    """One largest element whose significand goes through a binade; others are below that binade."""
    block = _without_specials(block, layout)
    magnitudes = block & np.uint64(layout.sign_bit - 1)
    lane = int(np.argmax(magnitudes))
    field = _largest(block, layout) >> layout.mantissa_bits
    below = np.where(magnitudes >> np.uint64(layout.mantissa_bits) >= field, np.uint64(0), block)
    rows = np.tile(below, (_SIGNIFICANDS, 1))
    steps = np.arange(_SIGNIFICANDS, dtype=np.uint64) << np.uint64(layout.mantissa_bits - 7)
    tail = block[lane] & np.uint64((1 << (layout.mantissa_bits - 7)) - 1)
    sign = block[lane] & np.uint64(layout.sign_bit)
    rows[:, lane] = sign | np.uint64(field << layout.mantissa_bits) | steps | tail
    return rows


def _far_below(block: Words, layout: FloatLayout) -> Words:
    """In every lane elements 20 to 83 binades below the largest: 1, 1.5 and all ones.

    Those that the float type cannot hold are subnormal numbers with fewer bits, or zeros.
    """
    size, finite = len(block), _without_specials(block, layout)
    rows, m = np.tile(finite, (64, 1)), layout.mantissa_bits
    high = int(np.argmax(finite & np.uint64(layout.sign_bit - 1)))
    for i, row in enumerate(rows):
        field = (_largest(finite, layout) >> m) - _NEAR - i
        significand = 1 << m | (0, 1 << (m - 1), (1 << m) - 1)[i % 3]
        magnitude = significand + ((field - 1) << m) if field > 0 else significand >> (1 - field)
        row[(high + 1 + i % (size - 1)) % size] = magnitude | layout.sign_bit * (i // 3 % 2)
    return rows


def _scales(block: Words, layout: FloatLayout) -> Words:
    """The block times powers of two, so that it gets every scale that the float type allows."""
    block = _without_specials(block, layout)
    own = (_largest(block, layout) >> layout.mantissa_bits) - layout.bias
    low, high = max(lowest_exponent(layout), _LOWEST), min(layout.bias, -_LOWEST)
    shifts = np.arange(low, high + 1) - own
    words = np.tile(block.astype(layout.uint), (len(shifts), 1))
    return shifted(words, shifts[:, np.newaxis], layout).astype(np.uint64)


def _ramps(block: Words, layout: FloatLayout) -> Words:
    """In every lane magnitudes of eight to a binade, down from the largest element's."""
    lanes, shift = np.arange(len(block)), layout.mantissa_bits - 3
    largest = _largest(block, layout)
    numbers = np.arange(_RAMP)[:, np.newaxis]
    steps = (numbers + 5 * lanes) % _RAMP
    steps[lanes == numbers % len(block)] = 0
    magnitudes = np.maximum((largest >> shift) - steps, 0) << shift | largest & ((1 << shift) - 1)
    signs = np.where((numbers // 3 + lanes) % 2 == 0, np.uint64(0), np.uint64(layout.sign_bit))
    found: Words = magnitudes.astype(np.uint64) | signs
    return found


def _specials(block: Words, layout: FloatLayout) -> Words:
    """In every lane NaN, infinities, and NaN beside infinity; half of them beside zeros.

    Then blocks of nothing else: NaN, infinity, both.
    """
    size, finite = len(block), _without_specials(block, layout)
    rows = np.tile(finite, (4 * size + 3, 1))
    rows[1::2] = 0
    lanes = np.arange(size)
    infinity, nan = np.uint64(layout.inf_bits), np.uint64(layout.nan_bits)
    for kind, special in enumerate((nan, infinity, infinity | np.uint64(layout.sign_bit), nan)):
        rows[kind * size + (lanes * 5 + kind) % size, lanes] = special
    beside = 3 * size + (lanes * 5 + 3) % size
    rows[beside, (lanes + 1) % size] = infinity
    rows[-3:] = np.where(
        lanes % 2 == 0, [[nan], [infinity], [nan]], [[nan], [infinity], [infinity]]
    )
    return rows


def _alone(block: Words, layout: FloatLayout) -> Words:
    """Every element beside zeros; zeros after the block, and the block after zeros."""
    size = len(block)
    rows = np.zeros((size + 4, size), np.uint64)
    rows[np.arange(size), np.arange(size)] = block
    rows[[size, size + 2]] = block
    return rows


#: Those that give a block or more for each lane: the square of its elements.
EACH_LANE = frozenset({"turns", "largest", "pairs", "alone", "specials"})
#: Functions from a block and its float type to blocks.
VARIANTS: Mapping[str, Callable[[Words, FloatLayout], Words]] = {
    "none": lambda block, layout: block[np.newaxis][:0],
    "turns": lambda block, layout: turns(block),
    "largest": _largest_in_every_lane,
    "pairs": _pairs,
    "significands": _significands,
    "far": _far_below,
    "scales": _scales,
    "alone": _alone,
    "ramps": _ramps,
    "specials": _specials,
}
