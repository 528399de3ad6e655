"""The TOSA reference model 2026.8.0: CAST, CAST_TO_BLOCK_SCALED and CAST_FROM_BLOCK_SCALED.

The stages are for NaN elements and for tiny INT8 elements. Source: the package tosa-tools;
SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array, rounded
from mxref.bits.floats import BF16, F32, I64, Bool
from mxref.formats.catalog import MX_BLOCKS
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    NAN_SCALE,
    Rows,
    Stages,
    element_by_policy,
    exact_quotients,
    float32_bits,
    unchanged,
)

__all__ = ["PROFILES"]

_FP8 = ("e5m2", "e4m3")


def quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients in float32 or bfloat16; NaN under a NaN scale, with the sign of a NaN element."""
    is_nan = (code == NAN_SCALE)[:, np.newaxis] & ~np.isnan(rows.x)
    layout = BF16 if rows.layout == BF16 else F32
    return np.where(is_nan, np.nan, rounded(exact_quotients(code, rows), layout))


def _stray(q: F64Array) -> Bool:
    """Where a shift of 64 or more, taken modulo 64 by the processor, leaves more than one half."""
    bits = float32_bits(q)
    field = bits >> 23 & 0xFF
    significand = bits & 0x7F_FFFF | (field > 0).astype(np.int64) << 23
    shift = np.where(field > 0, 143 - field, 141)  # to the bit that counts one half of 1/64
    half = np.int64(1) << shift % 64
    found: Bool = (shift >= 64) & (significand & half != 0) & (significand & (half - 1) != 0)
    return found


def element(q: F64Array, rows: Rows) -> I64:
    """FP6, FP4: NaN has mantissa 0; E4M3: overflow has no sign; INT8: tiny numbers may be 1, FF."""
    codes, fmt = element_by_policy(q, rows), rows.format
    if fmt.nan_code is not None:
        overflow = np.isfinite(q) & (codes & 0x7F == fmt.nan_code)
        return np.where(overflow, fmt.nan_code, codes)
    if fmt.twos_complement:
        return np.where(_stray(q), np.where(q < 0, 0xFF, 1), codes)
    return np.where(np.isnan(q), codes >> fmt.mantissa_bits << fmt.mantissa_bits, codes)


PROFILES = (
    Profile(
        "tosa",
        Policy.parse(
            "ocp+overflow=nonsaturating+nan=signed_quiet+nan_to_finite=signed_max+int8_range=full"
            "+scale_rule=tosa"
        ),
        "TOSA reference model: CAST, CAST_TO_BLOCK_SCALED, CAST_FROM_BLOCK_SCALED",
        "2026.8.0",
        checked="tools/adapters/tosa_adapter.py and :CASTS",
        formats={
            "encode": _FP8,
            "decode": _FP8,
            "quantize": MX_BLOCKS,
            "dequantize": MX_BLOCKS,
        },
        floats=("f32", "bf16", "f16"),
        stages=Stages(divide=quotients, element=element, nonfinite=unchanged),
    ),
)
