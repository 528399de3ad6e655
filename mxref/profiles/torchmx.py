"""torchmx 0.1.0: scales by FLOOR; INT8 elements are plain integers, with scales 6 lower.

Source: rain-neuromorphics/torchmx 7648b97, src/torchmx/mx_tensor.py and mx_quantization_utils.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array
from mxref.bits.floats import F64, I64, FloatLayout, compose, split
from mxref.formats.catalog import E8M0, BlockFormat, ElementFormat
from mxref.numbers.element import decode
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import (
    NAN_SCALE,
    Rows,
    Stages,
    exact_quotients,
    float32_bits,
    largest_or_nan,
    powers,
    products,
)

__all__ = ["PROFILES"]


def _point(fmt: ElementFormat) -> int:
    """Fraction bits of an element in MX that torchmx counts as integer bits: 6 for INT8, else 0."""
    return fmt.mantissa_bits if fmt.twos_complement else 0


def field_scale(amax: F64Array, rows: Rows) -> I64:
    """The exponent field less emax, and less 6 for INT8; FF for NaN and infinity."""
    field = float32_bits(amax) >> 23 & 0xFF
    code = np.maximum(field - rows.format.emax - _point(rows.format), 0)
    return np.where(field == 0xFF, NAN_SCALE, code)


def quotients(code: I64, rows: Rows) -> F64Array:
    """Exact quotients; those of INT8 are plain integers."""
    q: F64Array = exact_quotients(code, rows) / (1 << _point(rows.format))
    return q


def integer_products(fmt: BlockFormat, layout: FloatLayout, policy: Policy) -> NDArray[Any]:
    """Products; of INT8 the scale times the plain integer."""
    if not _point(fmt.element):
        return products(fmt, layout, policy)
    codes = np.arange(fmt.element.code_count, dtype=np.uint8)
    integers = decode(codes, fmt.element, np.float64) * (1 << _point(fmt.element))
    numbers = powers(np.arange(NAN_SCALE + 1) - E8M0.bias)[:, None] * integers
    numbers[NAN_SCALE] = np.nan
    return compose(split(numbers.view(np.uint64), F64), layout).astype(layout.uint)


_BLOCKS = ("mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")

PROFILES = (
    Profile(
        "torchmx",
        Policy.parse("ocp+fp4_packing=high_nibble_first"),
        "rain-neuromorphics/torchmx: quantize_mx and dequantize_mx",
        "0.1.0, torchao 0.6.1, torch 2.13.0",
        checked="tools/adapters/torchmx_adapter.py and :INT8",
        formats={
            "shared_scale": ("e4m3", "e3m2", "e2m3", "e2m1", "int8"),
            "quantize": _BLOCKS,
            "dequantize": _BLOCKS,
        },
        floats=("bf16",),
        stages=Stages(
            amax=largest_or_nan, scale=field_scale, divide=quotients, decode=integer_products
        ),
    ),
)
