"""triton_kernels' references in torch, as vLLM 0.33.0 carries them, and AMD Quark's older kernels.

The arithmetic is in float32. Source: triton-lang/triton, python/triton_kernels/triton_kernels/
numerics_details/mxfp.py; AMD Quark, quark/torch/kernel/mx/triton.py; SPEC_NOTES, stages of
profiles.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mxref.bits.float32 import F64Array, fl
from mxref.bits.floats import BF16, I64
from mxref.formats.catalog import E2M1, E8M0
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    Rows,
    Stages,
    element_by_policy,
    exact_quotients,
    float32_bits,
    largest_or_nan,
    powers,
    unchanged,
)

__all__ = ["PROFILES"]

_AWAY = Policy.parse("ocp+rounding=ties_to_away+nan_to_finite=signed_max")


def up_scale(amax: F64Array, rows: Rows) -> I64:
    """The exponent field of amax / max, rounded up; the carry of NaN goes into the sign: 0."""
    bits = float32_bits(fl(amax / rows.format.max_normal))
    return bits + 0x7F_FFFF >> 23 & 0xFF


def down_scale(amax: F64Array, rows: Rows) -> I64:
    """The exponent field of amax / max."""
    return float32_bits(fl(amax / rows.format.max_normal)) >> 23 & 0xFF


def products(code: I64, rows: Rows) -> F64Array:
    """Products with the scale's reciprocal, which is 0 for the bytes 00 and FF."""
    factor = np.where(np.isin(code, (0, 0xFF)), 0.0, powers(E8M0.bias - code))[:, None]
    nothing = np.isinf(rows.x) & (factor == 0)  # x86 gives the negative NaN
    return np.where(nothing, -np.nan, fl(rows.x * factor))


def element(q: F64Array, rows: Rows) -> I64:
    """FP4: ties away from zero, NaN saturates. FP8: codes by policy."""
    away = dataclasses.replace(rows, policy=_AWAY)
    return element_by_policy(q, away if rows.format == E2M1 else rows)


def _seen(rows: Rows) -> Rows:
    """The numbers as Triton's interpreter widens bfloat16: a subnormal loses its leading bit.

    The rest of its significand is shifted up to the place of that bit.
    """
    size = np.abs(rows.x)
    leading = (size.view(np.int64) & 0x7FF << 52).view(np.float64)
    rest = np.copysign((size - leading) * (2.0**-126 / leading), rows.x)
    subnormal = (size != 0) & (size < 2.0**-126) & (rows.layout == BF16)
    return dataclasses.replace(rows, x=np.where(subnormal, rest, rows.x))


def largest_seen(rows: Rows) -> F64Array:
    """The largest magnitude as widened, infinity included; the last NaN if all are NaN."""
    size = np.abs(_seen(rows).x)
    amax = np.maximum.reduce(np.where(np.isnan(size), -1.0, size), axis=1)
    return np.where(amax < 0, size[:, -1], amax)


def products_seen(code: I64, rows: Rows) -> F64Array:
    """`products` of the numbers as the interpreter widens them."""
    return products(code, _seen(rows))


def quotients_seen(code: I64, rows: Rows) -> F64Array:
    """Exact quotients of the numbers as the interpreter widens them."""
    return exact_quotients(code, _seen(rows))


def even_scale(amax: F64Array, rows: Rows) -> I64:
    """Exponent field of amax + half a unit of FP4's last place, less emax."""
    field = float32_bits(amax) + 0x20_0000 >> 23 & 0xFF
    return np.where(field == 0xFF, E8M0.max_code, np.maximum(field - rows.format.emax, 0))


_BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp4_e2m1")

PROFILES = tuple(
    Profile(
        f"triton_kernels_{mode}",
        Policy.parse("ocp+nan=signed+scale_00=zero+scale_ff=inf"),
        "triton-lang/triton, triton_kernels/numerics_details/mxfp.py: downcast_to_mxfp_torch and "
        f"upcast_from_mxfp_torch, DequantScaleRoundingMode.ROUND_{mode.upper()}",
        "vllm 0.33.0, torch 2.13.0",
        checked=f"tools/adapters/triton_kernels_adapter.py:{mode.upper()}_FP4 and _FP8",
        formats={"quantize": _BLOCKS, "dequantize": _BLOCKS},
        floats=("f32", "bf16", "f16"),
        stages=Stages(
            amax=largest_or_nan, scale=scale, divide=products, element=element, nonfinite=unchanged
        ),
    )
    for mode, scale in (("up", up_scale), ("down", down_scale))
) + tuple(
    Profile(
        f"quark_triton_{mode}",
        Policy.parse("ocp+rounding=ties_to_away+nan_to_finite=signed_max"),
        "AMD Quark, quark/torch/kernel/mx/triton.py: downcast_to_mxfp by Triton's interpreter",
        "amd-quark 0.13, triton 3.9.0, NumPy 2.4.6",
        checked=f"tools/adapters/quark_triton_adapter.py:{mode.upper()}",
        formats={"quantize": ("mxfp4_e2m1",)},
        floats=("bf16", "f16"),
        stages=Stages(amax=largest_seen, scale=scale, divide=divide, nonfinite=unchanged),
    )
    for mode, scale, divide in (
        ("even", even_scale, quotients_seen),
        ("up", up_scale, products_seen),
        ("down", down_scale, products_seen),
    )
)
