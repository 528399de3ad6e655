"""Pools of questions, and the numbers around which an answer can change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout, compose, split
from mxref.cases.grid import grid, pattern
from mxref.conformance.identification.equal_reasons import narrower
from mxref.formats.catalog import CodeFormat
from mxref.policy.policy import Policy
from mxref.support.distinct import distinct

__all__ = [
    "Maker",
    "Pool",
    "Words",
    "around",
    "both_signs",
    "element_points",
    "end_powers",
    "near",
    "pool_of",
    "power_bits",
    "times",
]

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Pool:
    """Inputs of one kind.

    Args:
        about: the subject.
        reads: the choices that the answers can depend on; all that the operation reads if empty.
        words: the inputs, one case a row.
        always: rows that are always asked, so that contradictions show.
        shows: what is compared of an answer: `all` words, its `scale`, or the `number` of words.
    """

    about: str
    reads: tuple[str, ...]
    words: Words
    always: Sequence[int] = ()
    shows: str = "all"


#: Makes a pool, given the policy found so far.
Maker = Callable[[Policy], Pool]


def pool_of(about: str, reads: tuple[str, ...], words: Words, must: Words) -> Pool:
    """A pool of single words; those of `must` are always asked."""
    found = np.concatenate([must, words])[:, np.newaxis]
    return Pool(about, reads, found, range(must.size))


def times(bits: Words, power: int, layout: FloatLayout) -> Words:
    """Patterns of the numbers times 2**power, rounded to the type."""
    parts = split(bits, layout)
    scaled = dataclasses.replace(parts, exponent=parts.exponent + power)
    return compose(scaled, layout).astype(np.uint64)


def near(points: Words, layout: FloatLayout, ulps: int = 1) -> Words:
    """Magnitude patterns and those up to `ulps` away."""
    steps = np.arange(-ulps, ulps + 1)[:, np.newaxis]
    found = (points.astype(np.int64) + steps).reshape(-1)
    found = found[(found >= 0) & (found <= layout.inf_bits)]
    return distinct(found).astype(np.uint64)


def around(points: Words, layout: FloatLayout) -> Words:
    """Magnitudes next to points, and next to the points as a narrower type moves them.

    After a conversion to a narrower type a step at t lies at a midpoint between that type's numbers
    next to t.
    """
    found = [near(points, layout)]
    for narrow in narrower(layout).values():
        here = compose(split(points, layout), narrow).astype(np.int64)
        grid = np.clip(here + np.arange(-2, 3)[:, np.newaxis], 0, narrow.inf_bits - 1)
        wide = compose(split(grid, narrow), layout).astype(np.int64)
        # The pattern midway between two numbers of a binade is their midpoint; beyond the largest
        # number the last step is repeated.
        last = 2 * wide - compose(split(np.maximum(grid - 1, 0), narrow), layout).astype(np.int64)
        after = np.where(grid == narrow.inf_bits - 1, last, np.roll(wide, -1, axis=0))
        middles = (wide + after)[:-1] // 2
        found += [near(middles.astype(np.uint64).reshape(-1), layout), wide.astype(np.uint64)]
    return distinct(np.concatenate([one.reshape(-1) for one in found]))


def end_powers(layout: FloatLayout) -> list[int]:
    """Exponents of the smallest and largest powers of two of a float type and narrower ones."""
    kinds = [layout, *narrower(layout).values()]
    ends = [(k.emin - k.mantissa_bits, k.emin, k.bias) for k in kinds]
    return sorted({power for some in ends for power in some})


def power_bits(powers: Sequence[int], layout: FloatLayout) -> Words:
    """The patterns of the powers of two that the type can hold."""
    low = layout.emin - layout.mantissa_bits
    return np.array([pattern(1, p, layout) for p in powers if low <= p <= layout.bias], np.uint64)


def both_signs(magnitudes: Words, layout: FloatLayout) -> Words:
    """Every magnitude with both signs."""
    return np.stack([magnitudes, magnitudes | np.uint64(layout.sign_bit)], axis=1).reshape(-1)


def nans(layout: FloatLayout) -> Words:
    """NaNs of both signs."""
    return both_signs(np.array([layout.nan_bits], np.uint64), layout)


def _codes_asked(fmt: CodeFormat, *, few: bool) -> list[int]:
    """The first and last codes of every binade, or of a few; all codes of small formats."""
    one = 1 << fmt.mantissa_bits
    if fmt.max_code < 40:
        return list(range(fmt.max_code + 1))
    ends = {0, 1, 2, one // 2, one - 2, one - 1}
    last = fmt.max_code // one
    binades = {0, 1, 2, last // 2, last - 1, last} if few else set(range(last + 1))
    top = fmt.max_code - 2
    every = range(fmt.max_code + 1)
    return [
        code for code in every if code >= top or (code % one in ends and code // one in binades)
    ]


def element_points(fmt: CodeFormat, layout: FloatLayout, *, few: bool = False) -> Words:
    """Numbers of a format and the midpoints above them, of every binade or of a few."""
    numbers, middles = grid(fmt, layout)
    asked = _codes_asked(fmt, few=few)
    return np.array([side[code] for code in asked for side in (numbers, middles)], np.uint64)
