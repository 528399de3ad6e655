"""Blocks under scales that are float32 numbers, of a format or powers of two.

Each operation is rounded to float32; only `element_from=exact` encodes the exact quotient. M is
the largest element, a the largest magnitude of a block, s its scale. Source: SPEC_NOTES N48 to N51.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import FLT_MAX, F64Array, as_float32, fl, rounded, wide
from mxref.bits.floats import (
    F32,
    F64,
    U8,
    Bits,
    FloatLayout,
    Parts,
    Stochastic,
    compose,
    split,
)
from mxref.bits.logarithm import ceil_log2, floor_log2
from mxref.blocks.arithmetics import give_signs
from mxref.blocks.exact_scales import quotient
from mxref.blocks.routes import refuse_nan
from mxref.blocks.two_level import largest_number
from mxref.formats.catalog import BlockFormat
from mxref.numbers.element import encode_parts, encoded
from mxref.policy.choices import AmaxFloor, BlockNaN, ElementFrom, ScaleFrom, ScalePower
from mxref.policy.policy import Policy

U32 = NDArray[np.uint32]

#: The least a of each floor, as float32 has it.
_FLOORS: Final[Mapping[AmaxFloor, F64Array]] = {
    one: fl(np.array(float(one.value)))
    for one in (AmaxFloor.TRILLIONTH, AmaxFloor.TEN_BILLIONTH, AmaxFloor.TEN_THOUSANDTH)
}
#: The members whose scale is 1 over what elements are multiplied by.
_BY_MULTIPLIER: Final = frozenset({ScaleFrom.MULTIPLIER, ScaleFrom.MULTIPLIER_OR_ONE})


def float_scale_rows(
    rows: Bits,
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    draw: Stochastic | None,
    amax: float | None = None,
) -> tuple[U32, U8]:
    """Scales as float32 patterns, and element codes, of blocks that are rows.

    A given `amax` is in place of the largest magnitude of every block.
    """
    if policy.float_scale.element_from is ElementFrom.EXACT:
        return _exact_rows(rows, layout, fmt, policy, draw, amax)
    x = wide(rows, layout)
    largest = np.maximum if policy.scale.block_nan is BlockNaN.NAN_BLOCK else np.fmax
    with np.errstate(all="ignore"):
        found = largest.reduce(np.abs(x), axis=1, initial=0.0)
        found = found if amax is None else np.full_like(found, amax)
        scales, multipliers = _scales(found, fmt, policy, layout)
        match policy.float_scale.element_from:
            case ElementFrom.QUOTIENT:
                quotients = fl(x / scales[:, np.newaxis])
            case ElementFrom.RECIPROCAL:
                quotients = fl(x * fl(1.0 / scales)[:, np.newaxis])
            case _:
                quotients = fl(x * multipliers[:, np.newaxis])
        give_signs(quotients, x)
    refuse_nan(np.isnan(quotients), fmt, policy)
    if draw is None:
        codes = encoded(quotients, fmt.element, policy.element)
    else:
        codes = encode_parts(_parts(quotients), fmt.element, policy.element, draw)
    return _patterns(scales), codes


def _exact_rows(
    rows: Bits,
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    draw: Stochastic | None,
    given_amax: float | None,
) -> tuple[U32, U8]:
    """`float_scale_rows` by exact quotients; NaN and infinity make NaN blocks of zeros."""
    source = layout
    if layout != F64:
        rows, layout = as_float32(rows, layout), F32
    parts = split(rows, layout)
    word = layout.uint.type
    finite = np.where(parts.is_inf | parts.is_nan, word(0), rows & word(layout.sign_bit - 1))
    amax = finite.max(axis=1)
    if given_amax is not None:
        amax[:] = np.array(given_amax, layout.dtype).view(word)
    nan_block = parts.is_inf.any(axis=1)
    if policy.scale.block_nan is BlockNaN.NAN_BLOCK:
        nan_block |= parts.is_nan.any(axis=1)
    with np.errstate(all="ignore"):
        given = _exact_scales(amax, fmt, policy) if layout == F64 else None
        scales, _ = _scales(wide(amax, layout), fmt, policy, source, given)
    scales = np.minimum(scales, FLT_MAX)
    refuse_nan(parts.is_nan[~nan_block], fmt, policy)
    if layout == F32 and draw is None:
        codes = encoded(_quotients(wide(rows, F32), scales), fmt.element, policy.element)
    else:
        codes = encode_parts(_exact_quotients(parts, scales), fmt.element, policy.element, draw)
    codes[nan_block] = 0
    return np.where(nan_block, np.uint32(F32.nan_bits), _patterns(scales)), codes


def _quotients(x: F64Array, scales: F64Array) -> F64Array:
    """Quotients that round to elements as the exact ones do.

    A threshold T of elements has at most 9 bits and a scale 24. Where x / s is not T, x - T s is at
    least one unit of the last place of x or of T s, so that x / s is off T by at least one part in
    2**33. float64 division is off by less than one in 2**52 in any rounding mode.
    """
    nothing = scales == 0
    with np.errstate(all="ignore"):
        found = x / np.where(nothing, 1.0, scales)[:, np.newaxis]
        found[nothing] *= 0.0
    return found


def _exact_quotients(parts: Parts, scales: F64Array) -> Parts:
    by = _parts(scales)
    nothing = (by.significand == 0)[:, np.newaxis]
    whole = dataclasses.replace(parts, significand=np.where(nothing, 0, parts.significand))
    below = np.maximum(by.significand, 1) >> 29  # float32 numbers end with 29 zeros or more
    found = quotient(whole, np.maximum(below, 1)[:, np.newaxis], (by.exponent + 29)[:, np.newaxis])
    return dataclasses.replace(found, is_inf=parts.is_inf, is_nan=parts.is_nan)


def _exact_scales(amax: Bits, fmt: BlockFormat, policy: Policy) -> F64Array | None:
    """A / M of float64 numbers, rounded once; None where float32 is rounded before."""
    how = policy.float_scale
    if how.scale_from is not ScaleFrom.QUOTIENT:
        return None
    if how.amax_floor in _FLOORS:
        amax = np.maximum(amax, _FLOORS[how.amax_floor].view(np.uint64))
    n, e = largest_number(fmt.element)
    found: F64Array = wide(compose(quotient(split(amax, F64), np.int64(n), np.int64(e)), F32), F32)
    return found


def _scales(
    a: F64Array,
    fmt: BlockFormat,
    policy: Policy,
    layout: FloatLayout,
    given: F64Array | None = None,
) -> tuple[F64Array, F64Array]:
    """The scales of blocks, and what elements are multiplied by; `given` are those of any power."""
    how, m = policy.float_scale, fmt.element.max_normal
    if how.amax_floor in _FLOORS:
        a = np.maximum(a, _FLOORS[how.amax_floor])
    multiplier = fl(m / a)
    match how.scale_from:
        case ScaleFrom.QUOTIENT:
            scale = fl(a / m) if given is None else given
        case ScaleFrom.SOURCE_QUOTIENT:
            scale = rounded(a / m, layout)
        case ScaleFrom.RECIPROCAL:
            scale = fl(a * fl(np.array(1.0 / m)))
        case _:
            if how.scale_from is ScaleFrom.MULTIPLIER_OR_ONE:
                largest = FLT_MAX if layout == F64 else _largest(layout)
                multiplier = np.where(np.isinf(multiplier), largest, multiplier)
                multiplier = np.where((a > 0) & (a < np.inf), multiplier, 1.0)
            multiplier = _to_power(multiplier, how.scale_power, up=False)
            scale = fl(1.0 / multiplier)
    if how.scale_from not in _BY_MULTIPLIER and how.scale_power is not ScalePower.ANY:
        scale = _to_power(scale, how.scale_power, up=True)
        multiplier = fl(1.0 / scale)
    if how.amax_floor is AmaxFloor.SCALE:
        scale = np.maximum(scale, fl(np.array(1.0 / (512.0 * m))))
        multiplier = np.minimum(multiplier, 512.0 * m)
    return scale, multiplier


def _to_power(x: F64Array, power: ScalePower, *, up: bool) -> F64Array:
    """Numbers without sign rounded to powers of two, or as they are."""
    if power is ScalePower.ANY:
        return x
    if power is ScalePower.BIT_CEILING:
        bits = x.view(np.int64)
        exponent = (bits >> 52) - F64.bias + (up & (bits & ((1 << 52) - 1) != 0))
        return _power(np.clip(exponent, F32.emin, F32.bias))
    exponent = (ceil_log2 if up else floor_log2)(np.where((x > 0) & (x < np.inf), x, 1.0))
    powers = np.where(exponent > F32.bias, np.inf, _power(exponent))
    return np.where((x > 0) & (x < np.inf), powers, x)


def _power(exponent: NDArray[Any]) -> F64Array:
    powers: F64Array = ((exponent + F64.bias) << 52).view(np.float64)
    return powers


def _largest(layout: FloatLayout) -> F64Array:
    return wide(np.array([layout.inf_bits - 1], layout.uint), layout)


def _parts(x: F64Array) -> Parts:
    return split(np.ascontiguousarray(x).view(np.uint64), F64)


def _patterns(scales: F64Array) -> U32:
    """float32 patterns of scales, NaN without sign."""
    found: U32 = compose(_parts(scales), F32) & np.uint32(F32.sign_bit - 1)
    return found
