"""gguf 0.19.0, llama.cpp's Python: MXFP4 by `quants.quantize` and `quants.dequantize`.

The arithmetic is in float32. Source: ggml-org/llama.cpp, gguf-py/gguf/quants.py, class MXFP4;
SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array, fl
from mxref.bits.floats import I64
from mxref.formats.catalog import E8M0
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.logarithm import floor_log2
from mxref.profiles.stages import Rows, Stages, largest_or_nan, powers, unchanged

__all__ = ["PROFILES"]

_NUMBERS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def wrapped_scale(amax: F64Array, rows: Rows) -> I64:
    """(floor(log2(amax)) - 2 + 127) modulo 256, log2 in float32; 0 for 0, infinity and NaN."""
    code = floor_log2(amax) - rows.format.emax + E8M0.bias & 0xFF
    return np.where((amax > 0) & np.isfinite(amax), code, 0)


def nearest_numbers(code: I64, rows: Rows) -> F64Array:
    """The FP4 number whose float32 product with the scale is nearest, the smaller of two."""
    scale = powers(code - E8M0.bias)[:, None]
    size = least = np.abs(rows.x)
    best = np.zeros(size.shape)
    for number in _NUMBERS:
        distance = np.abs(fl(fl(scale * number) - size))
        best = np.where(distance < least, number, best)
        least = np.fmin(distance, least)
    return np.copysign(best, rows.x)


PROFILES = (
    Profile(
        "gguf_mxfp4",
        Policy.parse(
            "ocp+zero_sign=dropped+scale_ff=power+decoded_zero=dropped+fp4_packing=halves"
            "+scale_place=before"
        ),
        "ggml-org/llama.cpp, gguf-py/gguf/quants.py: quantize and dequantize of MXFP4",
        "gguf 0.19.0, NumPy 2.4.6",
        checked="tools/adapters/gguf_adapter.py",
        formats={"quantize": ("mxfp4_e2m1",), "dequantize": ("mxfp4_e2m1",)},
        floats=("f32", "f16"),
        stages=Stages(
            amax=largest_or_nan, scale=wrapped_scale, divide=nearest_numbers, nonfinite=unchanged
        ),
    ),
)
