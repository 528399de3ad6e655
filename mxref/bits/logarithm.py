"""Integers from a rounded logarithm, such as `floor(log2(x))` computed in float32.

The logarithm is rounded correctly to float32, and then to the type T if that is narrower, or once
to float64; libraries' logarithms agree with that wherever it changes the integer. It is never
computed for data: the integer is a step function of x, and its steps are found once.
Source: SPEC_NOTES N19.
"""

from __future__ import annotations

import decimal
import functools
import math
from fractions import Fraction

import numpy as np

from mxref.bits.float32 import F64Array, fl, rounded
from mxref.bits.floats import F32, F64, I64, FloatLayout
from mxref.support.distinct import distinct

__all__ = ["ceil_ln_log2", "ceil_log2", "floor_log2", "half_up_log2", "nearest_log2"]

_LOWEST, _HIGHEST = -152, 146
_LN_LOWEST, _LN_HIGHEST = -66, 128


def floor_log2(x: F64Array, layout: FloatLayout = F32) -> I64:
    """Floor of log2 x in a type, for float32 numbers above 0; undefined for others.

    In float64, for those of float64 up to 2**145; smaller and larger ones stop at -152 and 146.

    >>> floor_log2(np.array([4.0, 7.9999995, 7.999999])).tolist()
    [2, 3, 2]
    >>> floor_log2(np.array([8.0, 2.0**100]) * (1 - 2.0**-53), F64).tolist()
    [3, 100]
    """
    return _stepped(x, layout, "floor")


def ceil_log2(x: F64Array, layout: FloatLayout = F32) -> I64:
    """Ceiling of log2 x in a type; see `floor_log2`.

    >>> ceil_log2(np.array([4.0, 2.0**100 * (1 + 2**-23)])).tolist()
    [2, 100]
    """
    return _stepped(x, layout, "ceil")


def nearest_log2(x: F64Array, layout: FloatLayout = F32) -> I64:
    """The integer nearest to log2 x in a type, ties to even; see `floor_log2`.

    >>> nearest_log2(np.array([1.4, 1.42])).tolist()
    [0, 1]
    """
    return _stepped(x, layout, "nearest")


def half_up_log2(x: F64Array) -> I64:
    """Floor of log2 x + 0.5, the logarithm and the sum in float32; see `floor_log2`.

    The largest float32 below the square root of 2 counts as above it:

    >>> [half_up_log2(np.array(float.fromhex(x))).item() for x in ("0x1.6a09e4p0", "0x1.6a09e6p0")]
    [0, 1]
    """
    return _stepped(x, F32, "half_up")


def ceil_ln_log2(x: F64Array, layout: FloatLayout = F32) -> I64:
    """Ceiling of ln x times a float32 reciprocal of ln 2, each of a type: JAX's log2.

    x from 2**-64 to 2**127.

    >>> ceil_ln_log2(np.array([4.0, 2.0**-13])).tolist()
    [2, -12]
    """
    integers: I64 = _LN_LOWEST + np.searchsorted(_ln_steps(layout), x, side="right")
    return integers


def _stepped(x: F64Array, layout: FloatLayout, kind: str) -> I64:
    binade = (np.asarray(x, np.float64).view(np.int64) >> 52 & 0x7FF) - 1023
    binade = np.clip(binade, _LOWEST, _HIGHEST - 1)
    place, steps = binade - _LOWEST, _steps(layout, kind)
    for unknown in distinct(place[np.isnan(steps[place])]).tolist():
        steps[unknown] = _step(unknown + _LOWEST, layout, kind)
    integers: I64 = binade + (x >= steps[place])
    return integers


@functools.cache
def _steps(layout: FloatLayout, kind: str) -> F64Array:
    """For each binade [2**k, 2**(k + 1)) its step; NaN if it was not needed yet."""
    return np.full(_HIGHEST - _LOWEST, np.nan)


def _step(k: int, layout: FloatLayout, kind: str) -> float:
    """The smallest float64 of a binade from which the result is k + 1."""
    if kind == "floor":  # from the midpoint of k + 1 and the number of T below it on
        return _power(_middle(Fraction(k + 1), layout, up=False))
    if kind == "ceil":  # above the midpoint of k and the number of T above it
        return _power(_middle(Fraction(k), layout, up=True))
    half = Fraction(2 * k + 1, 2)
    if kind == "half_up":  # the float below 0.5 plus 0.5 rounds to 1, too; elsewhere sums are exact
        return _power(_middle(half - (k == 0) * Fraction(2) ** -25, layout, up=False))
    return _power(_middle(half, layout, up=(k + 1) % 2 == 1))


def _middle(number: Fraction, layout: FloatLayout, *, up: bool) -> Fraction:
    """The midpoint above or below a number of T: the end of the interval that is rounded to it.

    A number that T lacks is a midpoint itself.
    """
    if number == 0:  # the numbers of T next to 0 are nearer to 0 than the logarithm of any float
        return Fraction(1 if up else -1, 1 << 60)
    size, exponent = abs(number), -2  # above one quarter, as halves of integers are
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    gap = Fraction(2) ** (exponent - layout.mantissa_bits)
    if (size / gap).denominator != 1:
        return _middle(number, F32, up=up)
    even = (size / gap).numerator % 2 == 0
    inward = up != (number > 0)
    if inward and size == Fraction(2) ** exponent:
        gap /= 2
    middle = number + (gap / 2 if up else -gap / 2)
    if layout in (F32, F64):
        return middle
    # A float32 logarithm in the middle goes to the even number.
    return _middle(middle, F32, up=even == up)


@functools.cache
def _ln_steps(layout: FloatLayout) -> F64Array:
    """For each k the smallest float64 whose `ceil_ln_log2` is above k."""
    return np.array([_ln_step(k, layout) for k in range(_LN_LOWEST, _LN_HIGHEST)])


def _ln_step(k: int, layout: FloatLayout) -> float:
    """The smallest x whose ln is rounded to a number of T with a product above k."""
    if k == 0:
        return math.nextafter(1.0, 2.0)
    ln2 = rounded(np.array(math.log(2)), layout)
    near = rounded(k * ln2, layout)
    grid = near + np.arange(-16, 17) * math.ldexp(
        1.0, math.frexp(near)[1] - layout.mantissa_bits - 2
    )
    numbers = grid[rounded(grid, layout) == grid]
    above = int(np.argmax(rounded(numbers * fl(1 / ln2), layout) > k))
    halfway = decimal.Decimal((numbers[above - 1] + numbers[above]) / 2)
    with decimal.localcontext(decimal.Context(prec=60)):
        return _no_less(halfway.exp())


def _power(exponent: Fraction) -> float:
    """The smallest float64 that is no less than 2**exponent: no float lies between the two."""
    with decimal.localcontext(decimal.Context(prec=60)):
        two = decimal.Decimal(2)
        return _no_less(
            two ** (decimal.Decimal(exponent.numerator) / decimal.Decimal(exponent.denominator))
        )


def _no_less(exact: decimal.Decimal) -> float:
    nearest = float(exact)
    return nearest if decimal.Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)
