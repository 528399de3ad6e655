"""The steps that are tried for each stage: choices of policies, known bugs, and casts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from mxref.bits.floats import F32, F64, I64, LAYOUTS, FloatLayout, compose, floor_log2, split
from mxref.cases.answers import choices_read
from mxref.conformance.verdict.cause.diagnose import other_choices
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.cause.hypotheses import Hypothesis, told
from mxref.conformance.verdict.cause.parts import (
    encoded,
    nan_scale,
    numbers_of,
    quotients_under,
)
from mxref.conformance.verdict.cause.shifts import Shift, raw_scales
from mxref.conformance.verdict.cause.suspects import Suspect, over, suspects
from mxref.conformance.verdict.stages.steps import Change, Divisor, Elements, Scale
from mxref.conformance.verdict.stages.views import other_of_pair
from mxref.formats.catalog import block_format
from mxref.mutants.block_mutants import counted
from mxref.policy.policy import Policy

#: Choices that a scale reads, and that an element does.
_OF_SCALES = (
    *("scale_rule", "amax_type", "scale_overflow", "scale_underflow", "int8_emax"),
    "scale_arithmetic",
)
_OF_ELEMENTS = (
    *("rounding", "overflow", "clamp", "underflow_sign", "subnormal_inputs", "int8_range"),
    *("pre_rounding", "zero_sign", "nan", "nan_to_finite"),
)


def named(choice: Mapping[str, str]) -> str:
    """Choices in words."""
    return ", ".join(f"{name}={value}" for name, value in choice.items())


def scales(policy: Policy) -> Iterator[Scale]:
    """Scales of other choices."""
    for choice in other_choices(_OF_SCALES, policy):
        yield Scale(named(choice), f"scales are those of {named(choice)}", over(choice), choice)
    text = "the scales of blocks 2i and 2i + 1 are exchanged"
    yield Scale("exchanged", text, order=other_of_pair, mixes=True)


def offset(k: int, base: Scale, *, wraps: bool) -> Scale:
    """Scales that are k codes from those of a step, before they are clamped or cut to 8 bits."""
    text = f"every scale is {counted(k)}"
    if base.choice:
        codes = f"{abs(k)} code{'s' * (abs(k) > 1)}"
        text = f"every scale is {codes} {'above' if k > 0 else 'below'} that of {base.name}"
    name = f"{base.name}{k:+d}{'_wrapped' * wraps}"
    answer = over(base.choice, Shift("scales", k, wraps).scales)
    return Scale(name, text + ", modulo 256" * wraps, answer, base.choice, k)


@functools.cache
def known_scales(format: str) -> tuple[Scale, ...]:
    """The scales of known bugs."""
    every = (one for some in suspects("quantize", format) for one in some)
    some = (one for one in every if one.kind == "mutant" and one.part != "encode")
    return tuple(Scale(one.name, one.text, over(_meant(one), one.answer)) for one in some)


def _meant(suspect: Suspect) -> dict[str, str]:
    """The choices that the mutant of a known bug means to follow."""
    return choices_read("quantize", Policy.parse(suspect.meant))


def elements(policy: Policy, bits: int) -> Iterator[Elements]:
    """Elements of so many bits of other choices, and changed on the way or afterwards."""
    for choice in other_choices(_OF_ELEMENTS, policy):
        yield _of_choice(named(choice), f"elements are rounded as by {named(choice)}", choice)
    for name, text, change in _CHANGES:
        yield Elements(name, f"elements are {text}", _changed(name, change, _ROUNDED), change)
    for name, text, signs in _SIGNS:
        yield _afterwards(name, f"an element has the sign of {text}", signs)
    for bit in range(bits):
        for what, changed in _BITS:
            yield _afterwards(f"{what}_bit_{bit}", f"{what} bit {bit} of the code", changed, bit)


def _of_choice(name: str, text: str, choice: Mapping[str, str]) -> Elements:
    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        return encoded(numbers_of(questions), divisors, questions, policy.replace(**choice))

    return Elements(name, text, codes)


def first(step: Elements, then: Elements) -> Elements | None:
    """Elements that one step changes, and another one rounds; None if the first rounds, too."""
    if step.change is None or then.change is not None:
        return None
    codes = _changed(step.name, step.change, then)
    return Elements(f"{step.name}+{then.name}", f"{step.text}, and then: {then.text}", codes)


def _changed(
    name: str, change: Change, then: Elements
) -> Callable[[Questions, I64, Policy], Words]:
    """The codes of numbers that are changed first, and rounded then."""

    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        file, fmt = questions.file, questions.fmt

        def made() -> Questions:
            words, begin = questions.inputs.copy(), questions.first
            exponents = (divisors - fmt.scale.bias)[:, np.newaxis]
            words[:, begin:] = change(words[:, begin:], questions.layout, exponents)
            return Questions(dataclasses.replace(file, float="f64", cases=()), words)

        key = f"{name} {hash(divisors.tobytes())}"
        return then.of(questions.once(key, Policy(), made), divisors, policy)

    return codes


def through(to: FloatLayout) -> Change:
    """Rounds numbers to a layout, ties to even."""
    return lambda words, of, _: compose(split(compose(split(words, of), to), to), F64)


def truncated(to: FloatLayout) -> Change:
    """Rounds numbers to a layout toward zero."""

    def change(words: Words, of: FloatLayout, _: I64) -> Words:
        numbers = split(words, of)
        top = np.maximum(floor_log2(numbers.significand) + numbers.exponent, to.emin)
        drop = np.clip(top - to.mantissa_bits - numbers.exponent, 0, 62)
        cut = numbers.significand >> drop << drop
        return compose(dataclasses.replace(numbers, significand=cut), F64)

    return change


def _integers(words: Words, layout: FloatLayout, _: I64) -> Words:
    return np.trunc(compose(split(words, layout), F64).view(np.float64)).view(np.uint64)


def _times_reciprocal(to: FloatLayout) -> Change:
    """What the product with the reciprocal of a scale, in a float type, is times the scale."""

    def change(words: Words, of: FloatLayout, exponents: I64) -> Words:
        numbers = split(words, of)
        infinite, zero = -exponents > to.bias, -exponents < to.emin - to.mantissa_bits
        is_zero = (numbers.significand == 0) & ~numbers.is_inf & ~numbers.is_nan
        changed = dataclasses.replace(
            numbers,
            significand=np.where(zero, 0, numbers.significand),
            is_inf=(numbers.is_inf & ~zero) | (infinite & ~is_zero & ~numbers.is_nan),
            is_nan=numbers.is_nan | (infinite & is_zero) | (zero & numbers.is_inf),
        )
        return compose(changed, F64)

    return change


def _afterwards(name: str, text: str, change: _Change, bit: int | None = None) -> Elements:
    """Right codes of which a bit is changed, or the sign."""

    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        sign = questions.fmt.element.sign_bit
        mask = np.uint64(sign if bit is None else 1 << bit)
        return change(Elements().of(questions, divisors, policy), mask)

    return Elements(name, text, codes)


class Cast(Hypothesis[Change]):
    """What numbers are changed to before they are rounded; the text is a participle."""

    def of(self, words: Words, source: FloatLayout, to: FloatLayout) -> Words:
        """Patterns of one layout changed, and rounded to another one."""
        wide = self.what(words, source, np.zeros(len(words), np.int64))
        return compose(split(wide, F64), to).astype(np.uint64)


_ROUNDED = _of_choice("rounded", "", {})
_RECIPROCAL = "multiplied by 1 / scale in {}, which may be 0 or infinite"
CASTS = (
    Cast("cast_bfloat16", "cast to bfloat16 on the way", through(LAYOUTS["bf16"])),
    Cast("cast_float16", "cast to float16 on the way", through(LAYOUTS["f16"])),
    Cast("cast_float32", "cast to float32 on the way", through(F32)),
    Cast("cut_bfloat16", "cast to bfloat16, toward zero, on the way", truncated(LAYOUTS["bf16"])),
    Cast("cut_float16", "cast to float16, toward zero, on the way", truncated(LAYOUTS["f16"])),
    Cast("integers", "cast to integers on the way", _integers),
)
_CHANGES = (
    *CASTS,
    Cast("reciprocal_f32", _RECIPROCAL.format("float32"), _times_reciprocal(F32)),
    Cast("reciprocal_f16", _RECIPROCAL.format("float16"), _times_reciprocal(LAYOUTS["f16"])),
)
#: What becomes of codes, given a bit of them.
_Change = Callable[[Words, np.uint64], Words]
_SIGNS: tuple[tuple[str, str, _Change], ...] = (
    ("sign_before", "the lane before it", lambda c, sign: c & ~sign | np.roll(c, 1, axis=1) & sign),
    ("sign_after", "the lane after it", lambda c, sign: c & ~sign | np.roll(c, -1, axis=1) & sign),
    ("sign_first", "the first lane", lambda c, sign: c & ~sign | c[:, :1] & sign),
)
_BITS: tuple[tuple[str, _Change], ...] = (
    ("clears", lambda codes, bit: codes & ~bit),
    ("sets", lambda codes, bit: codes | bit),
    ("flips", lambda codes, bit: codes ^ bit),
)


@functools.cache
def known_elements(format: str) -> tuple[Elements, ...]:
    """The elements of known bugs of `encode`."""
    element = block_format(format).element.name
    return tuple(_element_of(one) for some in suspects("encode", element) for one in some)


def _element_of(suspect: Suspect) -> Elements:
    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        inner = quotients_under(questions, divisors)
        return suspect.answer(inner, policy).reshape(len(divisors), -1)

    return Elements(suspect.name, suspect.text, codes)


def _right(questions: Questions, stored: I64, policy: Policy) -> I64:
    return Scale().of(questions, policy)


def _beyond(questions: Questions, stored: I64, policy: Policy) -> I64:
    raw = raw_scales(questions, policy)
    return np.where(abs(raw) < 1 << 16, raw, stored)


def _moved(k: int) -> _Divide:
    return lambda questions, stored, policy: stored + k


def _row(step: int) -> _Divide:
    def codes(questions: Questions, stored: I64, policy: Policy) -> I64:
        found = np.roll(stored, step)
        found[0 if step > 0 else -1] = nan_scale(questions.fmt)
        return found

    return codes


def _other(questions: Questions, stored: I64, policy: Policy) -> I64:
    return stored[other_of_pair(len(stored))]


#: From the codes that are stored those by which elements are divided.
_Divide = Callable[[Questions, I64, Policy], I64]
_OF_OWN: dict[str, _Divide] = {
    "right_scale": _right,
    "unclamped": _beyond,
    **{f"stored{k:+d}": _moved(k) for k in (-1, 1, -2, 2)},
}
_OF_OTHERS: dict[str, _Divide] = {
    "of_block_before": _row(1),
    "of_block_after": _row(-1),
    "of_other_block": _other,
}
#: Other scales than the stored one, those of other blocks last.
DIVISORS = (
    *(Divisor(*one) for one in told("divisor", _OF_OWN)),
    *(Divisor(*one, mixes=True) for one in told("divisor", _OF_OTHERS)),
)


def of_special_blocks(policy: Policy) -> Iterator[dict[str, str]]:
    """Choices about blocks of zeros, with infinities or NaN, one by one and in pairs."""
    some = [*other_choices(("zero_block", "block_nan", "block_inf"), policy)]
    yield from some
    for choice in some:
        for other in other_choices(("scaling", "overflow", "nan", "nan_to_finite"), policy):
            yield choice | other
