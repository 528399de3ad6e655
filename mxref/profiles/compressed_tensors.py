"""compressed-tensors 0.20.0 on a CPU: `calculate_qparams`, then the compressors' `compress`.

The arithmetic is that of the values' type; reading gives bfloat16. Source:
vllm-project/compressed-tensors 0.20.0, quantization/utils/mxfp_utils.py and
compressors/mx_utils.py; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mxref.bits.float32 import F64Array, rounded
from mxref.bits.floats import BF16, F64, I64, compose, split
from mxref.formats.catalog import E2M3, E4M3, E8M0
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import Rows, Stages, element_by_policy, largest_or_nan, powers

__all__ = ["PROFILES"]

_INFINITE = 0xFF
_E2M1 = Policy.parse("ocp+zero_sign=dropped")


def even_scale(amax: F64Array, rows: Rows) -> I64:
    """Exponent field of amax + half a unit of the last place in its type; 2**0 for scale 0."""
    layout, ones = rows.layout, 3 if rows.format == E2M3 else 1
    bits = compose(split(amax.view(np.uint64), F64), layout).astype(np.int64)
    field = bits + (1 << (layout.mantissa_bits - ones - 1)) >> layout.mantissa_bits
    field = np.where(np.isnan(amax), 0, field)  # NaN has a pattern of ones, which wraps
    code = np.maximum(field - layout.bias - rows.format.emax + E8M0.bias, 0)
    code = np.where(field == 0, 0, np.where(field > 2 * layout.bias, _INFINITE, code))
    return np.where(rounded(powers(code - E8M0.bias), layout) == 0, E8M0.bias, code)


def quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients in the values' type; the divisor is infinite where the exponent is 128."""
    scale = np.where(code == _INFINITE, np.inf, powers(code - E8M0.bias))[:, None]
    nothing = np.isinf(rows.x) & np.isinf(scale)  # x86 gives the negative NaN
    return np.where(nothing, -np.nan, rounded(rows.x / scale, rows.layout))


def element(q: F64Array, rows: Rows) -> I64:
    """E2M1: -0 becomes 0, NaN becomes 0 or, in bfloat16, -0. E2M3: NaN becomes -0."""
    nan, bfloat16 = np.isnan(q), rows.layout == BF16
    if rows.format == E4M3:  # NaN of bfloat16 is positive
        return element_by_policy(np.where(nan & bfloat16, np.nan, q), rows)
    q, below = np.where(nan, 0.0, q), nan & (bfloat16 or rows.format == E2M3)
    plain = rows if rows.format == E2M3 else dataclasses.replace(rows, policy=_E2M1)
    return np.where(below, rows.format.sign_bit, element_by_policy(q, plain))


def stored(code: I64, elements: I64, rows: Rows) -> tuple[I64, I64]:
    """Stored bytes: 7F for an infinite scale, whose logarithm becomes the integer -2**31."""
    return np.where(code == _INFINITE, E8M0.bias, code), elements


_ELEMENTS = ("e4m3", "e2m3", "e2m1")
_BLOCKS = ("mxfp8_e4m3", "mxfp6_e2m3", "mxfp4_e2m1")

PROFILES = (
    Profile(
        "compressed_tensors",
        Policy.parse("ocp+nan=signed+scale_ff=inf"),
        "vllm-project/compressed-tensors: calculate_qparams, and compress and decompress of the "
        "MXFP4, MXFP6 and MXFP8 compressors",
        "0.20.0, torch 2.13.0",
        checked="tools/adapters/compressed_tensors_adapter.py, :MXFP8 and :READS",
        formats={
            "encode": _ELEMENTS,
            "shared_scale": _ELEMENTS,
            "quantize": _BLOCKS,
            "dequantize": _BLOCKS,
        },
        floats=("f32", "bf16", "f16"),
        stages=Stages(
            amax=largest_or_nan,
            scale=even_scale,
            divide=quotients,
            element=element,
            nonfinite=stored,
        ),
    ),
    Profile(
        "compressed_tensors_nvfp4",
        Policy.parse(
            "ocp+scale_arithmetic=compressed_tensors+zero_sign=dropped+nan_to_finite=zero"
        ),
        "vllm-project/compressed-tensors: generate_gparam, calculate_qparams, quantize and "
        "dequantize",
        "0.20.0, torch 2.13.0",
        checked="tests/peers/test_nvfp4_peers.py",
        formats={"quantize": ("nvfp4", "fp4_ue4m3"), "dequantize": ("nvfp4", "fp4_ue4m3")},
        floats=("f32", "bf16", "f16"),
    ),
)
