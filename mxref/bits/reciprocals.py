"""The approximate float32 reciprocal of NVIDIA's processors, as far as it is defined.

PTX defines `rcp.approx.ftz.f32` to one ulp and not to the bit: no number between the bounds here is
wrong, and a model that gives one of them is a guess. Source: PTX ISA 9.0, rcp; SPEC_NOTES N46.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mxref.bits.float32 import F64Array, fl

__all__ = ["Reciprocals", "reciprocals"]

_SMALLEST_NORMAL = 2.0**-126


class Reciprocals(NamedTuple):
    """The lowest, the nearest and the highest result; numbers that float32 holds."""

    lowest: F64Array
    nearest: F64Array
    highest: F64Array


def reciprocals(x: F64Array) -> Reciprocals:
    """What `rcp.approx.ftz.f32` may give of numbers that are not negative.

    A result lies within one ulp of 1 / x, where an ulp is 2**-23 times the largest power of two
    that is no larger than 1 / x, and at least 2**-149. A subnormal number is read as 0 and a
    subnormal result is 0; 1 / 0 is infinity, 1 / infinity is 0, and NaN stays NaN.

    Args:
        x: numbers of 0 and above that float32 holds, infinity, or NaN.

    >>> [float(one).hex() for one in reciprocals(np.array([6.0, 0.0])).highest]
    ['0x1.5555560000000p-3', 'inf']
    >>> [float(one).hex() for one in reciprocals(np.array([6.0, 0.0])).lowest]
    ['0x1.5555540000000p-3', 'inf']
    """
    x = np.where(x < _SMALLEST_NORMAL, 0.0, np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        nearest = fl(1.0 / x)
        fraction, exponent = np.frexp(x)  # x is fraction * 2**exponent, fraction in [1/2, 1)
        ulp = np.ldexp(1.0, np.maximum((fraction == 0.5) - exponent - 23, -149))
        lowest = highest = nearest
        # An ulp below a power of two is two steps. The products have at most 50 bits.
        for _ in range(3):
            below, above = (_next(one, to) for one, to in ((lowest, 0.0), (highest, np.inf)))
            lowest = np.where(x * (below + ulp) >= 1, below, lowest)
            highest = np.where(x * (above - ulp) <= 1, above, highest)
    plain = np.isfinite(nearest) & (x > 0) & np.isfinite(x)
    found = [np.where(plain, one, nearest) for one in (lowest, nearest, highest)]
    return Reciprocals(*(np.where(one < _SMALLEST_NORMAL, 0.0, one) for one in found))


def _next(x: F64Array, to: float) -> F64Array:
    """The float32 number beside each one."""
    return np.nextafter(x.astype(np.float32), np.float32(to)).astype(np.float64)
