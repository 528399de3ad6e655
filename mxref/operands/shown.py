"""Codes and floats in words."""

from __future__ import annotations

import math

import numpy as np

from mxref.bits.floats import FloatLayout, split
from mxref.formats.catalog import E8M0, CodeFormat
from mxref.support.text import hex_float

__all__ = ["show_code", "show_fields", "show_float"]


def show_code(code: int, fmt: CodeFormat) -> str:
    """A code and its value.

    >>> from mxref.formats.catalog import E4M3
    >>> show_code(0x7E, E4M3), show_code(0x7F, E4M3), show_code(0x77, E8M0)
    ('7e = 448', '7f = nan', '77 = 2^-8')
    """
    if not 0 <= code < fmt.code_count:
        return f"{code:02x} = no code of {fmt.name}"
    if fmt is E8M0 and not fmt.is_nan(code):
        return f"{code:02x} = 2^{code - fmt.bias}"
    return f"{code:0{2 if fmt.bits <= 8 else 8}x} = {fmt.value(code):.9g}"


def show_fields(code: int, fmt: CodeFormat) -> str:
    """Sign, exponent and significand of a code as bits; empty where it has no such fields.

    >>> from mxref.formats.catalog import E2M1, INT8
    >>> show_fields(0b1011, E2M1), show_fields(3, INT8), show_fields(3, E8M0)
    (' (1 01 1)', '', '')
    """
    if fmt is E8M0 or getattr(fmt, "twos_complement", False) or not 0 <= code < fmt.code_count:
        return ""
    bits = f"{code:0{fmt.bits}b}"
    ends = (int(fmt.signed), fmt.bits - fmt.mantissa_bits)
    fields = (bits[: ends[0]], bits[ends[0] : ends[1]], bits[ends[1] :])
    return f" ({' '.join(filter(None, fields))})"


def show_float(bits: int, layout: FloatLayout) -> str:
    """A float pattern, as hex float and decimal.

    >>> from mxref.bits.floats import F32
    >>> show_float(0x43E80001, F32)
    '43e80001 = 0x1.d00002p+8 = 464.00003'
    """
    parts = split(np.array([bits], np.uint64), layout)
    digits = f"{bits:0{layout.width // 4}x}"
    sign = "-" if parts.negative[0] else ""
    if parts.is_nan[0] or parts.is_inf[0]:
        return f"{digits} = {sign}{'nan' if parts.is_nan[0] else 'inf'}"
    value = math.ldexp(int(parts.significand[0]), int(parts.exponent[0]))
    decimals = {"f64": 17, "f32": 8}.get(layout.name, 5)
    return f"{digits} = {sign}{hex_float(value)} = {sign}{value:.{decimals}g}"
