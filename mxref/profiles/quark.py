"""AMD Quark 0.13 on a CPU: scales of its MX observer, elements as it packs them, and simulations.

The arithmetic is in float32, the logarithms of floor and ceil in the type of the values. Between
stages a scale code may be outside 0 to 255: below 0 for a scale below 2**-127, `INF_SCALE` for an
infinite one.
Source: amd-quark 0.13, quark/torch/quantization/observer/observer.py (get_scale), utils.py
(even_round), quark/torch/kernel/hw_emulation, quark/torch/utils; SPEC_NOTES, stages of profiles.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array, fl
from mxref.bits.floats import F32, I64, FloatLayout
from mxref.bits.logarithm import ceil_log2, floor_log2, nearest_log2
from mxref.formats.catalog import E8M0
from mxref.numbers.element import decode, encode
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    NAN_SCALE,
    Rows,
    Stages,
    element_by_policy,
    float32_bits,
    largest_or_nan,
    nan_block_codes,
    powers,
)

__all__ = ["PROFILES"]

INF_SCALE = 256
_EPS = E8M0.bias - 23
_SMALLEST_NORMAL = 2.0**-126
_ONES = np.array(0xFFFF_FFFF_E000_0000, np.uint64).view(np.float64)


def even_scale(amax: F64Array, rows: Rows) -> I64:
    """Exponent field of amax + half a unit of the element's last place, less emax."""
    bits = float32_bits(amax)
    field = np.where(bits == 0, 1, bits + (1 << (22 - _bits_of_fraction(rows))) >> 23)
    code = np.where(field == 255, E8M0.max_code, np.maximum(field - rows.format.emax, 0))
    return np.where(bits > F32.inf_bits, NAN_SCALE, code)


def floor_scale(amax: F64Array, rows: Rows) -> I64:
    """floor(log2(amax)) - emax, the logarithm in the values' type."""
    return _power(amax, floor_log2(amax, rows.layout), rows)


def ceil_scale(amax: F64Array, rows: Rows) -> I64:
    """ceil(log2(amax)) - emax, the logarithm in the values' type."""
    return _power(amax, ceil_log2(amax, rows.layout), rows)


def quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients; under a NaN scale a positive NaN."""
    return _quotients(code, rows, np.nan)


def power_quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients; under a NaN scale the NaN of ones that torch's vectorized 2**NaN gives."""
    return _quotients(code, rows, _ONES)


def element(q: F64Array, rows: Rows) -> I64:
    """Codes by policy; of NaN and infinity low exponent bits and high mantissa bits."""
    bits = float32_bits(q) | np.isnan(q) * 0x40_0000
    low = bits >> (23 - rows.format.mantissa_bits) & (rows.format.sign_bit - 1)
    special = low | (bits >> 31) * rows.format.sign_bit
    return np.where(np.isfinite(q), element_by_policy(q, rows), special)


def exported(code: I64, elements: I64, rows: Rows) -> tuple[I64, I64]:
    """Exported bytes: at least 01; NaN and infinity, which become the integer 0, give 7F."""
    return np.where(code > E8M0.max_code, E8M0.bias, np.maximum(code, 1)), elements


def exported_byte(x: F64Array, layout: FloatLayout, policy: Policy) -> I64:
    """E8M0 codes: the integer nearest to log2(max(x, 2**-126)), plus 127."""
    exponent = nearest_log2(np.maximum(np.where(x < np.inf, x, 1.0), _SMALLEST_NORMAL))
    return np.minimum(exponent, E8M0.bias) + E8M0.bias


def _bits_of_fraction(rows: Rows) -> int:
    """Mantissa bits of the element; 8 for INT8."""
    return 8 if rows.format.twos_complement else rows.format.mantissa_bits


def _power(amax: F64Array, exponent: I64, rows: Rows) -> I64:
    """The code of 2**(exponent - emax) in the values' type; `_EPS` where that is 0."""
    exponent = exponent - rows.format.emax
    nothing = (amax == 0) | (exponent < rows.layout.emin - rows.layout.mantissa_bits)
    code = np.where(nothing, _EPS, exponent + E8M0.bias)
    return np.where(np.isnan(amax), NAN_SCALE, np.where(np.isinf(amax), INF_SCALE, code))


def _quotients(code: I64, rows: Rows, nan: float | F64Array) -> F64Array:
    scale = np.where(code == INF_SCALE, np.inf, powers(code - E8M0.bias))[:, None]
    q = fl(np.where(code[:, None] == NAN_SCALE, nan, rows.x / scale))
    q = np.where(np.isinf(scale) & np.isinf(rows.x), -np.nan, q)  # as x86 has it
    return np.where(np.isnan(rows.x), rows.x, q)


def _simulated_scale(code: I64, rows: Rows) -> F64Array:
    """The divisor: the scale, of INT8 at least 2**-120, as a 64th of it is at least 2**-126."""
    least = 7 if rows.format.twos_complement else 0
    return powers(np.maximum(code, least) - E8M0.bias)[:, None]


def simulated_quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients by the divisor of the simulation."""
    return np.where(np.isnan(rows.x), rows.x, fl(rows.x / _simulated_scale(code, rows)))


def simulated(code: I64, elements: I64, rows: Rows) -> tuple[I64, I64]:
    """Codes of the simulated numbers divided by the observer's scale; infinity and 2 overflow."""
    numbers = decode(elements.astype(np.uint8), rows.format, np.float64, rows.policy)
    numbers = fl(numbers * _simulated_scale(code, rows)) / powers(code - E8M0.bias)[:, None]
    codes = encode(numbers, rows.format, overflow="nonsaturating", int8_range="full")
    return nan_block_codes(code, codes.astype(np.int64), rows)


_FORMATS = ("e3m2", "e2m3", "e2m1")
_BLOCKS = ("mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1")
_MODES = {
    "even": ("even", even_scale, quotients),
    "floor": ("floor_log2_float32", floor_scale, power_quotients),
    "ceil": ("ceil", ceil_scale, power_quotients),
}
_VERSION = "0.13, torch 2.13.0"

PROFILES = (
    *(
        Profile(
            f"quark_{mode}",
            Policy.parse(
                "ocp+zero_sign=dropped+underflow_sign=dropped+scale_ff=inf"
                f"+product_rounding=scale_first+scale_rule={rule}"
            ),
            f'amd/Quark, scaled_real_quantize, scale_calculation_mode="{mode}", to_e8m0_uint8',
            _VERSION,
            checked=f"tools/adapters/quark_adapter.py:{mode.upper()} and :E8M0",
            formats={
                "encode": _FORMATS,
                "encode_scale": ("e8m0",),
                "shared_scale": _FORMATS,
                "quantize": _BLOCKS,
                "dequantize": _BLOCKS,
            },
            floats=("f32", "bf16", "f16"),
            stages=Stages(
                amax=largest_or_nan,
                scale=scale,
                divide=divide,
                element=element,
                nonfinite=exported,
                e8m0=exported_byte,
            ),
        )
        for mode, (rule, scale, divide) in _MODES.items()
    ),
    Profile(
        "quark_fake",
        Policy.parse("ocp+scale_rule=even"),
        "amd/Quark, fake_quantize_mx; its numbers as codes",
        _VERSION,
        checked="tools/adapters/quark_adapter.py:FAKE",
        formats={"quantize": ("mxfp8_e5m2", "mxfp8_e4m3", "mxint8")},
        floats=("f32",),
        stages=Stages(
            amax=largest_or_nan, scale=even_scale, divide=simulated_quotients, nonfinite=simulated
        ),
    ),
)
