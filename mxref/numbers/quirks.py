"""Scale exponents of implementations that miss the exact rule: named quirks, in float32.

Each rule rounds amax to float32. What implementations do in floats is done on integers here.
Source: SPEC_NOTES N1, N2, N19.
"""

from __future__ import annotations

import dataclasses
import decimal
import functools

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, I64, Parts, compose, floor_log2, split
from mxref.formats.catalog import ElementFormat
from mxref.policy.scale_rule import ScaleRule

#: An exponent that is out of the range of every scale.
_FAR = 1000


def quirk_exponents(parts: Parts, rule: ScaleRule, fmt: ElementFormat) -> I64:
    """Exponents of the scales for finite magnitudes."""
    single = split(compose(parts, F32), F32)
    if rule is ScaleRule.RCEIL_RECIPROCAL:
        single = _times_reciprocal(single, fmt)
        power = single.significand & (single.significand - 1) == 0
        exponent = floor_log2(single.significand) + single.exponent + ~power
    elif rule is ScaleRule.FLOOR_LOG2_FLOAT32:
        exponent = _floor_log2_float32(single) - fmt.emax
    else:  # the exponent field, which is 0 for every subnormal
        binade = floor_log2(single.significand) + single.exponent
        exponent = np.where(single.is_subnormal, F32.emin - 1, binade) - fmt.emax
    field = rule is ScaleRule.FLOOR_EXPONENT_FIELD
    nothing = F32.emin - 1 - fmt.emax if field else -_FAR
    exponent = np.where(single.significand == 0, nothing, exponent)
    return np.where(single.is_inf, _FAR, exponent)


def _times_reciprocal(single: Parts, fmt: ElementFormat) -> Parts:
    """Amax times float32(1 / max), rounded to float32."""
    n, q = fmt.magnitude_parts(fmt.max_code)  # n of at most 8 bits
    whole = np.array([(1 << 52) // n | 1])  # rounded to odd, to far more bits than a float32 has
    inverse = Parts.finite(np.array([False]), whole, np.array([-52 - q]))
    reciprocal = split(compose(inverse, F32), F32)
    # Both significands have 24 bits; their product of 48 fits.
    product = dataclasses.replace(
        single,
        significand=single.significand * reciprocal.significand,
        exponent=single.exponent + reciprocal.exponent,
    )
    return split(compose(product, F32), F32)


def _floor_log2_float32(single: Parts) -> I64:
    """Floor of log2 in float32, correctly rounded: one too large just below a power of two."""
    shift = floor_log2(single.significand)
    binade = single.exponent + shift
    below = (1 << 24) - (single.significand << (23 - shift))  # of 2**24 to the next power
    reach = _reach()[np.clip(binade + 1 + 150, 0, 300)]
    floor: I64 = binade + (below <= reach)
    return floor


@functools.cache
def _reach() -> NDArray[np.int64]:
    """By k + 150, the largest j for which the float32 log2 of 2**k - j * 2**(k - 24) is k.

    log2 of 2**k (1 - j 2**-24) rounds to k if it is at most half a unit in the last place of the
    numbers below k away: half(k) = 2**(floor(log2 m) - 24), m the magnitude just on that side.
    """
    reach = [0] * 301
    with decimal.localcontext(decimal.Context(prec=60)):
        for k in range(-149, 130):
            if k == 0:
                continue  # the logarithms near 0 are too close for this
            size = abs(k)
            power = size & (size - 1) == 0
            exponent = size.bit_length() - 1 - (power and k > 0)
            half = decimal.Decimal(2) ** (exponent - 24)
            reach[k + 150] = int((1 - decimal.Decimal(2) ** -half) * (1 << 24))
    return np.array(reach, np.int64)
