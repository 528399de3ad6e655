"""Class A, element encoders that round wrongly, and class F, wrong INT8 encoders."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mxref.bits.floats import I64, Bits, Bool, FloatLayout, Parts, compose, split
from mxref.formats.catalog import ElementFormat
from mxref.mutants.encoder import EncoderState, by_policy, encoder, encodes, up
from mxref.mutants.mutant import FP, INT8, Function, Mutants

__all__ = ["INTEGERS", "ROUNDING"]

WIDE = ("f32", "f64")
NOT_BF16 = ("f32", "f64", "f16")


def _rounds_up(rule: Callable[[EncoderState], Bool]) -> Function:
    return encoder(up=rule)


def _narrowed(bits_kept: int) -> Function:
    """An encoder that first cuts the source to `bits_kept` fraction bits."""

    def read(bits: Bits, layout: FloatLayout, fmt: ElementFormat) -> Parts:
        drop = max(layout.mantissa_bits - bits_kept, 0)
        mask = (1 << layout.width) - (1 << drop)
        return split(bits & layout.uint.type(mask), layout)

    return encoder(read=read)


def _rounded_as_normal(bits: Bits, layout: FloatLayout, fmt: ElementFormat) -> Parts:
    """Rounded to the element's precision first, as if there were no subnormal numbers."""
    short = FloatLayout("short", 11, fmt.mantissa_bits)
    widest = FloatLayout("key", 11, 52)
    return split(compose(split(compose(split(bits, layout), widest), widest), short), short)


def _masked_fraction(bits: Bits, layout: FloatLayout, fmt: ElementFormat) -> Parts:
    return split(bits & layout.uint.type(0xFFCFFFFF), layout)  # 4FFFFF instead of 7FFFFF


def _wrong_constant(w: EncoderState) -> Any:
    """Adds half a unit plus the odd bit, which is one too much."""
    return (w.drop > 0) & (w.rest + w.half + w.odd >= 2 * w.half)


def _three_quarters(w: EncoderState) -> Any:
    """Rounds to half a unit, by a constant of the wrong binade, then truncates."""
    return w.guard & ((w.rest & (w.half >> 1)) != 0)


def _low_bits_lost(count: int) -> Function:
    def rule(w: EncoderState) -> Any:
        seen = w.rest & ~((np.int64(1) << count) - 1)
        return w.guard & (((seen & ~w.half) != 0) | w.odd)

    return _rounds_up(rule)


def _bit_5_lost(w: EncoderState) -> Any:
    return w.guard & (((w.rest & ~w.half & ~np.int64(32)) != 0) | w.odd)


def _upper_half_sticky(w: EncoderState) -> Any:
    length = np.clip(w.drop, 0, 62) // 2
    return w.guard & ((((w.rest & ~w.half) >> length) != 0) | w.odd)


def _carry_lost(w: EncoderState, rounded_up: Any) -> Any:
    """Exponent and fraction joined as fields: a carry out of the fraction is lost."""
    m = w.fmt.mantissa_bits
    field = w.binade - w.fmt.emin + (w.kept >> m)
    return field << m | ((w.kept + rounded_up) & ((1 << m) - 1))


def _carry_ored(w: EncoderState, rounded_up: Any) -> Any:
    """Exponent and fraction joined by OR: a carry is lost where the exponent is odd."""
    m = w.fmt.mantissa_bits
    field = w.binade - w.fmt.emin + (w.kept >> m)
    return field << m | ((w.kept & ((1 << m) - 1)) + rounded_up)


def _last_bit_cleared(w: EncoderState, rounded_up: Any) -> Any:
    return (((w.binade - w.fmt.emin) << w.fmt.mantissa_bits) + w.kept + rounded_up) & ~np.int64(1)


def _wrapped(mask: int) -> Function:
    def shift(w: EncoderState) -> I64:
        return np.where(w.drop > 0, w.drop & mask, w.drop)

    return encoder(shift=shift)


def _wrapped_depth(w: EncoderState) -> I64:
    """The binades below the smallest normal number are counted modulo 64."""
    return np.where(w.natural == -5000, w.drop, w.drop - ((w.binade - w.natural) & ~63))


