"""Class A: element encoders that round wrongly; and the INT8 ones of class F."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mxref.bits.floats import I64, Bits, Bool, FloatLayout, Parts, compose, split
from mxref.formats.catalog import ElementFormat
from mxref.mutants.encoder import Work, by_policy, encoder, mutant, up
from mxref.mutants.mutant import FP, INT8, Function

__all__ = ["INTEGERS", "ROUNDING"]

WIDE = ("f32", "f64")
NOT_BF16 = ("f32", "f64", "f16")


def _rounds_up(rule: Callable[[Work], Bool]) -> Function:
    return encoder(up=rule)


def _narrowed(bits_kept: int) -> Function:
    """Low fraction bits of the source cut off before anything else."""

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


def _wrong_constant(w: Work) -> Any:
    """Half a unit plus the odd bit is added, where it should be one less."""
    return (w.drop > 0) & (w.rest + w.half + w.odd >= 2 * w.half)


def _three_quarters(w: Work) -> Any:
    """Rounded to half a unit by a constant of the wrong binade, then cut off."""
    return w.guard & ((w.rest & (w.half >> 1)) != 0)


def _low_bits_lost(count: int) -> Function:
    def rule(w: Work) -> Any:
        seen = w.rest & ~((np.int64(1) << count) - 1)
        return w.guard & (((seen & ~w.half) != 0) | w.odd)

    return _rounds_up(rule)


def _bit_5_lost(w: Work) -> Any:
    return w.guard & (((w.rest & ~w.half & ~np.int64(32)) != 0) | w.odd)


def _upper_half_sticky(w: Work) -> Any:
    length = np.clip(w.drop, 0, 62) // 2
    return w.guard & ((((w.rest & ~w.half) >> length) != 0) | w.odd)


def _carry_lost(w: Work, rounded_up: Any) -> Any:
    """Exponent and fraction put together as fields: a carry out of the fraction is lost."""
    m = w.fmt.mantissa_bits
    field = w.binade - w.fmt.emin + (w.kept >> m)
    return field << m | ((w.kept + rounded_up) & ((1 << m) - 1))


def _carry_ored(w: Work, rounded_up: Any) -> Any:
    """The same with OR: a carry is lost where the exponent is odd."""
    m = w.fmt.mantissa_bits
    field = w.binade - w.fmt.emin + (w.kept >> m)
    return field << m | ((w.kept & ((1 << m) - 1)) + rounded_up)


def _last_bit_cleared(w: Work, rounded_up: Any) -> Any:
    return (((w.binade - w.fmt.emin) << w.fmt.mantissa_bits) + w.kept + rounded_up) & ~np.int64(1)


def _wrapped(mask: int) -> Function:
    def shift(w: Work) -> I64:
        return np.where(w.drop > 0, w.drop & mask, w.drop)

    return encoder(shift=shift)


def _clamped_shift(w: Work) -> I64:
    return np.minimum(w.drop, w.layout.mantissa_bits + 1)


ROUNDING = (
    mutant(
        *("A1", "ties_away", "rounds a tie away from zero"),
        *(by_policy(rounding="ties_to_away"), "M7"),
        *("ROCm/aiter#3992", "sgl-project/sglang#37140", "triton-lang/triton#11897"),
        formats=FP,
    ),
    mutant(
        *("A1b", "ties_away_in_normals", "rounds a tie away from zero unless it is subnormal"),
        *(_rounds_up(lambda w: np.where(w.subnormal, up(w), w.guard)), "M7"),
        "MLIR arith-expand",
        formats=FP,
    ),
    mutant(
        *("A1c", "ties_to_positive", "adds one half and takes the floor: ties go up"),
        *(_rounds_up(lambda w: w.guard & (w.sticky | ~w.parts.negative)), "M7"),
    ),
    mutant(
        *("A2", "truncation", "cuts the low bits off"),
        *(by_policy(rounding="toward_zero"), "M7", "scott-griffiths/bitstring#342"),
    ),
    mutant(
        *("A3", "ties_to_odd", "rounds a tie to the odd code"),
        *(_rounds_up(lambda w: w.guard & (w.sticky | ~w.odd)), "M7"),
    ),
    mutant(
        *("A3b", "to_odd", "rounds every inexact number to the odd code"),
        *(by_policy(rounding="to_odd"), "M7"),
    ),
    mutant(
        *("A4", "ties_to_zero", "rounds a tie toward zero, as a search that keeps the first"),
        *(by_policy(rounding="ties_to_zero"), "M7", "ggml, gguf: first of two equal distances"),
    ),
    mutant(
        *("A5", "remainder_up", "rounds up whatever the remainder is"),
        *(_rounds_up(lambda w: w.rest != 0), "M7"),
    ),
    mutant(
        *("A6", "toward_negative", "shifts the signed number, which rounds toward minus infinity"),
        *(by_policy(rounding="toward_negative"), "M7"),
    ),
    mutant(
        *("A6b", "toward_positive", "rounds toward plus infinity"),
        *(by_policy(rounding="toward_positive"), "M7"),
    ),
    mutant(
        *("A7", "ties_lost_in_subnormals", "rounds a tie of two subnormal numbers away from zero"),
        *(_rounds_up(lambda w: np.where(w.subnormal, w.guard, up(w))), "M5"),
        "triton-lang/triton#11897",
    ),
    mutant(
        *("A7b", "subnormal_ties_to_zero", "rounds a tie of two subnormal numbers toward zero"),
        *(_rounds_up(lambda w: np.where(w.subnormal, w.guard & w.sticky, up(w))), "M7"),
    ),
    mutant(
        *("A8", "sticky_dropped", "treats more than one half as a tie"),
        *(_rounds_up(lambda w: w.guard & w.odd), "M7"),
    ),
    mutant(
        *("A9", "low_byte_lost", "does not see the low eight bits of the significand"),
        *(_low_bits_lost(8), "M6"),
    ),
    mutant(
        *("A9b", "low_bit_lost", "does not see the lowest bit of the significand"),
        *(_low_bits_lost(1), "M7"),
    ),
    mutant(
        *("A9c", "low_half_lost", "does not see the low sixteen bits of the significand"),
        *(_low_bits_lost(16), "M6"),
        floats=WIDE,
    ),
    mutant(
        *("A10", "sticky_is_one_bit", "takes the bit after the guard bit for the sticky bit"),
        *(_rounds_up(lambda w: w.guard & (((w.rest & (w.half >> 1)) != 0) | w.odd)), "M6"),
    ),
    mutant(
        *("A10c", "one_sticky_bit_lost", "has bit 5 of the significand not connected"),
        *(_rounds_up(_bit_5_lost), "M6"),
        floats=NOT_BF16,
    ),
    mutant(
        *("A10b", "sticky_of_upper_half", "collects the upper half of the sticky bits only"),
        *(_rounds_up(_upper_half_sticky), "M6"),
    ),
    mutant(
        *("A11", "through_bfloat16", "rounds to bfloat16 first"),
        *(by_policy(pre_rounding="bfloat16"), "M7", "graphcore-research/gfloat#49"),
        floats=NOT_BF16,
    ),
    mutant(
        *("A11b", "subnormals_rounded_twice", "rounds to the precision of normal numbers first"),
        *(encoder(read=_rounded_as_normal), "M5", "triton-lang/triton#11897"),
        formats=FP,
    ),
    mutant(
        *("A12", "truncated_to_bfloat16", "takes the upper bits as bfloat16 first"),
        *(_narrowed(7), "M7", "riscv/riscv-arch-test#988"),
        floats=NOT_BF16,
    ),
    mutant(
        *("A13", "through_float16", "rounds to float16 first"),
        *(by_policy(pre_rounding="float16"), "M7", "triton-lang/triton#2583"),
        floats=("f32", "f64", "bf16"),
    ),
    mutant(
        *("A14", "float64_through_float32", "rounds a float64 to float32 first"),
        *(by_policy(pre_rounding="float32"), "M7", "jax-ml/ml_dtypes#401"),
        floats=("f64",),
    ),
    mutant(
        *("A14b", "float64_high_word", "looks at the upper word of a float64 only"),
        *(_narrowed(20), "M7"),
        floats=("f64",),
    ),
    mutant(
        *("A15", "carry_lost", "loses the carry from fraction to exponent"),
        *(encoder(join=_carry_lost), "M7", "triton-lang/triton#11897"),
        formats=FP,
    ),
    mutant(
        *("A15b", "carry_ored", "puts the carry of the fraction into the exponent by OR"),
        *(encoder(join=_carry_ored), "M7", "triton-lang/triton#9808"),
        formats=FP,
    ),
    mutant(
        *("A16", "odd_codes_masked", "clears the last bit of the code"),
        *(encoder(join=_last_bit_cleared), "M7", "tenstorrent/tt-metal#51975"),
    ),
    mutant(
        *("A16b", "fraction_mask", "masks the fraction with 4FFFFF instead of 7FFFFF"),
        *(encoder(read=_masked_fraction), "M7", "onnx/onnx#7784"),
        floats=("f32",),
    ),
    mutant(
        *("A17a", "shift_modulo_32", "shifts by a count modulo 32"),
        *(_wrapped(31), "M14", "tenstorrent/tt-metal#42989"),
        floats=("f32", "bf16"),
    ),
    mutant(
        *("A17b", "shift_modulo_64", "shifts by a count modulo 64"),
        *(_wrapped(63), "M14"),
        floats=("f32", "bf16", "f64"),
    ),
    mutant(
        *("A17c", "shift_clamped_early", "limits the shift to the precision, one bit too few"),
        *(encoder(shift=_clamped_shift), "M14"),
    ),
    mutant(
        *("A18a", "rounding_constant", "adds one half and the odd bit, one unit too much"),
        *(_rounds_up(_wrong_constant), "M7"),
    ),
    mutant(
        *("A18b", "magic_binade", "rounds with the constant of the binade below, then cuts off"),
        *(_rounds_up(_three_quarters), "M7"),
    ),
)


def _exponent(step: int) -> Function:
    """The number times 2**step."""

    def read(bits: Bits, layout: FloatLayout, fmt: ElementFormat) -> Parts:
        parts = split(bits, layout)
        return dataclasses.replace(parts, exponent=parts.exponent + step)

    return encoder(read=read)


def _one_too_many(w: Work, magnitude: I64) -> I64:
    highest = np.where(w.parts.is_inf, w.fmt.max_code, magnitude)
    top = np.where(magnitude == 128, 128, w.fmt.max_code)
    return np.minimum(highest, np.where(w.parts.negative, w.fmt.max_code, top))


def _sign_and_magnitude(w: Work, magnitude: I64) -> I64:
    return magnitude | np.where(w.parts.negative, 0x80, 0)


INTEGERS = (
    mutant(
        *("F1", "writes_minus_128", "writes -128 where -127 is the smallest"),
        *(by_policy(int8_range="full"), "M4", "tenstorrent/tt-metal#56526"),
        formats=INT8,
    ),
    mutant(
        *("F2", "factor_forgotten", "forgets that a unit is 2**-6"),
        *(_exponent(-6), "M7", "NVIDIA/Model-Optimizer#250"),
        formats=INT8,
    ),
    mutant(
        *("F2b", "factor_of_2_to_minus_7", "takes 2**-7 for a unit"),
        *(_exponent(1), "M7"),
        formats=INT8,
    ),
    mutant(
        *("F3", "saturation_before_rounding", "saturates, then rounds 127.5 up to 80, which is -2"),
        *(encoder(limit=_one_too_many), "M4", "uxlfoundation/oneDNN#5879"),
        formats=INT8,
    ),
    mutant(
        *("F3b", "wraps", "keeps the low eight bits of what is too large"),
        encoder(limit=lambda w, magnitude: magnitude & 0xFF),
        *("M4", "uxlfoundation/oneDNN#5879"),
        formats=INT8,
    ),
    mutant(
        *("F4", "sign_and_magnitude", "writes sign and magnitude, not two's complement"),
        *(encoder(sign=_sign_and_magnitude), "M1", "microsoft/microxcaling#3"),
        formats=INT8,
    ),
    mutant(
        *("F5", "round_half_away", "rounds as the C function `round` does"),
        *(by_policy(rounding="ties_to_away"), "M7"),
        formats=INT8,
    ),
)
