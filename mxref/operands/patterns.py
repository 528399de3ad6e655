"""Positive float32 patterns and their exact numbers, by which scales put results next to ties."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["nearest_pattern", "number_of"]


def number_of(bits: int) -> Fraction:
    """The number of a normal positive float32 pattern; no float, whose products modes change.

    >>> number_of(0x3F400000)
    Fraction(3, 4)
    """
    return Fraction(int(bits) & 0x7FFFFF | 0x800000) * Fraction(2) ** ((int(bits) >> 23) - 150)


def nearest_pattern(number: Fraction) -> int:
    """The pattern of the float32 number nearest to a positive one that is normal there.

    >>> hex(nearest_pattern(Fraction(1, 3)))
    '0x3eaaaaab'
    """
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    exponent -= number < Fraction(2) ** exponent
    return (exponent + 126 << 23) + round(number * Fraction(2) ** (23 - exponent))