def _clamped_shift(w: EncoderState) -> I64:
    return np.minimum(w.drop, w.layout.mantissa_bits + 1)


ROUNDING: Mutants = {
    "A1 ties_away: rounds a tie away from zero": encodes(
        by_policy(rounding="ties_to_away"),
        model="M7",
        formats=FP,
    ),
    "A1b ties_away_in_normals: rounds a tie away from zero unless it is subnormal": encodes(
        _rounds_up(lambda w: np.where(w.subnormal, up(w), w.guard)),
        model="M7",
        formats=FP,
    ),
    "A1c ties_to_positive: adds one half and takes the floor: ties go up": encodes(
        _rounds_up(lambda w: w.guard & (w.sticky | ~w.parts.negative)), model="M7"
    ),
    "A2 truncation: cuts the low bits off": encodes(by_policy(rounding="toward_zero"), model="M7"),
    "A3 ties_to_odd: rounds a tie to the odd code": encodes(
        _rounds_up(lambda w: w.guard & (w.sticky | ~w.odd)), model="M7"
    ),
    "A3b to_odd: rounds every inexact number to the odd code": encodes(
        by_policy(rounding="to_odd"), model="M7"
    ),
    "A4 ties_to_zero: rounds a tie toward zero, as a search that keeps the first": encodes(
        by_policy(rounding="ties_to_zero"),
        model="M7",
    ),
    "A5 remainder_up: rounds up whatever the remainder is": encodes(
        _rounds_up(lambda w: w.rest != 0), model="M7"
    ),
    "A6 toward_negative: shifts the signed number, which rounds toward minus infinity": encodes(
        by_policy(rounding="toward_negative"), model="M7"
    ),
    "A6b toward_positive: rounds toward plus infinity": encodes(
        by_policy(rounding="toward_positive"), model="M7"
    ),
    "A7 ties_lost_in_subnormals: rounds a tie below the smallest normal number away from zero": (
        encodes(_rounds_up(lambda w: np.where(w.subnormal, w.guard, up(w))), model="M5")
    ),
    "A7b subnormal_ties_to_zero: rounds a tie below the smallest normal number toward zero": (
        encodes(_rounds_up(lambda w: np.where(w.subnormal, w.guard & w.sticky, up(w))), model="M7")
    ),
    "A8 sticky_dropped: treats more than one half as a tie": encodes(
        _rounds_up(lambda w: w.guard & w.odd), model="M7"
    ),
    "A9 low_byte_lost: does not see the low eight bits of the significand": encodes(
        _low_bits_lost(8), model="M6"
    ),
    "A9b low_bit_lost: does not see the lowest bit of the significand": encodes(
        _low_bits_lost(1), model="M7"
    ),
    "A9c low_half_lost: does not see the low sixteen bits of the significand": encodes(
        _low_bits_lost(16), model="M6", floats=WIDE
    ),
    "A10 sticky_is_one_bit: takes the bit after the guard bit for the sticky bit": encodes(
        _rounds_up(lambda w: w.guard & (((w.rest & (w.half >> 1)) != 0) | w.odd)), model="M6"
    ),
    "A10c one_sticky_bit_lost: has bit 5 of the significand not connected": encodes(
        _rounds_up(_bit_5_lost), model="M6", floats=NOT_BF16
    ),
    "A10b sticky_of_upper_half: collects the upper half of the sticky bits only": encodes(
        _rounds_up(_upper_half_sticky), model="M6"
    ),
    "A11 through_bfloat16: rounds to bfloat16 first": encodes(
        by_policy(pre_rounding="bfloat16"),
        model="M7",
        floats=NOT_BF16,
    ),
    "A11b subnormals_rounded_twice: rounds to the precision of normal numbers first": encodes(
        encoder(read=_rounded_as_normal), model="M5", formats=FP
    ),
    "A12 truncated_to_bfloat16: takes the upper bits as bfloat16 first": encodes(
        _narrowed(7), model="M7", floats=NOT_BF16
    ),
    "A13 through_float16: rounds to float16 first": encodes(
        by_policy(pre_rounding="float16"),
        model="M7",
        floats=("f32", "f64", "bf16"),
    ),
    "A14 float64_through_float32: rounds a float64 to float32 first": encodes(
        by_policy(pre_rounding="float32"),
        model="M7",
        floats=("f64",),
    ),
    "A14b float64_high_word: looks at the upper word of a float64 only": encodes(
        _narrowed(20), model="M7", floats=("f64",)
    ),
    "A15 carry_lost: loses the carry from fraction to exponent": encodes(
        encoder(join=_carry_lost), model="M7", formats=FP
    ),
    "A15b carry_ored: puts the carry of the fraction into the exponent by OR": encodes(
        encoder(join=_carry_ored), model="M7", formats=FP
    ),
    "A16 odd_codes_masked: clears the last bit of the code": encodes(
        encoder(join=_last_bit_cleared), model="M7"
    ),
    "A16b fraction_mask: masks the fraction with 4FFFFF instead of 7FFFFF": encodes(
        encoder(read=_masked_fraction), model="M7", floats=("f32",)
    ),
    "A17a shift_modulo_32: shifts by a count modulo 32": encodes(
        _wrapped(31), model="M14", floats=("f32", "bf16")
    ),
    "A17b shift_modulo_64: shifts by a count modulo 64": encodes(
        _wrapped(63), model="M14", floats=("f32", "bf16", "f64")
    ),
    "A17c shift_clamped_early: limits the shift to the precision, one bit too few": encodes(
        encoder(shift=_clamped_shift), model="M14"
    ),
    "A17d depth_modulo_64: shifts what is subnormal further by a count modulo 64": encodes(
        encoder(shift=_wrapped_depth), model="M14", floats=("f32", "bf16", "f64")
    ),
    "A18a rounding_constant: adds one half and the odd bit, one unit too much": encodes(
        _rounds_up(_wrong_constant), model="M7"
    ),
    "A18b magic_binade: rounds with the constant of the binade below, then cuts off": encodes(
        _rounds_up(_three_quarters), model="M7"
    ),
}


