"""Transformer Engine: MXFP8, whose rule cuBLAS documents, too, and NVFP4, also by 4 over 6.

Source: NVIDIA/TransformerEngine 0b21a82d, common/cast/mxfp8/quantize_mxfp8.cuh and
dequantize_mxfp8.cuh, common/util/ptx.cuh and ptx_arch_spec.cuh; d0067d0d,
common/cast/nvfp4/core_nvfp4.cuh, quantize_4over6_nvfp4.cuh and dequantize_nvfp4.cuh,
common/recipe/__init__.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.bits.floats import U8
from mxref.blocks.arithmetics import four_over_six
from mxref.formats.catalog import BlockFormat
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import Rows, Stages, element_by_policy
from mxref.profiles.stages import largest_number as largest_of_numbers

__all__ = ["PROFILES"]

_BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3")
_FLOATS = ("f32", "f16", "bf16")


def largest_number(rows: Rows) -> F64Array:
    """The largest magnitude among the numbers and infinities of a block; 0 if all are NaN."""
    return largest_of_numbers(rows)


def _tried(rows: Rows, t: F64Array | None, fmt: BlockFormat, **how: Any) -> tuple[U8, U8]:
    amax, column = largest_number(rows)[:, np.newaxis], None if t is None else t[:, np.newaxis]
    codes, quotients = four_over_six(rows.x, amax, column, fmt, rows.layout, **how)
    return codes.reshape(-1), element_by_policy(quotients, rows).astype(np.uint8)


def within_448(rows: Rows, t: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
    """4 over 6 with 448 in place of 256: scales of 4 above 448 are 448."""
    return _tried(rows, t, fmt, room=448)


def within_448_squared(rows: Rows, t: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
    """The same by squared errors."""
    return _tried(rows, t, fmt, room=448, squared=True)


def scaled_errors(rows: Rows, t: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
    """4 over 6 by errors of element times scale, from x times E."""
    return _tried(rows, t, fmt, scaled=True)


def scaled_errors_squared(rows: Rows, t: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
    """The same by squared errors."""
    return _tried(rows, t, fmt, scaled=True, squared=True)


def scaled_within_448(rows: Rows, t: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
    """The errors of `scaled_errors` with 448 in place of 256."""
    return _tried(rows, t, fmt, scaled=True, room=448)


def scaled_within_448_squared(rows: Rows, t: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
    """The same by squared errors."""
    return _tried(rows, t, fmt, scaled=True, room=448, squared=True)


_FILES = {"": "core_nvfp4.cuh"}
#: The ends of names, the arithmetics of the policies, and the blocks that differ from these.
_NVFP4: tuple[tuple[str, str, Stages], ...] = (
    ("", "", Stages()),
    ("_4over6", "_4over6", Stages()),
    ("_4over6_mse", "_4over6_mse", Stages()),
    ("_4over6_448", "", Stages(blocks=within_448)),
    ("_4over6_448_mse", "", Stages(blocks=within_448_squared)),
    ("_4over6_fast", "_4over6", Stages(blocks=scaled_errors)),
    ("_4over6_fast_mse", "_4over6_mse", Stages(blocks=scaled_errors_squared)),
    ("_4over6_448_fast", "", Stages(blocks=scaled_within_448)),
    ("_4over6_448_fast_mse", "", Stages(blocks=scaled_within_448_squared)),
)


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
            Policy.parse(f"ocp+scale_arithmetic=transformer_engine{arithmetic}"),
            "NVIDIA/TransformerEngine, transformer_engine/common/cast/nvfp4/"
            + _FILES.get(name, "quantize_4over6_nvfp4.cuh"),
            "2.20.0 in development (d0067d0d)",
            checked="its reference in PyTorch, reference_nvfp4.py, but for NaN and zeros' signs",
            formats=dict.fromkeys(("quantize", "dequantize"), ("nvfp4", "nvfp4_16x16")),
            floats=_FLOATS,
            stages=stages,
        )
        for name, arithmetic, stages in _NVFP4
    ),
)
