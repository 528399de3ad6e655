"""Transformer Engine: MXFP8, whose rule cuBLAS documents, too, and NVFP4, also by 4 over 6.

Source: NVIDIA/TransformerEngine 0b21a82d, common/cast/mxfp8/quantize_mxfp8.cuh and
dequantize_mxfp8.cuh, common/util/ptx.cuh and ptx_arch_spec.cuh; d0067d0d,
common/cast/nvfp4/core_nvfp4.cuh, quantize_4over6_nvfp4.cuh and dequantize_nvfp4.cuh,
common/recipe/__init__.py.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import Rows, Stages

__all__ = ["PROFILES"]

_BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3")
_FLOATS = ("f32", "f16", "bf16")


def largest_number(rows: Rows) -> F64Array:
    """The largest magnitude among the numbers and infinities of a block; 0 if all are NaN."""
    size = np.abs(rows.x)
    amax: F64Array = np.where(np.isnan(size), 0.0, size).max(axis=1)
    return amax


PROFILES = (
    Profile(
        "transformer_engine_mxfp8",
        Policy.parse("ocp+scale_rule=rceil_reciprocal+block_nan=ignore+block_inf=largest_scale"),
        "NVIDIA/TransformerEngine, transformer_engine/common/cast/mxfp8",
        "2.20.0 in development (0b21a82d)",
        checked="tools/adapters/transformer_engine_adapter.py: its functions, compiled for a CPU",
        formats={
            "shared_scale": ("e5m2", "e4m3"),
            "quantize": _BLOCKS,
            "dequantize": _BLOCKS,
        },
        floats=_FLOATS,
        stages=Stages(amax=largest_number),
    ),
    *(
        Profile(
            f"transformer_engine_nvfp4{name}",
            Policy.parse(f"ocp+scale_arithmetic=transformer_engine{name}"),
            f"NVIDIA/TransformerEngine, transformer_engine/common/cast/nvfp4/{file}",
            "2.20.0 in development (d0067d0d)",
            checked="its reference in PyTorch, reference_nvfp4.py, but for NaN and zeros' signs",
            formats={"quantize": ("nvfp4",), "dequantize": ("nvfp4",)},
            floats=_FLOATS,
        )
        for name, file in (
            ("", "core_nvfp4.cuh"),
            ("_4over6", "quantize_4over6_nvfp4.cuh"),
            ("_4over6_mse", "quantize_4over6_nvfp4.cuh"),
        )
    ),
)
