"""gfloat 0.5.2: `round_ndarray`, `encode_ndarray`, and blocks by `compute_scale_amax`.

Source: graphcore-research/gfloat v0.5.2, src/gfloat/block.py; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.bits.floats import F64, I64
from mxref.bits.logarithm import floor_log2
from mxref.formats.catalog import E8M0, MX_BLOCKS, MX_ELEMENTS
from mxref.policy.policy import Policy
from mxref.profiles import tosa
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    NAN_SCALE,
    Rows,
    Stages,
    element_by_policy,
    exact_quotients,
    scale_by_rule,
    unchanged,
)

__all__ = ["PROFILES"]


def scale(amax: F64Array, rows: Rows) -> I64:
    """By the policy; from float64 floor(log2 amax) - emax with the logarithm in float64."""
    code = scale_by_rule(amax, rows)
    if rows.layout is not F64:
        return code
    number = (amax > 0) & np.isfinite(rows.x).all(axis=1)
    exponent = floor_log2(np.where(number, amax, 1.0), F64) - rows.format.emax
    return np.where(number, np.clip(exponent, -E8M0.bias, E8M0.bias) + E8M0.bias, code)


def quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients in float64, or in float32; NaN under a NaN scale."""
    if rows.layout is not F64:
        return tosa.quotients(code, rows)
    return np.where((code == NAN_SCALE)[:, np.newaxis], np.nan, exact_quotients(code, rows))


def element(q: F64Array, rows: Rows) -> I64:
    """Codes by policy; a NaN is an error in a format that has none."""
    if rows.format.nan_code is None and np.isnan(q).any():
        raise ValueError(f"values must not be NaN: {rows.format.name} has no NaN")
    return element_by_policy(q, rows)


PROFILES = (
    Profile(
        "gfloat",
        Policy.parse(
            "ocp+nan=negative+nan_to_finite=error+int8_range=full+scale_rule=floor_log2_float32"
            "+block_inf=largest_scale"
        ),
        "graphcore-research/gfloat, src/gfloat/block.py: compute_scale_amax, encode_block",
        "0.5.2",
        checked="tools/adapters/gfloat_adapter.py",
        formats={
            "encode": MX_ELEMENTS,
            "decode": MX_ELEMENTS,
            "decode_scale": ("e8m0",),
            "shared_scale": MX_ELEMENTS,
            "quantize": MX_BLOCKS,
        },
        floats=("f32", "f16", "bf16", "f64"),
        stages=Stages(
            scale=scale,
            divide=quotients,
            element=element,
            nonfinite=unchanged,
        ),
    ),
)
