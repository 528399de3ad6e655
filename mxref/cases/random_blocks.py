"""Random blocks of floats of all magnitudes and spreads, the same on every machine.

Block i of a name depends on the name and on i only. One block in four has its largest element at an
edge: within 50 ulp of 2**k or of max * 2**k. The other elements lie below it by at most the block's
spread, from 0 to 255 binades. One number in four has a short significand, which makes ties; zeros
and subnormal numbers occur; NaN and infinities only on demand.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.formats.catalog import ElementFormat
from mxref.operands.splitmix import splitmix64

__all__ = ["random_blocks"]

_SPREADS = np.array([0, 0, 1, 2, 3, 4, 8, 12, 16, 24, 40, 80, 160, 255, 255, 2], np.int64)
_NEAR = 50


def random_blocks(
    name: str,
    layout: FloatLayout,
    fmt: ElementFormat,
    count: int,
    start: int = 0,
    *,
    size: int = 32,
    specials: bool = False,
) -> NDArray[np.uint64]:
    """Patterns of blocks `start` to `start + count - 1`, (count, size).

    Args:
        name: the seed; another name gives other blocks.
        layout: the float type.
        fmt: the element format, whose largest number gives edges.
        count: number of blocks.
        start: the first block.
        size: elements of a block.
        specials: plant one to three NaN and infinities in every second block; one in 16 is zeros.

    >>> from mxref.bits.floats import F32
    >>> from mxref.formats.catalog import E2M1
    >>> blocks = random_blocks("an example", F32, E2M1, 4)
    >>> blocks.shape, (random_blocks("an example", F32, E2M1, 1, 3) == blocks[3]).all()
    ((4, 32), np.True_)
    """
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
    block = splitmix64(seed, count, start)[:, np.newaxis]
    numbers = splitmix64(seed + 1, count * size, start * size).reshape(count, size)
    draws = splitmix64(seed + 2, count * size, start * size).reshape(count, size)
    m = layout.mantissa_bits
    fields = layout.inf_bits >> m
    edge = (_bits(block, 22, 2) == 0)[:, 0]
    top = _bits(block, 0, 16) % fields
    below = _bits(draws, 0, 16) % (_SPREADS[_bits(block, 16, 4)] + 1)
    below[edge] = np.maximum(below[edge], 1)
    exponent = np.maximum(top - below, 0)
    fraction = numbers.view(np.int64) & ((1 << m) - 1)
    kept = np.where(_bits(draws, 16, 2) == 0, _bits(draws, 18, 3), m)
    fraction &= -(1 << (m - np.minimum(kept, m)))
    magnitude = exponent << m | fraction
    # Zeros: one number in eight, in one block of four.
    magnitude[(_bits(draws, 21, 3) == 0) & (_bits(block, 20, 2) == 0)] = 0
    place = _bits(block, 24, 8)[:, 0] % size
    magnitude[edge, place[edge]] = _edges(block, top, layout, fmt)[edge]
    if specials:
        magnitude[_bits(block, 44, 4)[:, 0] == 0] = 0
        special = np.where(_bits(draws, 24, 1) == 0, layout.inf_bits, layout.inf_bits | fraction)
        there = np.arange(size) * 7 % size < 1 + _bits(block, 32, 8) % 3
        there = np.where(_bits(block, 40, 1) == 0, np.roll(there, 3), there)
        magnitude = np.where(there & (_bits(block, 41, 1) == 0), special, magnitude)
    sign = _bits(draws, 25, 1) << (layout.width - 1)
    return (magnitude.view(np.uint64) | sign.view(np.uint64)).astype(np.uint64)


def _edges(
    block: NDArray[Any], top: NDArray[np.int64], layout: FloatLayout, fmt: ElementFormat
) -> NDArray[np.int64]:
    """For each block a largest element within 50 ulp of 2**k or max * 2**k, as a magnitude."""
    m = layout.mantissa_bits
    significand = fmt.max_normal / 2.0**fmt.emax - 1  # its fraction, exact
    fraction = np.where(_bits(block, 42, 1) == 0, 0, round(significand * (1 << m)))
    ulps = _bits(block, 43, 16) % (2 * _NEAR + 1) - _NEAR
    found: NDArray[np.int64] = np.clip((top << m | fraction) + ulps, 0, layout.inf_bits - 1)
    return found[:, 0]


def _bits(words: NDArray[np.uint64], first: int, count: int) -> NDArray[np.int64]:
    """Bits of words as integers."""
    return (words >> np.uint64(first)).view(np.int64) & ((1 << count) - 1)
