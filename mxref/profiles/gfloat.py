"""gfloat 0.5.2: `round_ndarray`, `encode_ndarray`, and blocks by `compute_scale_amax`.

Source: graphcore-research/gfloat v0.5.2, src/gfloat/block.py; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.bits.floats import I64
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import Rows, Stages, element_by_policy, unchanged
from mxref.profiles.tosa import quotients

__all__ = ["PROFILES"]


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
            "encode": tuple(ELEMENT_FORMATS),
            "decode": tuple(ELEMENT_FORMATS),
            "decode_scale": ("e8m0",),
            "shared_scale": tuple(ELEMENT_FORMATS),
            "quantize": tuple(BLOCK_FORMATS),
        },
        floats=("f32", "f16", "bf16"),
        stages=Stages(
            divide=quotients,
            element=element,
            nonfinite=unchanged,
        ),
    ),
)
