"""Scale codes of blocks by amax, the largest magnitude: computed, or looked up by exponent field.

Whatever the rule is, the scale code grows by one from a binade of amax to the next, and an amax
that is rounded to a narrower type stays between the ends of its binade. So two codes, and the last
amax that has the first of them, describe a binade. There are two exceptions, whose codes are
computed one by one: binades with a third code, as where amax becomes infinity in a narrower type;
and subnormal amax, since many binades share one exponent field.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, F64, I64, Bits, Bool, FloatLayout, Parts, floor_log2, split
from mxref.formats.catalog import E8M0, ElementFormat, ScaleFormat
from mxref.numbers.e8m0 import codes_within
from mxref.numbers.quirks import quirk_exponents
from mxref.numbers.source import narrowed
from mxref.policy.choices import Int8Emax, ScaleOverflow, ScaleUnderflow, ZeroBlock
from mxref.policy.groups import ScalePolicy
from mxref.policy.scale_rule import ScaleRule
from mxref.support.scratch import scratch

#: Scale words: scale codes with the flags below.
Words = NDArray[np.int32]
#: Flags of a scale word: every element becomes a zero; the block is a NaN block.
FLUSHED, NAN_BLOCK = 1 << 8, 1 << 9
#: Not a scale word: the code must be computed.
OTHER = 1 << 10

#: Rules that look at the largest number, not at the largest power of two.
_WITHOUT_EMAX = (
    ScaleRule.RCEIL,
    ScaleRule.TOSA,
    ScaleRule.NEAREST,
    ScaleRule.NEAREST_LOG2,
    ScaleRule.RCEIL_RECIPROCAL,
)


@dataclass(frozen=True, slots=True)
class ScaleCodes:
    """Scale codes of blocks, whether they make a NaN block, and whether elements become zeros."""

    codes: I64
    is_nan: Bool
    flushed: Bool

    def words(self) -> Words:
        """The codes with their flags."""
        return np.asarray(self.codes | self.is_nan * NAN_BLOCK | self.flushed * FLUSHED, np.int32)


def scale_codes(
    amax: Bits,
    layout: FloatLayout,
    fmt: ElementFormat,
    policy: ScalePolicy,
    scale: ScaleFormat = E8M0,
) -> ScaleCodes:
    """Scale codes for finite magnitude patterns, of a format of powers of two."""
    parts = split(*narrowed(amax, layout, policy.amax_type))
    if policy.scale_rule.is_quirk:
        code = quirk_exponents(parts, policy.scale_rule, fmt) + scale.bias
    else:
        code = _exponents(parts, *_threshold(policy.scale_rule, fmt)) + scale.bias
    octave = int(fmt.twos_complement and policy.int8_emax is Int8Emax.ONE)
    if policy.scale_rule not in _WITHOUT_EMAX:
        code = code - octave
    # An amax that became infinite in a narrower type gives a scale that is too large.
    code = np.where(parts.is_inf, F32.bias + 1 + scale.bias, code)
    is_zero = (parts.significand == 0) & ~parts.is_inf
    low, high = (code < 0) & ~is_zero, (code > scale.max_code) & ~is_zero
    wrapped = low & (policy.scale_underflow is ScaleUnderflow.WRAP)
    wrapped |= high & (policy.scale_overflow is ScaleOverflow.WRAP)
    code = codes_within(code, policy.scale_overflow, policy.scale_underflow, scale)
    nan = scale.max_code + 1
    zero = {
        ZeroBlock.CODE_00: 0,
        ZeroBlock.CODE_01: 1,
        ZeroBlock.ONE: scale.bias,
        ZeroBlock.MINUS_EMAX: scale.bias - fmt.emax - octave,
        ZeroBlock.NAN: nan,
    }[policy.zero_block]
    if policy.zero_block is not ZeroBlock.NAN:  # few bits may not reach 1 or 2**-emax
        zero = min(max(zero, 0), scale.max_code)
    code = np.where(is_zero, zero, code)
    return ScaleCodes(
        codes=code,
        is_nan=(code == nan) & ~wrapped,
        flushed=_flushed(low, parts, policy.scale_underflow) & ~is_zero,
    )


def _flushed(low: Bool, parts: Parts, underflow: ScaleUnderflow) -> Bool:
    """Where every element becomes a zero: by the scale, or by an amax below 2**-126."""
    if underflow is ScaleUnderflow.FLUSH_SUBNORMAL:
        return ~parts.is_inf & (floor_log2(parts.significand) + parts.exponent < F32.emin)
    return low & (underflow is ScaleUnderflow.FLUSH)


def _exponents(parts: Parts, binade: int, too_large: int) -> I64:
    """Exponents of the smallest scales within a rule's limit."""
    shift = floor_log2(parts.significand)
    # The significand with 52 fraction bits; the scale is one binade up if it is too large.
    bump = parts.significand << (52 - shift) >= too_large
    return parts.exponent + shift - binade + bump


