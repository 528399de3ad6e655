"""Products and quotients of numbers: exact, and as a processor's float arithmetic gives them.

Source: IEEE 754-2019 4.3.1 (roundTiesToEven), 5.4.1, 6.1, 7.2 and 7.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from mxref.exact.format_table import FLOATS, FloatType
from mxref.exact.integers import INF, NAN, Number, compare
from mxref.exact.patterns import converted

F32: Final = FLOATS["f32"]


def product(x: Number, y: Number) -> Number:
    """Multiply exactly.

    Special values: NaN times anything and Inf times zero are NaN, Inf times anything else is Inf;
    signs multiply, of NaN and zero too.

    >>> product((1, 3, 1), (0, 1, -4)), product((1, 3, 1), (0, INF, 0))[1] == INF
    ((1, 3, -3), True)
    """
    (s, n, e), (t, m, f) = x, y
    kinds, sign = {n, m}, s ^ t
    if NAN in kinds or (INF in kinds and 0 in kinds):
        return (sign, NAN, 0)
    if INF in kinds:
        return (sign, INF, 0)
    return (sign, n * m, e + f)


def ratio(x: Number, y: Number) -> Fraction:
    """Divide the magnitudes of two finite numbers, the second not zero, exactly.

    >>> ratio((0, 3, 1), (1, 9, -1))
    Fraction(4, 3)
    """
    return Fraction(*_terms(x, y))


def _terms(x: Number, y: Number) -> tuple[int, int]:
    """Return integers whose ratio is that of the magnitudes."""
    shift = x[2] - y[2]
    return x[1] << max(shift, 0), y[1] << max(-shift, 0)


def quotient(x: Number, y: Number, kind: FloatType) -> Number:
    """Divide, and round once to a float type, to nearest even.

    Special values: a finite nonzero number over zero is Inf, and anything finite over Inf is zero;
    NaN in either, zero over zero and Inf over Inf are NaN. Signs multiply.
    Source: IEEE 754-2019 5.4.1, 7.2, 7.3.

    >>> quotient((0, 1, 0), (1, 3, 0), FLOATS["f16"])
    (1, 1365, -12)
    >>> quotient((0, 0, 0), (0, 0, 0), F32)[1] == NAN
    True
    """
    (s, n, _), (t, m, _) = x, y
    sign = s ^ t
    if NAN in (n, m) or (n, m) in ((0, 0), (INF, INF)):
        return (sign, NAN, 0)
    if n == INF or m == 0:
        return (sign, INF, 0)
    if n == 0 or m == INF:
        return (sign, 0, 0)
    over, under = _terms(x, y)
    # The spacing of the type's numbers around the quotient: there are 2**fraction_bits of them in
    # [2**binade, 2**(binade + 1)), and below the smallest normal number they stay as far apart.
    binade = over.bit_length() - under.bit_length()
    if under << max(binade, 0) > over << max(-binade, 0):
        binade -= 1
    spacing = max(binade, 1 - kind.bias) - kind.fraction_bits
    whole = under << max(spacing, 0)
    count, rest = divmod(over << max(-spacing, 0), whole)
    count += 2 * rest > whole or (2 * rest == whole and count % 2 == 1)  # a tie to even
    return converted((sign, count, spacing), kind)


@dataclass(frozen=True)
class Float:
    """A number of a float type, whose products and quotients round to the wider of two types.

    Source: IEEE 754-2019 5.4.1.

    >>> one, three = Float((0, 1, 0), F32), Float((0, 3, 0), F32)
    >>> third = one / three
    >>> third.number, (third * three).number == (0, 8388608, -23)
    ((0, 11184811, -25), True)
    """

    number: Number
    kind: FloatType

    @property
    def is_zero(self) -> bool:
        """Whether it is +0 or -0."""
        return self.number[1] == 0

    @property
    def is_nan(self) -> bool:
        """Whether it is NaN."""
        return self.number[1] == NAN

    def __mul__(self, other: Float) -> Float:
        return self.times(other, _wider(self.kind, other.kind))

    def __truediv__(self, other: Float) -> Float:
        return self.over(other, _wider(self.kind, other.kind))

    def times(self, other: Float, kind: FloatType) -> Float:
        """Return the product, rounded to a type."""
        return Float(converted(product(self.number, other.number), kind), kind)

    def over(self, other: Float, kind: FloatType) -> Float:
        """Return the quotient, rounded to a type."""
        return Float(quotient(self.number, other.number, kind), kind)

    def of(self, kind: FloatType) -> Float:
        """Return it as a number of another type, which holds it."""
        return Float(self.number, kind)

    def at_most(self, limit: Float) -> Float:
        """Return it with a magnitude of at most the finite limit; NaN stays NaN."""
        sign, n, e = self.number
        if n == INF or (n > 0 and compare(n, e, *limit.number[1:]) > 0):
            return Float((sign, *limit.number[1:]), self.kind)
        return self

    def at_least(self, limit: Float) -> Float:
        """Return it with a magnitude of at least the finite limit; NaN stays NaN."""
        sign, n, e = self.number
        if n >= 0 and compare(n, e, *limit.number[1:]) < 0:
            return Float((sign, *limit.number[1:]), self.kind)
        return self


def _wider(a: FloatType, b: FloatType) -> FloatType:
    return a if a.bits >= b.bits else b


def amax(numbers: Iterable[Number], *, nan_counts: bool) -> Number:
    """Return the largest magnitude, Inf included; of none, zero.

    nan_counts: whether one NaN makes the result NaN; else it is passed over.

    >>> amax([(0, 3, 0), (1, 1, 2), (1, NAN, 0)], nan_counts=False)
    (0, 1, 2)
    """
    best: Number = (0, 0, 0)
    for _, n, e in numbers:
        if n == NAN:
            if nan_counts:
                return (0, NAN, 0)
        elif best[1] != INF and (n == INF or compare(n, e, *best[1:]) > 0):
            best = (0, n, e)
    return best
