"""Scale times element, for every scale code with every element code."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._bits import FloatLayout, Parts, compose, floor_log2, split
from mxref._codes import parts_of
from mxref.choices import DecodedZero, ProductOverflow, ProductRounding
from mxref.formats import BlockFormat
from mxref.policy import DecodePolicy
from mxref.scale import scale_parts


@functools.lru_cache(maxsize=64)
def product_table(fmt: BlockFormat, layout: FloatLayout, policy: DecodePolicy) -> NDArray[Any]:
    """Patterns of scale * element, by scale code * 2**bits + element code."""
    scale, element = scale_parts(policy), parts_of(fmt.element)
    scale_overflows = np.zeros(scale.is_inf.shape, bool)
    if policy.product_rounding is ProductRounding.SCALE_FIRST:
        rounded = _odd_significands(split(compose(scale, layout), layout))
        scale_overflows = rounded.is_inf & ~scale.is_inf
        scale = rounded
    scale_inf, scale_zero = scale.is_inf[:, np.newaxis], scale.significand[:, np.newaxis] == 0
    element_zero = (element.significand == 0) & ~element.is_inf
    is_nan = scale.is_nan[:, np.newaxis] | element.is_nan
    is_nan = is_nan | (scale_inf & element_zero) | (scale_zero & ~scale_inf & element.is_inf)
    products = Parts(
        negative=element.negative & ~is_nan,
        significand=scale.significand[:, np.newaxis] * element.significand,
        exponent=scale.exponent[:, np.newaxis] + element.exponent,
        is_inf=(scale_inf | element.is_inf) & ~is_nan,
        is_nan=is_nan,
        is_subnormal=np.zeros(is_nan.shape, bool),
    )
    bits = compose(products, layout)
    magnitude = bits & layout.uint.type(layout.sign_bit - 1)
    overflows = (magnitude == layout.inf_bits) & ~products.is_inf
    overflows |= scale_overflows[:, np.newaxis] & ~element.is_inf & products.is_inf
    if policy.product_overflow is ProductOverflow.NAN:
        bits = np.where(overflows, layout.uint.type(layout.nan_bits), bits)
    elif policy.product_overflow is ProductOverflow.SATURATE:
        bits = bits - overflows.astype(layout.uint)
    if policy.decoded_zero is DecodedZero.DROPPED:
        bits = np.where(magnitude == 0, layout.uint.type(0), bits)
    return bits.reshape(-1)


def _odd_significands(parts: Parts) -> Parts:
    """The same numbers with the powers of two in the exponent, so that products stay small."""
    shift = floor_log2(parts.significand & -parts.significand)
    return dataclasses.replace(
        parts, significand=parts.significand >> shift, exponent=parts.exponent + shift
    )
