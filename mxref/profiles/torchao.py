"""torchao 0.18.0, prototype/mx_formats, on a CPU: `to_mx` and `to_dtype`, and NVFP4.

The arithmetic is in float32. Source: pytorch/ao v0.18.0,
torchao/prototype/mx_formats/mx_tensor.py and nvfp4_tensor.py, and
torchao/prototype/custom_fp_utils.py; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mxref.bits.float32 import F64Array, fl
from mxref.bits.floats import F32, I64, U8
from mxref.bits.logarithm import ceil_log2
from mxref.blocks.arithmetics import numbers
from mxref.formats.catalog import E8M0, UE4M3
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    NAN_SCALE,
    Rows,
    Stages,
    element_by_policy,
    float32_bits,
    largest_or_nan,
    powers,
    unchanged,
)

if TYPE_CHECKING:
    from mxref.blocks.container import Blocks

__all__ = ["PROFILES"]

ELEMENTS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
NVFP4 = ("nvfp4", "fp4_ue4m3")
BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1")


def _field(bits: I64, rows: Rows) -> I64:
    """The exponent field less emax, at least 0; FF for NaN."""
    code = np.maximum((bits >> 23 & 0xFF) - rows.format.emax, 0)
    return np.where(bits > F32.inf_bits, NAN_SCALE, code)


def floor_scale(amax: F64Array, rows: Rows) -> I64:
    """The exponent field of amax less emax; the field of infinity is 255."""
    return _field(float32_bits(amax), rows)


def ceil_scale(amax: F64Array, rows: Rows) -> I64:
    """`floor_scale`, plus 1 where the significand is not 1."""
    bits = float32_bits(amax)
    code = (bits >> 23 & 0xFF) + (bits & 0x7F_FFFF != 0) - rows.format.emax
    return np.where(bits > F32.inf_bits, NAN_SCALE, np.maximum(code, 0))


def even_scale(amax: F64Array, rows: Rows) -> I64:
    """`floor_scale` of amax + half a unit of the element's last place."""
    bits = float32_bits(amax)
    rounded = bits + (1 << (22 - rows.format.mantissa_bits)) & -1 << 23
    return _field(np.where(bits > F32.inf_bits, bits, rounded), rows)


def rceil_scale(amax: F64Array, rows: Rows) -> I64:
    """ceil(log2(amax / max)), the quotient and the logarithm in float32."""
    descale = fl(amax / rows.format.max_normal)
    code = np.clip(ceil_log2(descale), -E8M0.bias, E8M0.bias) + E8M0.bias
    code = np.where(descale == 0, 0, np.where(np.isinf(descale), E8M0.max_code, code))
    return np.where(np.isnan(descale), NAN_SCALE, code)


def quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients by a scale of at least 2**-126; byte FF is infinity."""
    scale = np.where(code == NAN_SCALE, np.inf, powers(np.maximum(code, 1) - E8M0.bias))[:, None]
    nothing = np.isinf(rows.x) & np.isinf(scale)
    return np.where(nothing, -np.nan, fl(rows.x / scale))  # x86 gives the negative NaN


def rceil_quotients(code: I64, rows: Rows) -> F64Array:
    """Products with 2**(127 - byte), or with 1 where the byte is 0; NaN for FF."""
    factor = np.where(code == 0, 1.0, powers(E8M0.bias - code))
    q = fl(rows.x * factor[:, None])
    return np.where((code == NAN_SCALE)[:, None], np.nan, q)


def element(q: F64Array, rows: Rows) -> I64:
    """Codes by policy; where the format has no NaN, the bits of NaN are rounded as a number's."""
    codes = element_by_policy(q, rows)
    is_nan = np.isnan(q)
    if rows.format.nan_code is not None or not is_nan.any():
        return codes
    bits, cut = float32_bits(q[is_nan]), 23 - rows.format.mantissa_bits
    low = (bits & 0x7FFF_FFFF) + ((rows.format.bias - 127) << 23) + (1 << (cut - 1)) - 1
    codes[is_nan] = (low + (bits >> cut & 1) >> cut) & 0xFF | (bits >> 31) << (rows.format.bits - 1)
    return codes


def packed(codes: U8, format: str, policy: Policy) -> U8:
    """Bytes of element codes, which must be even in number."""
    if codes.shape[-1] % 2:
        raise ValueError(f"codes must be an even number, got {codes.shape[-1]}")
    from mxref.packing.elements import pack

    return pack(codes, format, policy)


def nvfp4_codes(blocks: Blocks, x: F64Array) -> U8:
    """Shifts make B of the NaN of 0 times infinity; 4 or C of a scale's NaN; 3 of that of T."""
    t = np.asarray(1.0 if blocks.tensor_scale is None else blocks.tensor_scale.value, np.float64)
    infinite = np.isinf(fl(fl(1.0 / t) / numbers(UE4M3)[blocks.scale_codes]))
    nan, of_nan = np.isnan(numbers(UE4M3))[blocks.scale_codes], np.isnan(x)
    for axis, size in zip(blocks.tiling.axes, blocks.format.block_shape, strict=True):
        infinite, nan = infinite.repeat(size, axis), nan.repeat(size, axis)
        starts = range(0, x.shape[axis], size)
        of_nan = np.logical_or.reduceat(of_nan, starts, axis).repeat(size, axis)
    codes = np.where((x == 0) & infinite, 0x0B, blocks.codes)
    of_scale = np.where(np.isnan(t), 0x03, np.where(of_nan, 0x04, 0x0C))
    return np.where(nan, of_scale, codes).astype(np.uint8)


_MODES = {
    "floor": (floor_scale, quotients),
    "ceil": (ceil_scale, quotients),
    "even": (even_scale, quotients),
    "rceil": (rceil_scale, rceil_quotients),
}

_TO_MX = tuple(
    Profile(
        f"torchao_0_18_{mode}",
        Policy.parse(f"ocp+nan=signed+scale_rule={mode}"),
        "pytorch/ao, torchao/prototype/mx_formats: to_mx and to_dtype, ScaleCalculationMode."
        + mode.upper(),
        "0.18.0, torch 2.13.0",
        checked=f"tools/adapters/torchao_adapter.py:{mode.upper()}, :CASTS and :LAYOUTS",
        formats={
            "encode": ELEMENTS[2:],
            "decode": ELEMENTS[2:],
            "shared_scale": ELEMENTS,
            "quantize": BLOCKS,
            "dequantize": BLOCKS,
            "pack": ("e2m1",),
            "unpack": ("e2m1",),
        },
        floats=("f32", "bf16"),
        stages=Stages(
            amax=largest_or_nan,
            scale=scale,
            divide=divide,
            element=element,
            nonfinite=unchanged,
            pack=packed,
        ),
    )
    for mode, (scale, divide) in _MODES.items()
)

PROFILES = (
    *_TO_MX,
    Profile(
        "torchao_0_18_nvfp4",
        Policy.parse("ocp+scale_arithmetic=torchao"),
        "pytorch/ao, torchao/prototype/mx_formats: nvfp4_quantize and NVFP4Tensor.dequantize",
        "0.18.0 and main (36027d82, the same file), torch 2.13.0",
        checked="tests/peers/test_nvfp4_peers.py",
        formats={"quantize": NVFP4, "dequantize": NVFP4},
        floats=("f32", "bf16"),
        stages=Stages(scaled=nvfp4_codes),
    ),
)
