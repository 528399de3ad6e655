"""The steps that are tried for each stage: choices of policies, known bugs, and casts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from mxref.bits.floats import F32, F64, I64, LAYOUTS, FloatLayout, compose, floats_from, split
from mxref.cases.answers import choices_read
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.cause.parts import quotients_under
from mxref.conformance.verdict.cause.shifts import unclamped
from mxref.conformance.verdict.cause.suspects import Suspect, suspects
from mxref.conformance.verdict.stages.steps import (
    Divisor,
    Elements,
    Scale,
    encoded,
    numbers_of,
)
from mxref.formats.catalog import block_format
from mxref.mutants.block_mutants import counted
from mxref.numbers.e8m0 import codes_within
from mxref.policy.policy import Policy

__all__ = [
    "divisors",
    "elements",
    "first",
    "known_elements",
    "known_scales",
    "offset",
    "scales",
]

#: Choices that a scale reads, and that an element does.
_OF_SCALES = (
    *("scale_rule", "amax_type", "scale_overflow", "scale_underflow", "int8_emax"),
    "scale_arithmetic",
)
_OF_ELEMENTS = (
    *("rounding", "overflow", "clamp", "underflow_sign", "subnormal_inputs", "int8_range"),
    *("pre_rounding", "zero_sign", "nan", "nan_to_finite"),
)


def _choices(names: tuple[str, ...], policy: Policy) -> Iterator[dict[str, str]]:
    for name in names:
        for member in Policy.members(name):
            if policy.choices()[name] != member.value and "stochastic" not in member.value:
                yield {name: member.value}


def _named(choice: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in choice.items())


def scales(policy: Policy) -> Iterator[Scale]:
    """Scales of other choices."""
    for choice in _choices(_OF_SCALES, policy):
        yield _chosen(choice)


def _chosen(choice: dict[str, str]) -> Scale:
    def codes(seen: Questions, policy: Policy) -> I64:
        return seen.answers(policy.replace(**choice))[:, 0].astype(np.int64)

    text = f"scales are those of {_named(choice)}"
    return Scale(_named(choice), text, codes, tuple(choice.items()))


def offset(k: int, base: Scale, *, wraps: bool) -> Scale:
    """Scales that are k codes from those of a step, before they are clamped or cut to 8 bits."""
    choice = dict(base.choice)

    def codes(seen: Questions, policy: Policy) -> I64:
        used = policy.replace(**choice)
        right = seen.answers(used)[:, 0].astype(np.int64)
        raw = seen.once("raw", used, lambda: unclamped(seen.file, numbers_of(seen), used))[:, 0]
        scale = used.scale
        moved = raw + k
        moved = (
            moved & 0xFF
            if wraps
            else codes_within(moved, scale.scale_overflow, scale.scale_underflow)
        )
        numbers = numbers_of(seen)
        some = (numbers.significand != 0).any(axis=1) & ~(numbers.is_inf | numbers.is_nan).any(
            axis=1
        )
        return np.where(some, moved, right)

    text = f"every scale is {counted(k)}"
    if choice:
        codes_text = f"{abs(k)} code{'s' * (abs(k) > 1)}"
        text = f"every scale is {codes_text} {'above' if k > 0 else 'below'} that of {base.name}"
    text += ", modulo 256" * wraps
    return Scale(f"{base.name}{k:+d}{'_wrapped' * wraps}", text, codes, base.choice, k)


def known_scales(format: str) -> tuple[Scale, ...]:
    """The scales of known bugs."""
    every = (one for some in suspects("quantize", format) for one in some)
    return tuple(_scale_of(one) for one in every if one.kind == "mutant" and one.part != "encode")


def _scale_of(suspect: Suspect) -> Scale:
    meant = choices_read("quantize", Policy.parse(suspect.meant))

    def codes(seen: Questions, policy: Policy) -> I64:
        return suspect.answer(seen, policy.replace(**meant))[:, 0].astype(np.int64)

    return Scale(suspect.name, suspect.text, codes)


def elements(policy: Policy) -> Iterator[Elements]:
    """Elements of other choices, and cast on the way."""
    for choice in _choices(_OF_ELEMENTS, policy):
        yield _of_choice(choice)
    for name, words, cast in _CASTS:
        yield _cast(name, words, cast)
    for name, words, source in _SIGNS:
        yield _sign(name, words, source)
    for layout in _RECIPROCALS:
        yield _reciprocal(layout)
    for bit in range(8):
        for what in ("clears", "sets", "flips"):
            yield _of_bit(what, bit)


def _of_choice(choice: dict[str, str]) -> Elements:
    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        return encoded(numbers_of(questions), divisors, questions, policy.replace(**choice))

    return Elements(_named(choice), f"elements are rounded as by {_named(choice)}", codes)


def _cast(name: str, words: str, cast: Callable[[Words, FloatLayout], Words]) -> Elements:
    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        layout = LAYOUTS[questions.file.float]
        first = int(block_format(questions.file.format).tensor_scale)
        made = questions.once(name, Policy(), lambda: cast(questions.inputs[:, first:], layout))
        return encoded(split(made, F64), divisors, questions, policy)

    return Elements(name, f"elements are cast {words} on the way", codes)


def _through(layout: FloatLayout) -> Callable[[Words, FloatLayout], Words]:
    """Rounds patterns to a layout, ties to even; float64 patterns."""

    def cast(words: Words, of: FloatLayout) -> Words:
        return compose(split(compose(split(words, of), layout), layout), F64).astype(np.uint64)

    return cast


def _truncated(layout: FloatLayout) -> Callable[[Words, FloatLayout], Words]:
    """Rounds patterns to a layout toward zero; float64 patterns."""

    def cast(words: Words, of: FloatLayout) -> Words:
        numbers = split(words, of)
        unit = np.maximum(
            numbers.exponent + 63 - _leading(numbers.significand) - layout.mantissa_bits,
            layout.emin - layout.mantissa_bits,
        )
        drop = np.clip(unit - numbers.exponent, 0, 62)
        cut = (numbers.significand >> drop) << drop
        return compose(dataclasses.replace(numbers, significand=cut), F64).astype(np.uint64)

    return cast


def _leading(significand: I64) -> I64:
    """Zero bits above the highest one bit of 64."""
    return 64 - np.frexp(significand.astype(np.float64))[1].astype(np.int64)


def _integers(words: Words, layout: FloatLayout) -> Words:
    with np.errstate(all="ignore"):
        values = np.asarray(floats_from(words.astype(layout.uint), layout)).astype(np.float64)
        return np.trunc(values).view(np.uint64)


#: What a number becomes before it is rounded, as patterns of float64, by the name of the step:
#: from patterns of a layout, and the exponents of the scales.
_First = Callable[[Words, FloatLayout, I64], Words]


def first(step: Elements, then: Elements) -> Elements | None:
    """Elements that one step changes, and another one rounds; None if the first rounds, too."""
    change = _first_of(step.name)
    if change is None or _first_of(then.name) is not None:
        return None
    make = change

    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        file = questions.file
        fmt = block_format(file.format)

        def made() -> Questions:
            words, begin = questions.inputs.copy(), int(fmt.tensor_scale)
            exponents = (divisors - fmt.scale.bias)[:, np.newaxis]
            words[:, begin:] = make(words[:, begin:], LAYOUTS[file.float], exponents)
            return Questions(dataclasses.replace(file, float="f64", cases=()), words)

        key = f"{step.name} {hash(divisors.tobytes())}"
        return then.of(questions.once(key, Policy(), made), divisors, policy)

    return Elements(f"{step.name}+{then.name}", f"{step.text}, and then: {then.text}", codes)


def _first_of(name: str) -> _First | None:
    for cast, _, how in _CASTS:
        if cast == name:
            return lambda words, layout, _: how(words, layout)
    for layout in _RECIPROCALS:
        if name == f"reciprocal_{layout.name}":
            return functools.partial(_times_reciprocal, layout)
    return None


def _times_reciprocal(of: FloatLayout, words: Words, layout: FloatLayout, exponents: I64) -> Words:
    """What the product with the reciprocal of a scale, in a float type, is times the scale."""
    numbers = split(words, layout)
    infinite, zero = -exponents > of.bias, -exponents < of.emin - of.mantissa_bits
    is_zero = (numbers.significand == 0) & ~numbers.is_inf & ~numbers.is_nan
    changed = dataclasses.replace(
        numbers,
        significand=np.where(zero, 0, numbers.significand),
        is_inf=(numbers.is_inf & ~zero) | (infinite & ~is_zero & ~numbers.is_nan),
        is_nan=numbers.is_nan | (infinite & is_zero) | (zero & numbers.is_inf),
    )
    return compose(changed, F64).astype(np.uint64)


def _reciprocal(layout: FloatLayout) -> Elements:
    """Elements that are multiplied by the reciprocal of a power of two in a float type."""

    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        fmt, float = block_format(questions.file.format), LAYOUTS[questions.file.float]
        words = questions.inputs[:, int(fmt.tensor_scale) :]
        exponents = (divisors - fmt.scale.bias)[:, np.newaxis]
        changed = split(_times_reciprocal(layout, words, float, exponents), F64)
        return encoded(changed, divisors, questions, policy)

    names = {"f32": "float32", "f16": "float16"}
    text = (
        f"elements are multiplied by 1 / scale in {names[layout.name]}, which may be 0 or infinite"
    )
    return Elements(f"reciprocal_{layout.name}", text, codes)


def _of_bit(what: str, bit: int) -> Elements:
    """Right codes with a bit cleared, set or flipped."""

    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        right, mask = Elements().of(questions, divisors, policy), np.uint64(1 << bit)
        if what == "clears":
            return right & ~mask
        return right | mask if what == "sets" else right ^ mask

    return Elements(f"{what}_bit_{bit}", f"{what} bit {bit} of the code", codes)


def _sign(name: str, words: str, source: Callable[[I64], I64]) -> Elements:
    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        right = Elements().of(questions, divisors, policy)
        sign = np.uint64(block_format(questions.file.format).element.sign_bit)
        lanes = np.arange(right.shape[1])
        return right & ~sign | right[:, source(lanes) % len(lanes)] & sign

    return Elements(name, f"an element has the sign of {words}", codes)


_SIGNS = (
    ("sign_before", "the lane before it", lambda lanes: lanes - 1),
    ("sign_after", "the lane after it", lambda lanes: lanes + 1),
    ("sign_first", "the first lane", lambda lanes: lanes * 0),
)
_RECIPROCALS = (F32, LAYOUTS["f16"])
_CASTS = (
    ("cast_bfloat16", "to bfloat16", _through(LAYOUTS["bf16"])),
    ("cast_float16", "to float16", _through(LAYOUTS["f16"])),
    ("cast_float32", "to float32", _through(F32)),
    ("cut_bfloat16", "to bfloat16, toward zero,", _truncated(LAYOUTS["bf16"])),
    ("cut_float16", "to float16, toward zero,", _truncated(LAYOUTS["f16"])),
    ("integers", "to integers", _integers),
)


@functools.cache
def known_elements(format: str) -> tuple[Elements, ...]:
    """The elements of known bugs of `encode`."""
    element = block_format(format).element.name
    return tuple(_element_of(one) for some in suspects("encode", element) for one in some)


def _element_of(suspect: Suspect) -> Elements:
    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        key = f"quotients {hash(divisors.tobytes())}"
        inner = questions.once(
            key, policy, lambda: quotients_under(questions, divisors.astype(np.uint64))
        )
        return suspect.answer(inner, policy).reshape(len(divisors), -1)

    return Elements(suspect.name, suspect.text, codes)


def divisors() -> Iterator[Divisor]:
    """Other scales than the stored one."""

    def right(questions: Questions, stored: I64, policy: Policy) -> I64:
        return questions.answers(policy)[:, 0].astype(np.int64)

    def beyond(questions: Questions, stored: I64, policy: Policy) -> I64:
        raw = unclamped(questions.file, numbers_of(questions), policy)[:, 0]
        return np.where(abs(raw) < 1 << 16, raw, stored)

    yield Divisor(
        "right_scale", "elements are divided by the right scale, not the stored one", right
    )
    yield Divisor("unclamped", "elements are divided by the scale before it is clamped", beyond)
    for k in (-1, 1, -2, 2):
        yield Divisor(
            f"stored{k:+d}",
            f"elements are divided by a scale that is {abs(k)} code{'s' * (abs(k) > 1)} "
            f"{'larger' if k > 0 else 'smaller'} than the stored one",
            _moved(k),
        )
    for step, which in ((1, "before"), (-1, "after")):
        yield Divisor(
            f"of_block_{which}",
            f"elements are divided by the scale of the block {which} theirs",
            _of_row(step),
        )


def _moved(k: int) -> Callable[[Questions, I64, Policy], I64]:
    return lambda questions, stored, policy: stored + k


def _of_row(step: int) -> Callable[[Questions, I64, Policy], I64]:
    return lambda questions, stored, policy: np.roll(stored, step)


def of_special_blocks(policy: Policy) -> Iterator[dict[str, str]]:
    """Choices about blocks of zeros, with infinities or NaN, one by one and in pairs."""
    some = [*_choices(("zero_block", "block_nan", "block_inf"), policy)]
    yield from some
    for choice in some:
        for other in _choices(("scaling", "overflow", "nan", "nan_to_finite"), policy):
            yield choice | other
