"""pychop 0.6.2, its NumPy backend: `MXBlock_`, whose scale and elements are numbers.

NaN elements get the code of the policy, since most formats have none; under a NaN scale elements
are 00. Source: pychop 0.6.2, pychop/np/mx_formats.py; SPEC_NOTES, stages of
profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.bits.floats import I64
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import NAN_SCALE, Rows, Stages, exact_quotients, scale_by_rule

__all__ = ["PROFILES"]


def scale(amax: F64Array, rows: Rows) -> I64:
    """The scale by the policy's rule; NaN for a block of NaN alone."""
    return np.where(np.isnan(rows.x).all(axis=1), NAN_SCALE, scale_by_rule(amax, rows))


def quotients(code: I64, rows: Rows) -> F64Array:
    """Exact quotients; zeros for a block that has only NaN and zeros."""
    nothing = (np.isnan(rows.x) | (rows.x == 0)).all(axis=1)
    return np.where(nothing[:, None], 0.0, exact_quotients(code, rows))


PROFILES = (
    Profile(
        "pychop",
        Policy.parse(
            "ocp+zero_sign=dropped+underflow_sign=dropped+int8_range=full"
            "+scale_rule=floor_log2_float32+block_nan=ignore+block_inf=largest_scale"
        ),
        "inEXASCALE/pychop, pychop/np/mx_formats.py: MXBlock_",
        "0.6.2, NumPy 2.4.6",
        checked="tools/adapters/pychop_adapter.py",
        formats={
            "quantize": (
                "mxfp8_e5m2",
                "mxfp8_e4m3",
                "mxfp6_e3m2",
                "mxfp6_e2m3",
                "mxfp4_e2m1",
                "mxint8",
            )
        },
        floats=("f32",),
        stages=Stages(scale=scale, divide=quotients),
    ),
)
