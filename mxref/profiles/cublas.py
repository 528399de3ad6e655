"""cuBLAS: NVFP4 by the formulas of its documentation; nothing was run.

Source: cuBLAS documentation, 16-element 1D block scaling for FP4; SPEC_NOTES N41.
"""

from __future__ import annotations

from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile

__all__ = ["PROFILES"]

NVFP4 = ("nvfp4", "fp4_ue4m3")

PROFILES = (
    Profile(
        "cublas_nvfp4",
        Policy.parse("ocp+scale_arithmetic=cublas"),
        "NVIDIA cuBLAS, its documentation: 1D block scaling for FP4",
        "13, its text alone",
        formats={"quantize": NVFP4, "dequantize": NVFP4},
        floats=("f32", "bf16", "f16"),
    ),
)
