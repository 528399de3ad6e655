"""MLX on a CPU, 0.31.2 and 0.32.4: `quantize`, `dequantize`, `to_fp8` and `from_fp8`.

The arithmetic is that of the values' type. Source: ml-explore/mlx, mlx/ops.cpp (fp_quantize and
fp_dequantize, which run on a device without kernels of its own) and mlx/backend/cpu/unary_ops.h;
SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, rounded
from mxref.bits.floats import BF16, I64, FloatLayout
from mxref.bits.logarithm import nearest_log2
from mxref.formats.catalog import E4M3, E8M0, BlockFormat, Specials
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import Rows, Stages, element_by_policy, largest_or_nan, powers, products

__all__ = ["FIRST_NEAREST", "PROFILES"]

#: The first of the nearest numbers in a table of codes 0, 1, 2, ...: ties toward zero, no -0.
FIRST_NEAREST = Policy.parse("ocp+rounding=ties_to_zero+zero_sign=dropped+underflow_sign=dropped")
_LOWEST_INT32 = -(2**31)


def nearest_scale(amax: F64Array, rows: Rows) -> I64:
    """The integer nearest to log2(amax / max), 0 for 0, -2**31 where it is not finite; plus 127."""
    scale = rounded(amax / rows.format.max_normal, rows.layout)
    code = np.where(scale == 0, 0, nearest_log2(scale, rows.layout)) + E8M0.bias
    return np.where(np.isfinite(scale), code, _LOWEST_INT32 + E8M0.bias)


def ceil_scale(amax: F64Array, rows: Rows) -> I64:
    """`nearest_scale`, plus 1 where that power of two is less than amax / max."""
    scale = rounded(amax / rows.format.max_normal, rows.layout)
    code = nearest_scale(amax, rows)
    short = np.isfinite(scale) & (scale != 0)
    short &= powers(np.where(short, code - E8M0.bias, 0)) < scale
    return np.where(short, code + 1, code)


def quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients by the power of two whose byte has not yet wrapped; NaN of bfloat16 is positive."""
    exponent = code - E8M0.bias
    scale = np.where(exponent == _LOWEST_INT32, 0.0, powers(np.maximum(exponent, -1022)))[:, None]
    q = rounded(rows.x / scale, rows.layout)
    nothing = (rows.x == 0) & (scale == 0)  # x86 gives the negative NaN
    q = np.where(nothing, -np.nan, q)
    return np.where(np.isnan(q) & (rows.layout == BF16), np.nan, q)


def element(q: F64Array, rows: Rows) -> I64:
    """E4M3: NaN saturates. FP4: the first of the nearest numbers in a table."""
    if rows.format == E4M3:
        return element_by_policy(np.where(np.isnan(q), np.copysign(np.inf, q), q), rows)
    first = dataclasses.replace(rows, policy=FIRST_NEAREST)
    return np.where(np.isfinite(q), element_by_policy(q, first), 0)


def wrapped(code: I64, elements: I64, rows: Rows) -> tuple[I64, I64]:
    """Stored bytes: the biased exponent, rounded to the values' type, modulo 256."""
    biased = rounded(code.astype(np.float64), rows.layout)
    biased = np.where(np.isfinite(biased), biased, 0.0)
    return biased.astype(np.int64) & 0xFF, elements


def without_nan(fmt: BlockFormat, layout: FloatLayout, policy: Policy) -> NDArray[Any]:
    """Products in which the code of E4M3's NaN is the next number, 480."""
    from mxref.blocks.product_tables import product_table

    element = dataclasses.replace(fmt.element, specials=Specials.NONE)
    return product_table(dataclasses.replace(fmt, element=element), layout, policy.decode)


_BOTH = ("mxfp8_e4m3", "mxfp4_e2m1")


def _profile(version: str, scale: Callable[[F64Array, Rows], I64], decode: Any) -> Profile:
    short = "_".join(version.split(".")[:2])
    return Profile(
        f"mlx_{short}",
        Policy.parse("ocp+scale_ff=inf+product_rounding=scale_first"),
        "ml-explore/mlx, mlx/ops.cpp: quantize, dequantize, to_fp8 and from_fp8 on a CPU",
        version,
        checked=f"tools/adapters/mlx_{short}_adapter.py:FP4 and :FP8",
        formats={
            "encode": ("e4m3",), "decode": ("e4m3",), "quantize": _BOTH, "dequantize": _BOTH,
        },
        floats=("f32", "bf16", "f16"),
        stages=Stages(
            amax=largest_or_nan, scale=scale, divide=quotients, element=element, nonfinite=wrapped,
            decode=decode,
        ),
    )  # fmt: skip


PROFILES = (
    _profile("0.31.2", nearest_scale, without_nan),
    _profile("0.32.4", ceil_scale, products),
)
