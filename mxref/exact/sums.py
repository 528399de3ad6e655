"""Sums of numbers: exact, and as float32 arithmetic gives them; numbers as fractions.

Source: IEEE 754-2019 4.3.1, 5.4.1, 6.1 and 6.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from mxref.exact.arithmetic import F32, product
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.patterns import converted


def integer32(value: int) -> Number:
    """Round an integer to float32.

    >>> integer32(-16777217)
    (1, 8388608, 1)
    """
    return converted((int(value < 0), abs(value), 0), F32)


def dyadic(x: Fraction) -> Number:
    """Write a fraction over a power of two as a number.

    >>> dyadic(Fraction(-3, 4))
    (1, 3, -2)
    """
    return (int(x < 0), abs(x.numerator), 1 - x.denominator.bit_length())


def fraction(x: Number) -> Fraction:
    """Write a finite number as a fraction, which has one zero.

    >>> fraction((1, 3, -2))
    Fraction(-3, 4)
    """
    sign, n, e = x
    signed = -n if sign else n
    return Fraction(signed << e) if e >= 0 else Fraction(signed, 1 << -e)


def nearest(x: Number) -> Number:
    """Round to an integer, a tie to the even one; Inf and NaN stay.

    >>> nearest((1, 5, -1))
    (1, 2, 0)
    """
    return x if x[1] < 0 else (x[0], abs(round(fraction(x))), 0)


def total_of(x: Number, y: Number) -> Number:
    """Add exactly.

    Special values: Inf and -Inf are NaN; a sum of zero is +0, of two -0, too.

    >>> total_of((0, 3, 0), (1, 1, -1))
    (0, 5, -1)
    """
    if NAN in (x[1], y[1]) or (x[1] == y[1] == INF and x[0] != y[0]):
        return (0, NAN, 0)
    if INF in (x[1], y[1]):
        return x if x[1] == INF else y
    e = min(x[2], y[2])
    n, m = ((-size if sign else size) << power - e for sign, size, power in (x, y))
    return dyadic(fraction((0, n + m, e)))


def fl_sum(x: Number, y: Number) -> Number:
    """Add, and round to float32.

    >>> fl_sum((0, 1, 24), (0, 1, 0))
    (0, 8388608, 1)
    """
    return converted(total_of(x, y), F32)


def fl_dot(pairs: Iterable[tuple[Number, Number]]) -> Number:
    """Add products in turn from +0, each product and each sum rounded to float32.

    >>> fl_dot([((0, 1, 24), (0, 1, 0)), ((0, 1, 0), (0, 1, 0))])
    (0, 8388608, 1)
    """
    total: Number = (0, 0, 0)
    for x, y in pairs:
        total = fl_sum(total, converted(product(x, y), F32))
    return total
