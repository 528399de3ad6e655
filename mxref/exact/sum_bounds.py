"""Bounds of the outputs of weight-only linear layers, and whether every order is exact.

Source: SPEC_NOTES Q11; Higham, Accuracy and Stability of Numerical Algorithms, 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mxref.exact.arithmetic import F32, quotient
from mxref.exact.integer import linear
from mxref.exact.integers import INF, NAN
from mxref.exact.patterns import float_reader, write_float
from mxref.exact.sums import fraction

#: From here on numbers round to infinity in float32.
_LIMIT = 2**128 - 2**103
_END = 2**128


def linear_bounds(
    x_bits: Sequence[int], w: Sequence[int], scale_bits: Sequence[int], order: str
) -> tuple[int, int, int]:
    """Return the patterns of both ends of what an order can give, however its sums are added.

    The third pattern is NaN where a value on the way may overflow, so that Inf, -Inf and NaN are
    right; else it is the lower end again.

    >>> [hex(end) for end in linear_bounds([0x3F800000], [1], [0x3F800000], "scale_last")]
    ['0x3f7ffffe', '0x3f800001', '0x3f7ffffe']
    """
    if order == "exact":
        exact = linear(x_bits, w, scale_bits)
        return exact, exact, exact
    read, k = float_reader(F32), len(w)
    xs, scales = [read(bits) for bits in x_bits], [read(bits) for bits in scale_bits]
    nan, infinite = (write_float((0, kind, 0), F32) for kind in (NAN, INF))
    if any(x[1] == NAN for x in xs):
        return nan, nan, nan
    if any(x[1] == INF for x in xs):
        return infinite, infinite, nan
    values = [fraction(x) for x in xs]
    factors = [fraction(scales[i * len(scales) // k]) for i in range(k)]
    steps = k + 1 + (order == "offset")
    large = [abs(c + 8) + 8 if order == "offset" else abs(c) for c in w]
    share, lost = Fraction(steps, 2**24 - steps), Fraction(k, 2**149)

    def magnitude(parts: Sequence[Fraction]) -> Fraction:
        return sum((abs(v) * n for v, n in zip(parts, large, strict=True)), Fraction(0))

    total = magnitude([v * s for v, s in zip(values, factors, strict=True)])
    inner = max((abs(s) * n for s, n in zip(factors, large, strict=True)), default=Fraction(0))
    if order != "dequantize":
        inner = magnitude(values) * (1 + share) + lost
    exact_sum = sum((v * s * c for v, s, c in zip(values, factors, w, strict=True)), Fraction(0))
    radius = total * share + lost
    low, high = _nearest(exact_sum - radius), _nearest(exact_sum + radius)
    beyond = max(total * (1 + share) + lost, inner) >= _LIMIT
    return low, high, nan if beyond else low


def exact_in_every_order(
    x_bits: Sequence[int], w: Sequence[int], scale_bits: Sequence[int]
) -> bool:
    """Say whether `dequantize`, `scale_last` and `offset` never round, in any order of summation.

    >>> exact_in_every_order([0x4B800000], [0], [0x3F800000])
    True
    >>> exact_in_every_order([0x4B800000, 0x3F800000], [0, 1], [0x3F800000])
    False
    """
    read, k = float_reader(F32), len(w)
    xs, scales = [read(bits) for bits in x_bits], [read(bits) for bits in scale_bits]
    powers = all(not sign and n > 0 and n & (n - 1) == 0 for sign, n, _ in scales)
    if not powers or any(x[1] < 0 for x in xs):
        return False
    values = [abs(fraction(x)) for x in xs]
    factors = [fraction(scales[i * len(scales) // k]) for i in range(k)]
    large = [abs(c + 8) + 8 for c in w]
    terms = [v * s for v, s in zip(values, factors, strict=True)]
    total = sum((t * n for t, n in zip(terms, large, strict=True)), Fraction(0))
    plain = sum((v * n for v, n in zip(values, large, strict=True)), Fraction(0))
    inner = max((abs(c) * s for c, s in zip(w, factors, strict=True)), default=Fraction(0))
    # The largest power of two of which every term is a multiple.
    units = [Fraction(t.numerator & -t.numerator, t.denominator) for t in terms if t]
    unit = min(units, default=Fraction(1))
    return unit >= Fraction(1, 2**149) and total <= unit * 2**24 and max(total, plain, inner) < _END


def _nearest(number: Fraction) -> int:
    """Round to float32 once."""
    parts = (int(number < 0), abs(number.numerator), 0), (0, number.denominator, 0)
    return write_float(quotient(*parts, F32), F32)