@functools.cache
def _threshold(rule: ScaleRule, fmt: ElementFormat) -> tuple[int, int]:
    return rule.limit(fmt).threshold(52)


@dataclass(frozen=True, slots=True, eq=False)
class ScaleSteps:
    """Scale words by amax, two for each exponent field.

    Args:
        layout: of amax, whose sign bit is clear.
        table: first the words of each field's smallest amax, then those of its largest one.
        last: by exponent field, the last amax that has the first word.
        has_steps: whether the two words of a field may differ, apart from that of zero.
    """

    layout: FloatLayout
    table: Words
    last: Bits
    has_steps: bool

    def words(self, amax: Bits, out: Words | None = None) -> Words:
        """The scale words of amax, infinity and NaN included; OTHER where there is none."""
        layout, word = self.layout, self.layout.uint.type
        fields = scratch("field", amax.size, layout.uint).reshape(amax.shape)
        np.right_shift(amax, word(layout.mantissa_bits), out=fields)
        places = fields.view(f"i{fields.itemsize}")  # NumPy 2.0 takes none of uint64
        if self.has_steps or not fields.min(initial=1):
            step = scratch("step", amax.size, layout.uint).reshape(amax.shape)
            np.take(self.last, places, out=step, mode="wrap")
            np.subtract(step, amax, out=step)  # negative beyond the step
            np.right_shift(step, word(layout.mantissa_bits), out=step)
            np.bitwise_and(step, word(1 << layout.exponent_bits), out=step)
            np.bitwise_or(fields, step, out=fields)
        words: Words = np.take(self.table, places, out=out, mode="wrap")
        return words


@functools.lru_cache(maxsize=256)
def scale_steps(
    fmt: ElementFormat,
    policy: ScalePolicy,
    layout: FloatLayout,
    up: int = 0,
    scale: ScaleFormat = E8M0,
) -> ScaleSteps:
    """The scale words of blocks, by the patterns of their amax times 2**up in a layout."""
    lost, bias = 52 - layout.mantissa_bits, F64.bias - layout.bias - up

    def words_of(amax: Bits) -> Words:
        wide = (amax.astype(np.uint64) << np.uint64(lost)) + np.uint64(bias << 52)
        return scale_codes(wide, F64, fmt, policy, scale).words()

    count, one = 1 << layout.exponent_bits, layout.uint.type(1)
    low = np.arange(count, dtype=layout.uint) << layout.uint.type(layout.mantissa_bits)
    last = low + layout.uint.type((1 << layout.mantissa_bits) - 1)
    nan_block = scale.max_code + 1 | NAN_BLOCK  # of infinity and NaN
    first, second = np.full((2, count), nan_block, np.int32)
    first[1:-1], second[1:-1] = words_of(low[1:-1]), words_of(last[1:-1])
    two = np.flatnonzero(first != second)
    last[two] = last_with_same_value(words_of, low[two], last[two])
    more = two[words_of(last[two] + one) != second[two]]
    first[more] = second[more] = OTHER
    first[:1] = scale_codes(np.zeros(1, np.uint64), F64, fmt, policy, scale).words()
    last[0], second[0] = 0, OTHER
    return ScaleSteps(layout, np.concatenate([first, second]), last, bool(two.size))


def last_with_same_value(function: Callable[[Bits], NDArray[Any]], low: Bits, high: Bits) -> Bits:
    """For each `low` the last pattern before `high` with the same function value, by bisection."""
    one, first = low.dtype.type(1), function(low)
    while (high - low).max(initial=0) > 1:
        middle = low + (high - low >> one)
        same = function(middle) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return low
