"""Qwix 0.1.8, on JAX 0.10.2 on a CPU: `quantize` of mxfp8 and mxfp4.

Its scales are numbers; this profile gives FF for NaN and infinity, and elements 00 under FF. The
arithmetic is XLA's, as in `mxref.profiles.jax`.
Source: qwix 0.1.8, qwix/_src/core/qarray.py (compute_scale_zero_point) and numerics.py
(convert_to); SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.bits.floats import I64
from mxref.bits.logarithm import ceil_ln_log2
from mxref.formats.catalog import E8M0
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.jax import clipped, element, fraction_of_max
from mxref.profiles.quark import INF_SCALE
from mxref.profiles.stages import NAN_SCALE, Rows, Stages, largest_or_nan, powers

__all__ = ["PROFILES"]

_SMALLEST = 2.0**-63


def scale(amax: F64Array, rows: Rows) -> I64:
    """ceil(log2(amax / max)) with JAX's logarithm; scale 1 where amax / max is below 2**-63."""
    s = fraction_of_max(amax, rows)
    code = ceil_ln_log2(np.where(s < _SMALLEST, 1.0, s), rows.layout) + E8M0.bias
    return np.where(np.isnan(s), NAN_SCALE, np.where(np.isinf(s), INF_SCALE, code))


def quotients(code: I64, rows: Rows) -> F64Array:
    """Numbers times the scale's reciprocal, clipped to +-max."""
    reciprocal = np.where(code == INF_SCALE, 0.0, powers(E8M0.bias - code))
    return clipped(reciprocal[:, None], rows)


def without_infinity(code: I64, elements: I64, rows: Rows) -> tuple[I64, I64]:
    """FF for an infinite scale; element codes 00 under FF."""
    nan = (code == NAN_SCALE)[:, None]
    return np.minimum(code, NAN_SCALE), np.where(nan, 0, elements)


PROFILES = (
    Profile(
        "qwix",
        Policy.parse("ocp+nan=signed_quiet+scale_rule=rceil"),
        "google/qwix, qwix/_src/core/qarray.py: quantize, not compiled as a whole",
        "0.1.8, jax 0.10.2",
        checked="tools/adapters/qwix_adapter.py",
        formats={"quantize": ("mxfp8_e4m3", "mxfp4_e2m1")},
        floats=("f32", "bf16"),
        stages=Stages(
            amax=largest_or_nan,
            scale=scale,
            divide=quotients,
            element=element,
            nonfinite=without_infinity,
        ),
    ),
)
