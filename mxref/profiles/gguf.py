"""llama.cpp's FP4: MXFP4 of its Python, gguf 0.19.0, and NVFP4 of its library, ggml.

The arithmetic is in float32. Source: ggml-org/llama.cpp, gguf-py/gguf/quants.py, class MXFP4;
ggml-org/ggml d99724f2, src/ggml-quants.c, quantize_row_nvfp4_ref and dequantize_row_nvfp4, and
src/ggml-impl.h, ggml_fp32_to_ue4m3; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, fl
from mxref.bits.floats import F64, I64, U8, FloatLayout, compose, split
from mxref.bits.logarithm import floor_log2
from mxref.blocks.arithmetics import numbers
from mxref.formats.catalog import E8M0, UE4M3, BlockFormat
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    Rows,
    Stages,
    element_by_policy,
    float32_bits,
    largest_number,
    largest_or_nan,
    powers,
    unchanged,
)

__all__ = ["PROFILES"]

_NUMBERS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def wrapped_scale(amax: F64Array, rows: Rows) -> I64:
    """(floor(log2(amax)) - 2 + 127) modulo 256, log2 in float32; 0 for 0, infinity and NaN."""
    code = floor_log2(amax) - rows.format.emax + E8M0.bias & 0xFF
    return np.where((amax > 0) & np.isfinite(amax), code, 0)


def nearest_numbers(code: I64, rows: Rows) -> F64Array:
    """The FP4 number whose float32 product with the scale is nearest, the smaller of two."""
    return _nearest(powers(code - E8M0.bias)[:, None], rows.x)


def _nearest(scale: F64Array, x: F64Array) -> F64Array:
    size = least = np.abs(x)
    best = np.zeros(size.shape)
    for number in _NUMBERS:
        distance = np.abs(fl(fl(scale * number) - size))
        best = np.where(distance < least, number, best)
        least = np.fmin(distance, least)
    return np.copysign(best, x)


def nvfp4_scale(wanted: F64Array) -> I64:
    """UE4M3 codes: halves up, below 2**-6 at most 7, from 248 on 7E; 0 of NaN."""
    wanted = np.where(wanted > 0, np.minimum(wanted, UE4M3.max_normal), 0.0)
    small = np.minimum(fl(fl(wanted * 512) + 0.5).astype(np.int64), 7)
    steps = (float32_bits(wanted) >> 19) + 1 >> 1  # exponent field and three bits, rounded half up
    code = np.minimum(steps - (120 << 3), 0x78)
    return np.where(wanted < 2.0**-6, small, np.where(code == 0x78, UE4M3.max_code, code))


def nvfp4_blocks(rows: Rows, tensor: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
    """Scales of amax / 6 by `nvfp4_scale`, elements by distance as in `nearest_numbers`."""
    codes = nvfp4_scale(fl(largest_number(rows) / fmt.element.max_normal))
    best = _nearest(numbers(fmt.scale)[codes][:, np.newaxis], rows.x)
    return codes.astype(np.uint8), element_by_policy(best, rows).astype(np.uint8)


def without_minus_zero(fmt: BlockFormat, layout: FloatLayout, policy: Policy) -> NDArray[Any]:
    """Products with 0 in place of the scale 7F, and with 0 in place of -0."""
    scales = np.nan_to_num(numbers(fmt.scale), nan=0.0)
    products = fl(scales[:, np.newaxis] * (numbers(fmt.element) + 0.0))
    return compose(split(products.view(np.uint64), F64), layout)


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
    Profile(
        "gguf_nvfp4",
        Policy.parse("ocp+zero_sign=dropped"),
        "ggml-org/ggml (llama.cpp's), src/ggml-quants.c: quantize_row_nvfp4_ref and "
        "dequantize_row_nvfp4",
        "main (d99724f2)",
        checked="tests/peers/test_gguf_nvfp4_peers.py",
        formats={"quantize": ("fp4_ue4m3",), "dequantize": ("fp4_ue4m3",)},
        floats=("f32", "bf16", "f16"),
        stages=Stages(blocks=nvfp4_blocks, decode=without_minus_zero),
    ),
)
