"""splitmix64: random bits that are the same on every machine and with every NumPy version."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from mxref.support.distinct import distinct

__all__ = ["below", "drawn_order", "first_output", "splitmix64"]

_INCREMENT, *_FACTORS = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# Arrays, with which NumPy begins to compute sooner than with scalars.
_STEP, _FIRST, _SECOND, _30, _27, _31 = (
    np.array(one, np.uint64) for one in (_INCREMENT, *_FACTORS, 30, 27, 31)
)
_MASK = (1 << 64) - 1
#: Outputs that are made at a time, which stay in the cache.
_PART = 1 << 14
#: Orders that are kept, since calls of one size are made for every operation and format.
_KEPT = 512


def splitmix64(seed: int, count: int, start: int = 0) -> NDArray[np.uint64]:
    """Outputs `start` to `start + count - 1` of the generator with a seed.

    Output i depends on ``seed + (i + 1) * step`` only, so any part can be computed alone.

    Args:
        seed: from 0 to 2**64 - 1.
        count: number of outputs.
        start: the first output.

    Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014.

    >>> [f"{word:016x}" for word in splitmix64(0, 3)]
    ['e220a8397b1dcdaf', '6e789e6aa1b965f4', '06c45d188009454f']
    """
    if count == 1:  # in Python, which takes a quarter of the time
        return np.array([first_output(seed + start * _INCREMENT)], np.uint64)
    found = np.empty(count, np.uint64)
    room = np.empty(min(count, _PART), np.uint64)
    steps = _steps()
    for first in range(0, count, _PART):
        state = found[first : first + _PART]
        shifted = room[: len(state)]
        begin = np.array(seed + (start + first) * _INCREMENT & _MASK, np.uint64)
        np.add(steps[: len(state)], begin, state)
        for shift, factor in ((_30, _FIRST), (_27, _SECOND)):
            state ^= np.right_shift(state, shift, shifted)
            state *= factor
        state ^= np.right_shift(state, _31, shifted)
    return found


@functools.cache
def _steps() -> NDArray[np.uint64]:
    """The first multiples of the step, which begin every part."""
    return np.arange(1, _PART + 1, dtype=np.uint64) * _STEP


def below(words: NDArray[np.uint64], limit: int) -> NDArray[np.int64]:
    """The remainders of words, in their memory, as integers from 0 to limit - 1.

    >>> below(splitmix64(0, 3), 10).tolist()
    [5, 0, 9]
    """
    if limit & limit - 1:
        words %= np.array(limit, np.uint64)
    else:  # which takes a tenth of the time
        words &= np.array(limit - 1, np.uint64)
    return words.view(np.int64)


def first_output(seed: int) -> int:
    """The first output of the generator with a seed, in Python.

    >>> f"{first_output(0):016x}"
    'e220a8397b1dcdaf'
    """
    state = seed + _INCREMENT & _MASK
    state = (state ^ state >> 30) * _FACTORS[0] & _MASK
    state = (state ^ state >> 27) * _FACTORS[1] & _MASK
    return state ^ state >> 31


@functools.lru_cache(maxsize=_KEPT)
def drawn_order(seed: int, size: int, count: int) -> NDArray[np.int64]:
    """The numbers below `size` in a random order: the first `count` of them, not to be written to.

    They are in the order of the outputs of `splitmix64`, no two of which are equal.

    >>> drawn_order(0, 5, 3).tolist()
    [2, 4, 1]
    """
    words = splitmix64(seed, size)
    bound = (2 * count + 32 << 64) // max(size, 1)  # twice as many are smaller, on average
    if bound < 1 << 64:
        few = np.flatnonzero(words < np.uint64(bound))
        if few.size >= count:
            return _frozen(few[np.argsort(words[few], kind="stable")[:count]])
    # The upper halves are sorted by radix, a quarter after the other; then those that are equal.
    upper = (words >> np.uint64(32)).astype(np.uint32)
    order = np.argsort(upper.astype(np.uint16), kind="stable")
    order = order[np.argsort((upper >> 16).astype(np.uint16)[order], kind="stable")]
    upper = upper[order]
    equal = np.flatnonzero(upper[1:] == upper[:-1])
    if equal.size:
        places = distinct(np.concatenate([equal, equal + 1]))
        some = order[places]
        order[places] = some[np.argsort(words[some], kind="stable")]
    return _frozen(order[:count])


def _frozen(array: NDArray[np.int64]) -> NDArray[np.int64]:
    array.flags.writeable = False
    return array
