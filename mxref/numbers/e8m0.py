"""Numbers rounded to powers of two, and codes kept in the range of E8M0 or another format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mxref.bits.floats import I64, U8, FloatLayout, Parts, Stochastic, floor_log2, round_to_code
from mxref.formats.catalog import E8M0, CodeFormat, ScaleFormat
from mxref.policy import choices as c
from mxref.policy.groups import ScalePolicy

NAN = 0xFF


@dataclass(frozen=True, slots=True)
class Powers:
    """The rounding to E8M0 under a policy: its `Encoder`."""

    policy: ScalePolicy
    target: ClassVar[CodeFormat] = E8M0

    def codes(self, parts: Parts, draw: Stochastic | None = None) -> U8:
        """E8M0 codes; no random bits are read."""
        return _encode(parts, self.policy).astype(np.uint8)

    def stochastic_table(self, layout: FloatLayout, draw: Stochastic) -> None:
        """Scales are rounded without random bits."""


def _encode(parts: Parts, chosen: ScalePolicy) -> I64:
    """E8M0 codes of numbers in integer parts."""
    code = round_to_code(
        parts.significand,
        parts.exponent,
        np.zeros_like(parts.negative),
        E8M0.mantissa_bits,
        E8M0.emin,
        c.Rounding[chosen.scale_rounding.name].increments(),
        first_code=1 << E8M0.mantissa_bits,
    )
    if chosen.tiny_scale is not c.TinyScale.EXACT:
        code = _tiny_codes(code, parts, chosen)
    code = codes_within(code, chosen.scale_overflow, c.ScaleUnderflow.CLAMP)
    infinite = E8M0.max_code if chosen.scale_of_inf is c.ScaleOfInf.LARGEST else NAN
    zero = NAN if chosen.scale_of_zero is c.ScaleOfZero.NAN else 0
    code = np.where(parts.significand == 0, zero, code)
    code = np.where(parts.is_inf, infinite, code)
    code = np.where(parts.is_nan, NAN, code)
    if chosen.scale_of_negative is c.ScaleOfNegative.CODE_00:
        code = np.where(parts.negative, 0, code)
    elif chosen.scale_of_negative is c.ScaleOfNegative.CODE_00_IF_FINITE:
        code = np.where(parts.negative & ~parts.is_nan, np.where(parts.is_inf, NAN, 0), code)
    elif chosen.scale_of_negative is c.ScaleOfNegative.NAN:
        code = np.where(parts.negative & (parts.significand != 0), NAN, code)
    return code


def _tiny_codes(code: I64, parts: Parts, policy: ScalePolicy) -> I64:
    """The codes of numbers below 2**-126 in implementations where code 00 rounds like a zero."""
    below = floor_log2(parts.significand) + parts.exponent  # floor(log2 |x|)
    tiny = (below <= E8M0.emin) & (parts.significand != 0)
    if policy.scale_rounding.value.startswith("ties_"):
        is_power = parts.significand & (parts.significand - 1) == 0
        return np.where(tiny, (below == E8M0.emin) & ~is_power, code)
    up = policy.scale_rounding is c.ScaleRounding.TOWARD_POSITIVE
    return np.where(tiny & (up and policy.tiny_scale is c.TinyScale.ALWAYS_UP), 1, code)


def codes_within(
    code: I64, overflow: c.ScaleOverflow, underflow: c.ScaleUnderflow, scale: ScaleFormat = E8M0
) -> I64:
    """Codes outside those of numbers (00 to FE in E8M0) clamped, wrapped or made the NaN code."""
    largest, nan, wrapped = scale.max_code, scale.max_code + 1, code % scale.code_count
    high = {c.ScaleOverflow.NAN: nan}.get(overflow, largest)
    low = {c.ScaleUnderflow.NAN: nan}.get(underflow, 0)
    code = np.where(code > largest, wrapped if overflow is c.ScaleOverflow.WRAP else high, code)
    return np.where(code < 0, wrapped if underflow is c.ScaleUnderflow.WRAP else low, code)
