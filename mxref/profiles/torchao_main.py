"""torchao after 0.18, on a CPU: `to_mx` and `to_dtype` as pull request 4725 rewrote them.

Finite blocks follow the policy. Source: pytorch/ao 050515e8,
torchao/prototype/mx_formats/mx_tensor.py; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.bits.floats import F32, I64
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    NAN_SCALE,
    Rows,
    Stages,
    exact_quotients,
    float32_bits,
    largest_or_nan,
    scale_by_rule,
    unchanged,
)
from mxref.profiles.torchao import BLOCKS, ELEMENTS, element, even_scale

__all__ = ["PROFILES"]


def even_scale_or_nan(amax: F64Array, rows: Rows) -> I64:
    """`even_scale` of torchao 0.18, but NaN where amax is rounded up to 2**128."""
    code = even_scale(amax, rows)
    overflows = float32_bits(amax) + (1 << (22 - rows.format.mantissa_bits)) >= F32.inf_bits
    return np.where(overflows, NAN_SCALE, code)


def quotients(code: I64, rows: Rows) -> F64Array:
    """Exact quotients; the NaN 7fc00001 under a NaN scale."""
    nan = np.int64(0x7FF8_0000_2000_0000).view(np.float64)
    return np.where((code == NAN_SCALE)[:, None], nan, exact_quotients(code, rows))


_MODES = {
    "floor": ("floor", scale_by_rule),
    "ceil": ("ceil", scale_by_rule),
    "even": ("even", even_scale_or_nan),
    "rceil": ("rceil_reciprocal", scale_by_rule),
}

PROFILES = tuple(
    Profile(
        f"torchao_main_{mode}",
        Policy.parse(f"ocp+nan=signed+scale_rule={rule}"),
        "pytorch/ao, torchao/prototype/mx_formats: to_mx and to_dtype, ScaleCalculationMode."
        + mode.upper(),
        "0.19.0 in development (050515e8), torch 2.13.0",
        checked=f"tools/adapters/torchao_main_adapter.py:{mode.upper()}",
        formats={"shared_scale": ELEMENTS, "quantize": BLOCKS, "dequantize": BLOCKS},
        floats=("f32", "bf16"),
        stages=Stages(
            amax=largest_or_nan, scale=scale, divide=quotients, element=element, nonfinite=unchanged
        ),
    )
    for mode, (rule, scale) in _MODES.items()
)
