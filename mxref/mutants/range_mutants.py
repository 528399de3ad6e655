"""Class B: element encoders with wrong underflow, overflow, zeros, Inf or NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mxref.bits.floats import I64, Bool
from mxref.mutants.encoder import (
    EncoderState,
    by_policy,
    encoder,
    encodes,
    join,
    limit,
    sign,
    special,
    up,
)
from mxref.mutants.mutant import FP, FP6_FP4, FP8, Function, Mutants

__all__ = ["RANGES"]

E4M3, E5M2 = ("e4m3",), ("e5m2",)
NONSATURATING = "ocp+overflow=nonsaturating"


def _too_small(w: EncoderState) -> Bool:
    """Whether the magnitude is below the smallest number of the format."""
    return w.natural < w.fmt.emin - w.fmt.mantissa_bits


def _flushed_before(w: EncoderState, rounded_up: Any) -> I64:
    return np.where(w.subnormal, 0, join(w, rounded_up))


def _flushed_after(w: EncoderState, magnitude: I64) -> I64:
    return np.where(magnitude < 1 << w.fmt.mantissa_bits, 0, limit(w, magnitude))


def _below_smallest(w: EncoderState, rounded_up: Any) -> I64:
    return np.where(_too_small(w), 0, join(w, rounded_up))


def _half_smallest(w: EncoderState) -> Any:
    half = w.guard & ~w.sticky & (w.kept == 0) & (w.natural == w.fmt.emin - w.fmt.mantissa_bits - 1)
    return up(w) | half


def _subnormal_shift(step: int) -> Function:
    return encoder(shift=lambda w: w.drop + step * w.subnormal)


def _no_hidden_bit(w: EncoderState, rounded_up: Any) -> I64:
    """Subnormal numbers without their leading one."""
    hidden = np.int64(1) << np.clip(w.natural - w.binade + w.fmt.mantissa_bits, 0, 62)
    reaches = w.subnormal & ~_too_small(w)
    return join(w, rounded_up) - np.where(reaches, hidden, 0)


def _cap(code: Callable[[EncoderState], int]) -> Function:
    """An encoder that saturates at another code."""
    return encoder(limit=lambda w, magnitude: np.minimum(limit(w, magnitude), code(w)))


def _top_field(w: EncoderState) -> int:
    return w.mask >> w.fmt.mantissa_bits << w.fmt.mantissa_bits


def _top_binade(code: Callable[[EncoderState], int]) -> Function:
    def stage(w: EncoderState, magnitude: I64) -> I64:
        return np.where(limit(w, magnitude) >= _top_field(w), code(w), limit(w, magnitude))

    return encoder(limit=stage)


def _wrapped(w: EncoderState, magnitude: I64) -> I64:
    return magnitude & w.mask


def _into_sign(w: EncoderState, codes: I64) -> I64:
    """The sum of magnitude and sign, cut to the width of a code."""
    return special(w, codes & (w.fmt.code_count - 1))


def _added_sign(w: EncoderState, magnitude: I64) -> I64:
    return magnitude + np.where(w.parts.negative, w.fmt.sign_bit, 0)


def _unlimited_in_binade(w: EncoderState, magnitude: I64) -> I64:
    """Numbers above the top binade saturated; others may round past the largest number."""
    beyond = w.parts.is_inf | (w.natural > w.fmt.emax)
    return np.where(beyond, w.fmt.max_code, magnitude)


def _unsigned_when_saturated(w: EncoderState, magnitude: I64) -> I64:
    raw = join(w, up(w))
    beyond = w.parts.is_inf | (raw > w.fmt.max_code)
    return np.where(beyond, magnitude, sign(w, magnitude))


def _infinity(code: Callable[[EncoderState], int | I64]) -> Function:
    """An encoder that writes another code for infinities."""

    def stage(w: EncoderState, codes: I64) -> I64:
        return special(w, np.where(w.parts.is_inf, code(w), codes))

    return encoder(special=stage)


def _nan(code: Callable[[EncoderState], int | I64]) -> Function:
    """An encoder that writes another code for NaN."""
    return encoder(special=lambda w, codes: np.where(w.parts.is_nan, code(w), codes))


def _minus_zero_as_nan(w: EncoderState, codes: I64) -> I64:
    zero = w.parts.negative & (w.parts.significand == 0) & ~w.parts.is_inf
    return special(w, np.where(zero, w.fmt.nan_code or 0, codes))


def _twos_complement(w: EncoderState, magnitude: I64) -> I64:
    return np.where(w.parts.negative, -magnitude, magnitude) & (w.fmt.code_count - 1)


RANGES: Mutants = {
    "B1 subnormals_flushed: makes everything below the smallest normal number a zero": encodes(
        encoder(join=_flushed_before), model="M5", formats=FP
    ),
    "B1b subnormal_results_flushed: makes every subnormal result a zero": encodes(
        encoder(limit=_flushed_after), model="M5", formats=FP
    ),
    "B1c subnormal_inputs_flushed: reads subnormal inputs as zero": encodes(
        by_policy(subnormal_inputs="flushed"), model="M5"
    ),
    "B2 below_smallest_is_zero: makes what is below the smallest number a zero": encodes(
        encoder(join=_below_smallest), model="M5"
    ),
    "B3 half_smallest_up: rounds half the smallest number up, not to zero": encodes(
        encoder(up=_half_smallest), model="M5"
    ),
    "B4a subnormal_shift_long: shifts subnormal numbers one bit too far": encodes(
        _subnormal_shift(1), model="M5"
    ),
    "B4b subnormal_shift_short: shifts subnormal numbers one bit too little": encodes(
        _subnormal_shift(-1), model="M5"
    ),
    "B4c hidden_bit_lost: loses the leading one of subnormal numbers": encodes(
        encoder(join=_no_hidden_bit), model="M5"
    ),
    "B5a overflow_to_nan: makes overflow NaN where it should saturate": encodes(
        by_policy(overflow="nonsaturating"),
        model="M4",
        formats=E4M3,
    ),
    "B5b infinity_to_nan: makes infinities NaN, and saturates finite numbers": encodes(
        by_policy(overflow="propagate"), model="M1", formats=E4M3
    ),
    "B5c saturates_nan_overflow: saturates where overflow should be NaN": encodes(
        by_policy(), model="M4", formats=E4M3, policy=NONSATURATING
    ),
    "B6a overflow_to_infinity: makes overflow infinite where it should saturate": encodes(
        by_policy(overflow="nonsaturating"), model="M4", formats=E5M2
    ),
    "B6b infinity_kept: keeps infinities, and saturates finite numbers": encodes(
        by_policy(overflow="propagate"), model="M1", formats=E5M2
    ),
    "B6c saturates_infinite_overflow: saturates where overflow should be infinite": encodes(
        by_policy(), model="M4", formats=E5M2, policy=NONSATURATING
    ),
    "B7 code_wraps: keeps the low bits of a magnitude that is too large": encodes(
        encoder(limit=_wrapped), model="M4", formats=FP
    ),
    "B7b carry_into_sign: lets a magnitude that is too large run into the sign": encodes(
        encoder(limit=lambda w, magnitude: magnitude, sign=_added_sign, special=_into_sign),
        model="M4",
        formats=FP,
    ),
    "B8a top_binade_saturated: makes the whole top binade the largest number": encodes(
        _top_binade(lambda w: w.fmt.max_code),
        model="M7",
        formats=(*E4M3, *FP6_FP4),
    ),
    "B8b top_binade_is_nan: makes the whole top binade NaN, as in an IEEE format": encodes(
        _top_binade(lambda w: w.fmt.nan_code or 0), model="M7", formats=E4M3
    ),
    "B9a ieee_largest: saturates where an IEEE format would end": encodes(
        _cap(lambda w: min(w.fmt.max_code, _top_field(w)) - 1),
        model="M4",
        formats=(*E4M3, *FP6_FP4),
    ),
    "B9b largest_missing: saturates at the number before the largest": encodes(
        _cap(lambda w: w.fmt.max_code - 1), model="M4"
    ),
    "B10 clamp_before_rounding: compares with the largest number before it rounds": encodes(
        by_policy(overflow="nonsaturating", clamp="before_rounding"),
        model="M4",
        formats=FP8,
        policy=NONSATURATING,
    ),
    "B10b saturated_before_rounding: saturates before it rounds": encodes(
        by_policy(clamp="before_rounding"), model="M4"
    ),
    "B11 rounds_past_largest: saturates before it rounds, to a power of two": encodes(
        encoder(limit=_unlimited_in_binade), model="M4", formats=FP
    ),
    "B12 sign_lost_on_saturation: saturates negative numbers to the positive maximum": encodes(
        encoder(sign=_unsigned_when_saturated),
        model="M4",
    ),
    "B12b sign_lost: encodes the magnitude": encodes(
        encoder(sign=lambda w, magnitude: magnitude), model="M7"
    ),
    "B12c negative_as_complement: writes the two's complement of negative codes": encodes(
        encoder(sign=_twos_complement), model="M7", formats=FP
    ),
    "B13a infinity_to_zero: makes infinities zero": encodes(_infinity(lambda w: 0), model="M1"),
    "B13b infinity_to_nan_code: makes infinities NaN": encodes(
        _infinity(lambda w: w.fmt.nan_code or 0), model="M1", formats=FP8
    ),
    "B13c infinity_to_smallest: makes infinities the smallest number": encodes(
        _infinity(lambda w: 1), model="M1"
    ),
    "B13d infinity_sign_flipped: makes an infinity the largest number of other sign": encodes(
        _infinity(lambda w: sign(w, np.full(w.kept.shape, w.fmt.max_code)) ^ w.fmt.sign_bit),
        model="M1",
        formats=FP,
    ),
    "B14 nan_to_largest: saturates NaN": encodes(
        _nan(lambda w: w.fmt.max_code), model="M1", formats=FP8
    ),
    "B15 nan_to_zero: makes NaN zero": encodes(_nan(lambda w: 0), model="M1"),
    "B16 nan_to_minus_zero: makes +NaN -0": encodes(
        by_policy(nan_to_finite="opposite_zero"),
        model="M1",
        formats=FP6_FP4,
    ),
    "B17 minus_zero_lost: makes -0 +0": encodes(
        by_policy(zero_sign="dropped"), model="M1", formats=FP
    ),
    "B17b minus_zero_to_nan: makes -0 NaN": encodes(
        encoder(special=_minus_zero_as_nan),
        model="M1",
        formats=FP8,
    ),
    "B18 underflow_sign_lost: makes negative underflow +0": encodes(
        by_policy(underflow_sign="dropped"),
        model="M5",
        formats=FP,
    ),
    "B18b zero_sign_lost: loses the sign of zeros and underflow": encodes(
        by_policy(zero_sign="dropped", underflow_sign="dropped"),
        model="M1",
        formats=FP,
    ),
}