def _exponent(step: int) -> Function:
    """An encoder that first multiplies the number by 2**step."""

    def read(bits: Bits, layout: FloatLayout, fmt: ElementFormat) -> Parts:
        parts = split(bits, layout)
        return dataclasses.replace(parts, exponent=parts.exponent + step)

    return encoder(read=read)


def _one_too_many(w: EncoderState, magnitude: I64) -> I64:
    highest = np.where(w.parts.is_inf, w.fmt.max_code, magnitude)
    top = np.where(magnitude == 128, 128, w.fmt.max_code)
    return np.minimum(highest, np.where(w.parts.negative, w.fmt.max_code, top))


def _sign_and_magnitude(w: EncoderState, magnitude: I64) -> I64:
    return magnitude | np.where(w.parts.negative, 0x80, 0)


INTEGERS: Mutants = {
    "F1 writes_minus_128: writes -128 where -127 is the smallest": encodes(
        by_policy(int8_range="full"), model="M4", formats=INT8
    ),
    "F2 factor_forgotten: forgets that a unit is 2**-6": encodes(
        _exponent(-6), model="M7", formats=INT8
    ),
    "F2b factor_of_2_to_minus_7: takes 2**-7 for a unit": encodes(
        _exponent(1), model="M7", formats=INT8
    ),
    "F3 saturation_before_rounding: saturates, then rounds 127.5 up to 80, which is -2": encodes(
        encoder(limit=_one_too_many), model="M4", formats=INT8
    ),
    "F3b wraps: keeps the low eight bits of what is too large": encodes(
        encoder(limit=lambda w, magnitude: magnitude & 0xFF),
        model="M4",
        formats=INT8,
    ),
    "F4 sign_and_magnitude: writes sign and magnitude, not two's complement": encodes(
        encoder(sign=_sign_and_magnitude),
        model="M1",
        formats=INT8,
    ),
    "F5 round_half_away: rounds as the C function `round` does": encodes(
        by_policy(rounding="ties_to_away"), model="M7", formats=INT8
    ),
}
