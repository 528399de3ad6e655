"""FlashInfer: NVFP4 by the reference in its tests, `ref_fp4_quant`, on a CPU.

The arithmetic is in float32. Its kernels have the same formula, with approximate reciprocals.
Source: flashinfer-ai/flashinfer fb28d724, tests/test_helpers/utils_fp4.py, and for reading
csrc/nv_internal/tensorrt_llm/thop/fp4Op.cpp; SPEC_NOTES N41, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array, fl
from mxref.bits.floats import U8, FloatLayout
from mxref.blocks.arithmetics import numbers
from mxref.formats.catalog import BlockFormat
from mxref.numbers.element import encode
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import Rows, Stages, element_by_policy, largest_or_nan

__all__ = ["PROFILES"]

NVFP4 = ("nvfp4", "fp4_ue4m3")


def _reciprocal(x: F64Array) -> F64Array:
    """1 / x in float32, and 0 of 0."""
    return np.where(x == 0, 0.0, fl(1.0 / x))


def _inverse(g: F64Array | None) -> F64Array:
    return _reciprocal(np.ones(1) if g is None else g)


def global_scale(amax: F64Array, fmt: BlockFormat, layout: FloatLayout) -> F64Array:
    """G = 2688 times the rounded reciprocal of A; infinity for a tensor of zeros."""
    top = fmt.element.max_normal * fmt.scale.max_normal
    return fl(fl(1.0 / amax) * top)


def blocks(rows: Rows, g: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
    """Scales of G times (amax times 1 / 6), elements times 1 / (scale times 1 / G); 0 for 1 / 0."""
    sixth = fl(1.0 / np.array([fmt.element.max_normal]))
    wanted = fl((1.0 if g is None else g) * fl(largest_or_nan(rows) * sixth))
    codes = encode(wanted, fmt.scale)
    factors = _reciprocal(fl(numbers(fmt.scale)[codes] * _inverse(g)))
    elements = element_by_policy(fl(rows.x * factors[:, np.newaxis]), rows)
    return codes, elements.astype(np.uint8)


def scales(s: F64Array, g: F64Array | None, fmt: BlockFormat) -> F64Array:
    """The scale times 1 / G."""
    return fl(s * _inverse(g))


PROFILES = (
    Profile(
        "flashinfer_nvfp4",
        Policy.parse("ocp+scale_arithmetic=compressed_tensors+zero_sign=dropped"),
        "flashinfer-ai/flashinfer, tests/test_helpers/utils_fp4.py: ref_fp4_quant, and "
        "e2m1_and_ufp8sf_scale_to_float",
        "main (fb28d724), torch 2.13.0",
        checked="tests/peers/test_flashinfer_peers.py",
        formats={"quantize": NVFP4, "dequantize": NVFP4},
        floats=("f32", "bf16", "f16"),
        stages=Stages(tensor=global_scale, blocks=blocks, scales=scales),
    ),
)
