"""The scale rules, each by its own definition, in comparisons of exact integers.

Source: OCP MX v1.0 6.3 (floor); cuBLAS documentation, "1D block scaling" (rceil); TOSA 1.1,
calc_block_scale (tosa); torchao and AMD Quark (ceil, even); MLX 0.31 and llama.cpp (nearest_log2).
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from mxref.exact.format_table import FLOATS, ElementType, magnitude
from mxref.exact.integers import INF, compare, floor_log2
from mxref.exact.patterns import converted, write_float
from mxref.exact.rounding import ABOVE, BELOW, TIE, choose


def _floor(n: int, e: int, fmt: ElementType) -> int:
    return floor_log2(n, e) - fmt.emax


def _ceil(n: int, e: int, fmt: ElementType) -> int:
    k = _floor(n, e, fmt)
    return k if compare(n, e, 1, k + fmt.emax) == 0 else k + 1


def _rceil(n: int, e: int, fmt: ElementType) -> int:
    m, f = magnitude(fmt.max_code, fmt)
    return _first(n, e, fmt, lambda k: compare(n, e, m, f + k) <= 0)


def _even(n: int, e: int, fmt: ElementType) -> int:
    dropped = n.bit_length() - 1 - fmt.mantissa_bits
    if dropped > 0:  # round the significand to the precision of an element, ties away from zero
        n, e = (n + (1 << (dropped - 1))) >> dropped, e + dropped
    return floor_log2(n, e) - fmt.emax


def _tosa(n: int, e: int, fmt: ElementType) -> int:
    m, f = magnitude(fmt.max_code, fmt)

    def rounds_to_a_number(k: int) -> bool:
        if compare(n, e, m, f + k) <= 0:
            return True
        where = (TIE, ABOVE, BELOW)[compare(n, e, 2 * m + 1, f - 1 + k)]
        return choose(fmt.max_code, where, 0, "ties_to_even") == fmt.max_code

    return _first(n, e, fmt, rounds_to_a_number)


def _nearest(n: int, e: int, fmt: ElementType) -> int:
    m, f = magnitude(fmt.max_code, fmt)
    k = _last_below(n, e, m, f, fmt)
    return k + 1 if compare(2 * n, e, 3 * m, f + k) >= 0 else k


def _nearest_log2(n: int, e: int, fmt: ElementType) -> int:
    m, f = magnitude(fmt.max_code, fmt)
    k = _last_below(n, e, m, f, fmt)
    return k + 1 if compare(n * n, 2 * e, 2 * m * m, 2 * (f + k)) >= 0 else k


def _nearest_log2_power(n: int, e: int, fmt: ElementType) -> int:
    k = _floor(n, e, fmt)
    return k + 1 if compare(n * n, 2 * e, 2, 2 * (fmt.emax + k)) >= 0 else k


def _first(n: int, e: int, fmt: ElementType, fits: Callable[[int], bool]) -> int:
    """Find the smallest exponent that fits, from just below that of the floor rule upward."""
    k = _floor(n, e, fmt) - 2
    while not fits(k):
        k += 1
    return k


def _last_below(n: int, e: int, m: int, f: int, fmt: ElementType) -> int:
    """Find the largest k with m * 2**(f + k) at most n * 2**e."""
    return _first(n, e, fmt, lambda k: compare(n, e, m, f + k) < 0) - 1


#: Beyond every scale.
_FAR: Final = 1000


def _in_float32(n: int, e: int) -> tuple[int, int] | None:
    """Round n * 2**e to float32; None if that is infinite."""
    _, m, f = converted((0, n, e), FLOATS["f32"])
    return None if m == INF else (m, f)


_DIGITS: Final = decimal.Context(prec=60)
_LN2: Final = _DIGITS.ln(decimal.Decimal(2))


@lru_cache(maxsize=4096)
def _log2(n: int) -> decimal.Decimal:
    """Find log2(n) to sixty digits."""
    with decimal.localcontext(_DIGITS):
        return decimal.Decimal(n).ln() / _LN2


def _floor_log2_float32(n: int, e: int, fmt: ElementType) -> int:
    single = _in_float32(n, e)
    if single is None or single[0] == 0:
        return _FAR if single is None else -_FAR
    with decimal.localcontext(_DIGITS):
        count = int(((_log2(single[0]) + single[1]) * 2**160).to_integral_value())
    sign, m, f = converted((int(count < 0), abs(count), -160), FLOATS["f32"])
    signed = -m if sign else m
    floor: int = signed << f if f >= 0 else signed >> -f
    return floor - fmt.emax


def _floor_exponent_field(n: int, e: int, fmt: ElementType) -> int:
    bits = write_float((0, n, e), FLOATS["f32"])
    return _FAR if bits >= FLOATS["f32"].infinity else (bits >> 23) - 127 - fmt.emax


def _rceil_reciprocal(n: int, e: int, fmt: ElementType) -> int:
    m, f = magnitude(fmt.max_code, fmt)
    # 1 / max to 200 bits, and a sticky last bit.
    inverse = _in_float32(2 * ((1 << 200) // m) + 1, -201 - f)
    single = _in_float32(n, e)
    if single is None or inverse is None:
        return _FAR
    product = _in_float32(single[0] * inverse[0], single[1] + inverse[1])
    if product is None or product[0] == 0:
        return _FAR if product is None else -_FAR
    k = floor_log2(*product)
    return k if compare(*product, 1, k) == 0 else k + 1


RULES: Final[Mapping[str, Callable[[int, int, ElementType], int]]] = {
    "floor": _floor,
    "ceil": _ceil,
    "rceil": _rceil,
    "even": _even,
    "tosa": _tosa,
    "nearest": _nearest,
    "nearest_log2": _nearest_log2,
    "nearest_log2_power": _nearest_log2_power,
    "floor_log2_float32": _floor_log2_float32,
    "floor_exponent_field": _floor_exponent_field,
    "rceil_reciprocal": _rceil_reciprocal,
}
