"""The order of floats by simplicity, in which counterexamples are shrunk.

A finite number is a fraction, an exponent and a sign. The fraction is written backwards, its top
bit last: then a smaller integer is a shorter significand, and 0 is a power of two.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from mxref.bits.floats import FloatLayout


def lowest_exponent(layout: FloatLayout) -> int:
    """Exponent of the smallest subnormal number."""
    return layout.emin - layout.mantissa_bits


def number(layout: FloatLayout, fraction: int, exponent: int, *, negative: bool = False) -> int:
    """The pattern of a finite number that is not zero; a subnormal one drops fraction bits.

    Args:
        layout: the float type.
        fraction: the bits after the leading one, written backwards.
        exponent: of the leading one, from that of the smallest subnormal number upwards.
        negative: the sign.

    >>> from mxref.bits.floats import F32
    >>> [f"{number(F32, fraction, 1):08x}" for fraction in (0, 1, 2, 3)]  # 2 3 2.5 3.5
    ['40000000', '40400000', '40200000', '40600000']
    """
    m = layout.mantissa_bits
    significand = 1 << m | _backwards(fraction, m)
    normal = max(exponent, layout.emin)
    magnitude = ((normal - layout.emin) << m) + (significand >> (normal - exponent))
    return magnitude | layout.sign_bit * negative


def simplicity(bits: int, layout: FloatLayout) -> tuple[int, ...]:
    """A key that is smaller for simpler floats.

    Zero is the simplest, then finite numbers: those with the shortest significand, of them those
    nearest to one, of them the positive ones. Then come infinity and NaN, the quiet one first.

    >>> from mxref.bits.floats import F32
    >>> words = (0x7F800000, 0x3FA00000, 0xBF800000, 0x40000000, 0x3F800000, 0)
    >>> [f"{word:08x}" for word in sorted(words, key=lambda word: simplicity(word, F32))]
    ['00000000', '3f800000', 'bf800000', '40000000', '3fa00000', '7f800000']
    """
    magnitude, negative = bits & (layout.sign_bit - 1), bits >> (layout.width - 1)
    m = layout.mantissa_bits
    if magnitude >= layout.inf_bits:
        return 2, magnitude != layout.inf_bits, magnitude != layout.nan_bits, negative, magnitude
    if magnitude == 0:
        return 0, negative
    field, fraction = magnitude >> m, magnitude & ((1 << m) - 1)
    exponent = field - layout.bias
    if field == 0:
        top = fraction.bit_length() - 1
        exponent = lowest_exponent(layout) + top
        fraction = (fraction << (m - top)) & ((1 << m) - 1)
    backwards = _backwards(fraction, m)
    return 1, backwards.bit_length(), abs(exponent), negative, exponent < 0, backwards


def simplest_first(words: Iterable[int], layout: FloatLayout) -> list[int]:
    """Floats in the order of `simplicity`."""
    return sorted(words, key=lambda word: simplicity(word, layout))


def simpler(bits: int, layout: FloatLayout, reach: int = 200) -> list[int]:
    """Floats that are simpler than a given one, the simplest first: candidates to replace it.

    They have at most five significant bits and an exponent within `reach` of 0, or are the given
    one with its tail replaced by zeros or by a single bit.

    >>> from mxref.bits.floats import F32
    >>> [f"{word:08x}" for word in simpler(0x3FC00000, F32)[:6]]
    ['00000000', '80000000', '3f800000', 'bf800000', '40000000', '3f000000']
    """
    key = simplicity(bits, layout)
    tails = {
        bits >> keep << keep | (1 << one if one >= 0 else 0)
        for keep in range(1, layout.mantissa_bits + 1)
        for one in range(-1, keep)
    }
    known = [word for word in _short(layout, reach) if word[0] < key]
    own = [(simplicity(word, layout), word) for word in tails]
    return [word for _, word in sorted({*known, *(pair for pair in own if pair[0] < key)})]


@functools.cache
def _short(layout: FloatLayout, reach: int) -> list[tuple[tuple[int, ...], int]]:
    """Floats with short significands near one, zeros and specials, as sorted (key, pattern)."""
    low, high = max(lowest_exponent(layout), -reach), min(layout.bias, reach)
    words = {0, layout.inf_bits, layout.nan_bits, layout.inf_bits | 1}
    words |= {number(layout, f, e) for f in range(16) for e in range(low, high + 1)}
    words |= {word | layout.sign_bit for word in words}
    return sorted((simplicity(word, layout), word) for word in words)


def _backwards(fraction: int, count: int) -> int:
    """The integer of the same `count` bits in reverse order."""
    return int(f"{fraction:0{count}b}"[::-1], 2)
