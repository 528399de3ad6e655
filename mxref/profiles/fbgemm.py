"""FBGEMM 1.8.0 on a CPU: MX4, `fp32_to_mx4` and `mx4_to_fp32`, in the rounding modes of its scale.

Source: fbgemm-gpu-cpu 1.8.0, fbgemm_gpu/quantize_utils.py and fbgemm_gpu/triton/quantize_ref.py;
SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, wide
from mxref.bits.floats import F32, I64, FloatLayout
from mxref.bits.logarithm import ceil_log2, floor_log2, half_up_log2
from mxref.formats.catalog import E8M0, BlockFormat
from mxref.numbers.element import decode
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.quark import power_quotients
from mxref.profiles.stages import (
    NAN_SCALE,
    Rows,
    Stages,
    element_by_policy,
    float32_bits,
    largest_or_nan,
    products,
)

__all__ = ["PROFILES"]

_SMALLEST_NORMAL = 2.0**-126
_HIGHEST = 125 + E8M0.bias


def first_nan(rows: Rows) -> F64Array:
    """The largest magnitude, or the first NaN of the block with its payload."""
    amax = largest_or_nan(rows)
    first = np.argmax(np.isnan(rows.x), axis=1)[:, None]
    return np.where(np.isnan(amax), np.abs(np.take_along_axis(rows.x, first, 1)[:, 0]), amax)


def nearest_scale(amax: F64Array, rows: Rows) -> I64:
    """floor(log2(amax) + 0.5) - emax, in float32."""
    return _clamped(half_up_log2(_amax(amax)), amax, rows)


def floor_scale(amax: F64Array, rows: Rows) -> I64:
    """floor(log2(amax)) - emax, with the logarithm in float32."""
    return _clamped(floor_log2(_amax(amax)), amax, rows)


def ceil_scale(amax: F64Array, rows: Rows) -> I64:
    """ceil(log2(amax)) - emax, with the logarithm in float32."""
    return _clamped(ceil_log2(_amax(amax)), amax, rows)


def even_scale(amax: F64Array, rows: Rows) -> I64:
    """`floor_scale` of amax whose bits are raised by half an ulp of the element, less 1."""
    half = 1 << (22 - rows.format.mantissa_bits)
    moved = wide((float32_bits(_amax(amax)) + half - 1).astype(np.uint32), F32)
    return _clamped(floor_log2(moved), np.where(moved < 0, np.nan, moved), rows)


def element(q: F64Array, rows: Rows) -> I64:
    """Codes by policy; rounded exponent fields of 254 and above wrap, so they give signed zeros."""
    return element_by_policy(np.where(np.abs(q) < 1.75 * 2.0**126, q, np.copysign(0.0, q)), rows)


def stored(code: I64, elements: I64, rows: Rows) -> tuple[I64, I64]:
    """Stored bytes: a NaN scale, cast to an integer, is 0."""
    return np.where(code == NAN_SCALE, 0, code), elements


def signed_bytes(fmt: BlockFormat, layout: FloatLayout, policy: Policy) -> NDArray[Any]:
    """Products whose exponent, byte - 127, is a signed 8-bit integer: -128 for FF."""
    table = products(fmt, layout, policy).reshape(256, -1).copy()
    codes = np.arange(fmt.element.code_count)
    numbers = decode(codes, fmt.element, np.float64, policy)
    table[NAN_SCALE] = float32_bits(numbers * 2.0**-128)
    return table.reshape(-1)


def _amax(amax: F64Array) -> F64Array:
    return np.where(amax == 0, _SMALLEST_NORMAL, amax)


def _clamped(exponent: I64, amax: F64Array, rows: Rows) -> I64:
    code = np.clip(exponent - rows.format.emax + E8M0.bias, 0, _HIGHEST)
    return np.where(np.isnan(amax), NAN_SCALE, np.where(np.isinf(amax), _HIGHEST, code))


_MODES = {
    "nearest": ("nearest_log2_power", nearest_scale),
    "floor": ("floor_log2_float32", floor_scale),
    "even": ("even", even_scale),
    "ceil": ("ceil", ceil_scale),
}
_BLOCKS = ("mxfp4_e2m1",)

PROFILES = tuple(
    Profile(
        f"fbgemm_mx4_{mode}",
        Policy.parse(
            f"ocp+rounding=ties_to_away+decoded_zero=dropped+scale_place=after+scale_rule={rule}"
        ),
        f"pytorch/FBGEMM, fp32_to_mx4 and mx4_to_fp32 on a CPU, RoundingMode.{mode}",
        "1.8.0, torch 2.13.0",
        checked=f"tools/adapters/fbgemm_adapter.py:{mode.upper()}",
        formats={"quantize": _BLOCKS, "dequantize": _BLOCKS},
        floats=("f32",),
        stages=Stages(
            amax=first_nan,
            scale=scale,
            divide=power_quotients,
            element=element,
            nonfinite=stored,
            decode=signed_bytes,
        ),
    )
    for mode, (rule, scale) in _MODES.items()
)
