"""Numbers as integers: (sign, n, e) is +-n * 2**e, exactly.

Inf and NaN have n = INF and n = NAN, both below zero; zero has n = 0. All of them have a sign.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

Number: TypeAlias = tuple[int, int, int]

INF: Final = -1
NAN: Final = -2


def floor_log2(n: int, e: int) -> int:
    """floor(log2(n * 2**e)) for n >= 1, exactly.

    >>> floor_log2(7, -3), floor_log2(8, -3)
    (-1, 0)
    """
    return n.bit_length() - 1 + e


def compare(n: int, e: int, m: int, f: int) -> int:
    """Compare n * 2**e with m * 2**f: -1, 0 or 1.

    >>> compare(3, 1, 6, 0), compare(1, -1074, 1, -1073), compare(5, 0, 1, 2)
    (0, -1, 1)
    """
    if e >= f:
        n <<= e - f
    else:
        m <<= f - e
    return (n > m) - (n < m)


def largest(numbers: Iterable[Number]) -> Number:
    """Return the largest magnitude of finite numbers, as a positive one; of none, zero.

    >>> largest([(0, 3, 0), (1, 1, 2), (0, 7, -1)])
    (0, 1, 2)
    """
    m, f = 0, 0
    for _, n, e in numbers:
        if compare(n, e, m, f) > 0:
            m, f = n, e
    return (0, m, f)
