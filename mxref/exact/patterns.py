"""Float bit patterns to exact integers, and exact integers to float bit patterns.

Source: IEEE 754-2019 3.4 (encodings), 4.3.1 (roundTiesToEven).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from mxref.exact.format_table import FloatType
from mxref.exact.integers import INF, NAN, Number, floor_log2
from mxref.exact.rounding import ABOVE, BELOW, ON, TIE, choose


@cache
def float_reader(kind: FloatType) -> Callable[[int], Number]:
    """Make the function that reads a bit pattern as (sign, n, e), of magnitude n * 2**e exactly.

    Special values: n is INF or NAN for those; they and zero keep their sign.
    Source: IEEE 754-2019 3.4.

    >>> from mxref.exact.format_table import FLOATS
    >>> [float_reader(FLOATS["f16"])(bits) for bits in (0xBC00, 0x0001, 0xFC00)]
    [(1, 1024, -10), (0, 1, -24), (1, -1, 0)]
    """
    width = kind.fraction_bits
    special = kind.infinity >> width
    implicit = 1 << width
    bias = kind.bias + width

    def read(x_bits: int) -> Number:
        field = x_bits >> width
        n = x_bits - (field << width)
        sign = 0
        if field > special:
            sign = 1
            field -= special + 1
        if field == special:
            return (sign, NAN if n else INF, 0)
        if field:
            return (sign, n + implicit, field - bias)
        return (sign, n, 1 - bias)

    return read


def write_float(number: Number, kind: FloatType) -> int:
    """Write a number as the bits of a float type, rounded once to nearest even.

    Special values: zero keeps the sign, and so does a result that rounds to zero; Inf, and a
    result beyond the largest finite number, is +-Inf; NaN is the positive quiet NaN.
    Source: IEEE 754-2019 4.3.1, 7.4.

    >>> from mxref.exact.format_table import FLOATS
    >>> hex(write_float((1, 3, -1), FLOATS["f16"])), hex(write_float((0, 1, 16), FLOATS["f16"]))
    ('0xbe00', '0x7c00')
    """
    sign, n, e = number
    if n == NAN:
        return kind.quiet_nan
    sign_weight = sign << (kind.bits - 1)
    if n == INF:
        return sign_weight + kind.infinity
    if n == 0:
        return sign_weight
    binade = max(floor_log2(n, e), 1 - kind.bias)
    quantum = binade - kind.fraction_bits
    unit = 1 << max(quantum - e, 0)
    count, rest = divmod(n << max(e - quantum, 0), unit)
    if rest == 0:
        where = ON
    elif 2 * rest == unit:
        where = TIE
    else:
        where = BELOW if 2 * rest < unit else ABOVE
    # Bit patterns of one sign are numbered in the order of their values, so a count that rounds
    # up to the next binade runs into the exponent field, and from the largest number into Inf.
    first = (binade + kind.bias - 1) << kind.fraction_bits
    return sign_weight + min(first + choose(count, where, 0, "ties_to_even"), kind.infinity)


def converted(number: Number, kind: FloatType) -> Number:
    """Round a number to a float type, to nearest even.

    Special values: a number beyond the type's range becomes Inf; Inf and NaN stay, with the sign.
    Source: IEEE 754-2019 4.3.1, 7.4.

    >>> from mxref.exact.format_table import FLOATS
    >>> converted((1, 2049, 0), FLOATS["f16"]), converted((0, 1, 16), FLOATS["f16"])
    ((1, 1024, 1), (0, -1, 0))
    """
    if number[1] < 0:
        return number
    return float_reader(kind)(write_float(number, kind))
