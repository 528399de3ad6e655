"""Float bit patterns to exact integers, and exact integers to float bit patterns.

Source: IEEE 754-2019 §3.4 (encodings), §4.3.1 (roundTiesToEven).
"""

from __future__ import annotations

from mxref.exact.formats import FLOATS, FloatType, check_int, look_up
from mxref.exact.rounding import ABOVE, BELOW, ON, TIE, choose


def is_finite(x_bits: int, kind: FloatType) -> bool:
    """Tell whether a bit pattern is neither Inf nor NaN.

    >>> is_finite(0x7BFF, FLOATS["f16"]), is_finite(0xFC00, FLOATS["f16"])
    (True, False)
    """
    return x_bits % (1 << (kind.bits - 1)) < kind.infinity


def read_float(x_bits: int, kind: FloatType) -> tuple[int, int, int]:
    """Read a finite bit pattern as (sign, n, e), of magnitude n * 2**e exactly; n is below 2**53.

    Special values: a zero has n = 0 and keeps its sign. Inf and NaN are the caller's to remove.
    Source: IEEE 754-2019 §3.4.

    >>> read_float(0xBC00, FLOATS["f16"]), read_float(0x0001, FLOATS["f16"])
    ((1, 1024, -10), (0, 1, -24))
    """
    sign, rest = divmod(x_bits, 1 << (kind.bits - 1))
    exponent, fraction = divmod(rest, 1 << kind.fraction_bits)
    if exponent == 0:
        return sign, fraction, 1 - kind.bias - kind.fraction_bits
    significand = (1 << kind.fraction_bits) + fraction
    return sign, significand, exponent - kind.bias - kind.fraction_bits


def checked_float(parameter: str, x_bits: int, source: str) -> FloatType:
    """Return the named source type, after checking that the bits fit it.

    >>> checked_float("x_bits", 0x3C00, "f16").name
    'f16'
    """
    kind = look_up(FLOATS, "source", source)
    check_int(parameter, x_bits, kind.bits)
    return kind


def floor_log2(n: int, e: int) -> int:
    """floor(log2(n * 2**e)) for n >= 1, exactly.

    >>> floor_log2(7, -3), floor_log2(8, -3)
    (-1, 0)
    """
    return n.bit_length() - 1 + e


def write_float(sign: int, n: int, e: int, kind: FloatType) -> int:
    """Write +-n * 2**e (n >= 0) as the bits of a float type, rounded once to nearest even.

    sign: 1 for a negative number.
    Special values: zero keeps the sign, and so does a result that rounds to zero; a result beyond
    the largest finite number is +-Inf.
    Source: IEEE 754-2019 §4.3.1, §7.4.

    >>> hex(write_float(1, 3, -1, FLOATS["f16"])), hex(write_float(0, 1, 16, FLOATS["f16"]))
    ('0xbe00', '0x7c00')
    """
    sign_weight = sign << (kind.bits - 1)
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
