"""JAX 0.10.2 on a CPU: the quantizer of `jax.nn.scaled_matmul`, not compiled as a whole, and casts.

XLA divides by multiplying with a reciprocal. For float32 and bfloat16 it computes in float32 and
flushes subnormal operands and results to zero; for float16 it rounds to float16 and keeps them.
Source: jax 0.10.2, jax/_src/cudnn/scaled_matmul_stablehlo.py (quantize); jaxlib 0.10.2; SPEC_NOTES,
stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array, flushed, rounded
from mxref.bits.floats import F16, F32, F64, I64, FloatLayout
from mxref.formats.catalog import E5M2, E8M0
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    NAN_SCALE,
    Rows,
    Stages,
    e8m0_by_policy,
    element_by_policy,
    float32_bits,
    largest_or_nan,
    powers,
    unchanged,
)

__all__ = ["PROFILES"]

_FLOAT16_SCALE_00 = 2.0**-15


def fraction_of_max(amax: F64Array, rows: Rows) -> F64Array:
    """The quotient amax / max as XLA computes it: amax * (1 / max)."""
    reciprocal = rounded(np.array(1 / rows.format.max_normal), F16 if rows.layout is F16 else F32)
    return _in_type(_in_type(amax, rows) * reciprocal, rows)


def scale(amax: F64Array, rows: Rows) -> I64:
    """Exponent field of amax / max, plus 1 if the mantissa is not 0, modulo 256: 0 for NaN."""
    bits = float32_bits(fraction_of_max(amax, rows))
    code: I64 = (bits >> 23) + (bits & 0x7F_FFFF != 0) & 0xFF
    return code


def clipped(reciprocal: F64Array, rows: Rows) -> F64Array:
    """Numbers times the scales' reciprocals, clipped to +-max; 0 * infinity is a negative NaN."""
    x, limit = _in_type(rows.x, rows), rows.format.max_normal
    nothing = np.isinf(x) & (reciprocal == 0) | (x == 0) & np.isinf(reciprocal)
    q = np.where(nothing, -np.nan, _in_type(x * reciprocal, rows))
    return np.where(np.isnan(rows.x), rows.x, np.clip(q, -limit, limit))


def quotients(code: I64, rows: Rows) -> F64Array:
    """Clipped quotients; scale byte 00 is 2**-15 in float16, else flushed to 0; FF is infinity."""
    small = _FLOAT16_SCALE_00 if rows.layout is F16 else 0.0
    value = np.where(code == 0, small, powers(code - E8M0.bias))
    value = np.where(code == NAN_SCALE, np.inf, value)
    return clipped(_in_type(1 / _in_type(value, rows), rows)[:, None], rows)


def element(q: F64Array, rows: Rows) -> I64:
    """Codes by policy; NaN is -0 in E2M1, and 7F in E5M2 if it comes from a 16-bit float."""
    codes, fmt = element_by_policy(q, rows), rows.format
    if fmt.nan_code is None:
        return np.where(np.isnan(q), fmt.sign_bit, codes)
    ones = fmt == E5M2 and rows.layout.width == 16
    return np.where(np.isnan(q) & ones, fmt.sign_bit - 1, codes)


def scale_byte(x: F64Array, layout: FloatLayout, policy: Policy) -> I64:
    """E8M0 codes by policy; float64 below 2**-127 gives NaN."""
    tiny = (x < 2.0**-127) & (layout is F64)
    return np.where(tiny, NAN_SCALE, e8m0_by_policy(x, layout, policy))


def _in_type(x: F64Array, rows: Rows) -> F64Array:
    """A result rounded to the type of the arithmetic, then to that of the values."""
    if rows.layout is F16:
        return rounded(x, F16)
    return rounded(flushed(rounded(x, F32)), rows.layout)


_CASTS = ("e5m2", "e4m3", "e2m1")
_POLICY = (
    "ocp+overflow=nonsaturating+nan=signed_quiet+nan_to_finite=signed_zero"
    "+scale_rounding=ties_to_away+scale_overflow=nan+scale_of_zero=nan+scale_of_negative=nan"
    "+tiny_scale=as_if_zero"
)

PROFILES = (
    Profile(
        "jax",
        Policy.parse("ocp+scale_rule=rceil+nan=signed_quiet"),
        "jax-ml/jax, jax/_src/cudnn/scaled_matmul_stablehlo.py: quantize, not compiled as a whole",
        "0.10.2",
        checked="tools/adapters/jax_adapter.py",
        formats={"shared_scale": ("e5m2", "e4m3"), "quantize": ("mxfp8_e5m2", "mxfp8_e4m3")},
        floats=("f32", "bf16", "f16"),
        stages=Stages(
            amax=largest_or_nan, scale=scale, divide=quotients, element=element, nonfinite=unchanged
        ),
    ),
    Profile(
        "jax_casts",
        Policy.parse(_POLICY),
        "openxla/xla in jaxlib: casts on a CPU, compiled one by one",
        "0.10.2",
        checked="tools/adapters/jax_casts_adapter.py",
        formats={
            "encode": _CASTS,
            "decode": _CASTS,
            "encode_scale": ("e8m0",),
            "decode_scale": ("e8m0",),
        },
        stages=Stages(element=element, e8m0=scale_byte),
    ),
)
