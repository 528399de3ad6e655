"""IEEE P3109, interim report v4.0 (26 June 2026, a draft): ConvertToBlockMaxAbsFinite.

From the text of the draft; no implementation was run. Its scale format is Binary8p1uf and its
element formats are its own, all with NaN; this profile has E8M0, which has no zero, and OCP's FP8.
Source: P3109 4.7, 5; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.bits.floats import I64
from mxref.numbers.scale import encode_scale
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import NAN_SCALE, Rows, Stages, unchanged

__all__ = ["PROFILES"]

_ELEMENTS = ("e5m2", "e4m3")
_BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3")


def scale(amax: F64Array, rows: Rows) -> I64:
    """The largest finite magnitude rounded to a power of two, without division by the format's."""
    code = encode_scale(amax, rows.policy).astype(np.int64)
    return np.where(np.isnan(rows.x).all(axis=1), NAN_SCALE, code)


PROFILES = (
    Profile(
        "p3109",
        Policy.parse("ocp+scale_rounding=ties_to_even+block_nan=ignore+block_inf=ignore"),
        "P3109 interim report v4.0 5, ConvertToBlockMaxAbsFinite with nearest, SatFinite",
        "4.0, a draft of 26 June 2026",
        checked="the text of the draft; no implementation was run",
        formats={"shared_scale": _ELEMENTS, "quantize": _BLOCKS, "dequantize": _BLOCKS},
        stages=Stages(scale=scale, nonfinite=unchanged),
    ),
)
