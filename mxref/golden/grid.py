"""The numbers of a format and the midpoints between them, as patterns of a float type."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from mxref._bits import FloatLayout, Parts, compose, split
from mxref.formats import CodeFormat

__all__ = ["grid", "pattern"]


@functools.cache
def pattern(n: int, exponent: int, layout: FloatLayout) -> int:
    """The float pattern of n * 2**exponent (sign from n), which must be exact.

    >>> from mxref._bits import F32
    >>> hex(pattern(-3, -1, F32))
    '0xbfc00000'

    Raises:
        ValueError: the number is not a number of the float type.
    """
    parts = Parts.finite(np.array([n < 0]), np.array([abs(n)]), np.array([exponent]))
    bits = compose(parts, layout)
    back = split(bits, layout)
    shift = int(back.exponent[0]) - exponent
    same = abs(n) == int(back.significand[0]) << shift if shift >= 0 else False
    same = same or (shift < 0 and abs(n) << -shift == int(back.significand[0]))
    if back.is_inf[0] or not same:
        raise ValueError(f"{n} * 2**{exponent} is not exact in {layout.name}")
    return int(bits[0])


def grid(fmt: CodeFormat, layout: FloatLayout) -> tuple[list[int], list[int]]:
    """Patterns of a format's numbers from 0 to the largest, and of every midpoint above each.

    The last midpoint lies between the largest number and the next one that its spacing would give:
    the overflow threshold. Every one of them is exact in every float type.
    """
    magnitudes = [fmt.magnitude_parts(code) for code in range(fmt.max_code + 2)]
    unit = magnitudes[0][1] - 1
    counts = [n << (exponent - unit) for n, exponent in magnitudes]
    middles = [(low + high) // 2 for low, high in itertools.pairwise(counts)]
    return (
        [pattern(n, unit, layout) for n in counts[:-1]],
        [pattern(n, unit, layout) for n in middles],
    )
