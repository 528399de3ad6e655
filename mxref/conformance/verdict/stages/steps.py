"""What a stage of a block may do: hypotheses as data, and the answers of several together.

A block's answer is made in stages: amax sees elements; amax becomes a scale, which is stored; the
elements are divided by a scale and rounded. A step is what one stage does, and right by default.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import I64, LAYOUTS, Bool, FloatLayout, Parts, split
from mxref.blocks.two_level import TensorScale, scaled
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.formats.catalog import block_format
from mxref.numbers.element import encode_parts
from mxref.policy.policy import Policy

__all__ = [
    "RESULTS",
    "RIGHT",
    "BlockSteps",
    "Codes",
    "Divisor",
    "Elements",
    "Places",
    "Scale",
    "Special",
    "Step",
    "View",
    "is_special",
    "numbers_of",
    "stage_of",
]

#: Classes of blocks in which a target may do otherwise than elsewhere, and of elements.
_FIELDS = [field.name for field in dataclasses.fields(Parts)]

BLOCKS = ("zeros", "an infinity and no NaN", "a NaN")
#: Sizes of elements under their scale.
RESULTS = (
    "below the smallest normal number",
    "in the range of normal numbers",
    "at least the largest number",
)
ELEMENTS = ("NaN", "-NaN", "infinity", "-infinity", "+0", "-0")


@dataclass(frozen=True, slots=True)
class Step:
    """What a stage does.

    Args:
        name: a short name.
        text: what is wrong, in words; empty if nothing is.
    """

    name: str = "right"
    text: str = ""


@dataclass(frozen=True, slots=True)
class View(Step):
    """Which elements amax sees: `words` gives the blocks as it sees them, or all of them."""

    words: Callable[[Words, FloatLayout], Words] | None = None

    def of(self, questions: Questions) -> Questions:
        """The questions as amax sees them."""
        if self.words is None:
            return questions
        make, layout = self.words, LAYOUTS[questions.file.float]
        first = int(block_format(questions.file.format).tensor_scale)

        def seen() -> Questions:
            words = questions.inputs.copy()
            words[:, first:] = make(words[:, first:], layout)
            return Questions(questions.file, words)

        return questions.once(f"seen {self.name}", Policy(), seen)


@dataclass(frozen=True, slots=True)
class Scale(Step):
    """How amax becomes the scale that is stored: `codes` of blocks as amax sees them.

    `choice` and `k` are the choices of a policy that it follows, and how many codes it is from it.
    """

    codes: Callable[[Questions, Policy], I64] | None = None
    choice: tuple[tuple[str, str], ...] = ()
    k: int = 0

    def of(self, seen: Questions, policy: Policy) -> I64:
        """The codes, a row each."""
        if self.codes is None:
            return seen.answers(policy)[:, 0].astype(np.int64)
        return self.codes(seen, policy)


@dataclass(frozen=True, slots=True)
class Divisor(Step):
    """By which scale elements are divided: `codes` from the stored one, or that one."""

    codes: Callable[[Questions, I64, Policy], I64] | None = None

    def of(self, questions: Questions, stored: I64, policy: Policy) -> I64:
        """The codes, a row each; they may lie beyond E8M0."""
        return stored if self.codes is None else self.codes(questions, stored, policy)


@dataclass(frozen=True, slots=True)
class Elements(Step):
    """How elements under a scale become codes: `codes` of blocks, given the divisors."""

    codes: Callable[[Questions, I64, Policy], Words] | None = None

    def of(self, questions: Questions, divisors: I64, policy: Policy) -> Words:
        """The codes, a block a row."""
        if self.codes is not None:
            return self.codes(questions, divisors, policy)
        # A policy may divide in an arithmetic of its own; it is known under its own scales.
        right = questions.answers(policy)
        if (right[:, 0] == divisors).all():
            return right[:, 1:]
        found = encoded(numbers_of(questions), divisors, questions, policy)
        own = (right[:, :1] == divisors[:, np.newaxis]) & (
            divisors != nan_scale(questions.file.format)
        )[:, np.newaxis]
        return np.where(own, right[:, 1:], found)


@dataclass(frozen=True, slots=True)
class Special(Step):
    """What becomes of one class of blocks, as amax sees them: their scales, or all of them.

    `answers` gives a row for each block; of it the scale counts, and the codes where it is `whole`.
    A row of two words is a scale and the code of all elements.
    """

    block: int = 0
    answers: Callable[[Questions, Policy], Words] | None = None
    whole: bool = False

    def of(self, questions: Questions, policy: Policy) -> Words:
        """The answers to blocks."""
        return (
            questions.answers(policy) if self.answers is None else self.answers(questions, policy)
        )


@dataclass(frozen=True, slots=True)
class Codes(Step):
    """The code that one class of elements has."""

    element: int = 0
    code: int = 0


@dataclass(frozen=True, slots=True)
class Places(Step):
    """The lane from which each lane's code comes."""

    sources: tuple[int, ...] = ()


def numbers_of(questions: Questions) -> Parts:
    """The numbers of blocks."""
    file = questions.file
    first = int(block_format(file.format).tensor_scale)
    layout = LAYOUTS[file.float]
    return questions.once("numbers", Policy(), lambda: split(questions.inputs[:, first:], layout))


def quotients_of(numbers: Parts, divisors: I64, questions: Questions) -> Parts:
    """Numbers of blocks divided by their scales, a code a row, and by the scale of their tensor."""
    fmt = block_format(questions.file.format)
    if fmt.scale.is_power:
        exponent = numbers.exponent - (divisors - fmt.scale.bias)[:, np.newaxis]
        return dataclasses.replace(numbers, exponent=exponent)
    codes = np.clip(divisors, 0, fmt.scale.code_count - 1)
    if not fmt.tensor_scale:
        return scaled(numbers, codes, fmt, None)
    tensors, of = np.unique(questions.inputs[:, 0], return_inverse=True)
    found = {name: np.empty_like(getattr(numbers, name)) for name in _FIELDS}
    for number, tensor in enumerate(tensors.tolist()):
        some = of == number
        part = Parts(*(getattr(numbers, name)[some] for name in _FIELDS))
        made = scaled(part, codes[some], fmt, TensorScale(tensor))
        for name in _FIELDS:
            found[name][some] = getattr(made, name)
    return Parts(**found)


def encoded(numbers: Parts, divisors: I64, questions: Questions, policy: Policy) -> Words:
    """The codes of numbers divided by scales, a row each."""
    element = block_format(questions.file.format).element
    quotients = quotients_of(numbers, divisors, questions)
    return encode_parts(quotients, element, policy.element).astype(np.uint64)


def nan_scale(format: str) -> int:
    """The code of a NaN scale, under which codes say nothing."""
    return max(block_format(format).scale.nan_codes)


def is_special(questions: Questions) -> tuple[Bool, ...]:
    """Which blocks are of each class of BLOCKS."""
    numbers = numbers_of(questions)
    nan = np.asarray(numbers.is_nan.any(axis=1))
    something = (numbers.significand != 0) | numbers.is_inf | numbers.is_nan
    some = np.asarray(np.any(something, axis=1))
    infinite = np.asarray(numbers.is_inf.any(axis=1) & ~nan)
    return ~some, infinite, nan


def element_classes(questions: Questions) -> tuple[Bool, ...]:
    """Which elements are of each class of ELEMENTS."""
    n = numbers_of(questions)
    zero = (n.significand == 0) & ~n.is_inf & ~n.is_nan
    return tuple(
        kind & (n.negative == sign) for kind in (n.is_nan, n.is_inf, zero) for sign in (False, True)
    )


@dataclass(frozen=True, slots=True)
class BlockSteps:
    """The steps of all stages of a block, which together answer questions."""

    view: View = View()
    scale: Scale = Scale()
    special: tuple[Special, ...] = ()
    divisor: Divisor = Divisor()
    elements: Elements = Elements()
    codes: tuple[Codes, ...] = ()
    places: Places = Places()

    @property
    def wrong(self) -> tuple[Step, ...]:
        """The steps that are not right, in order."""
        every = self.view, self.scale, *self.special, self.divisor, self.elements
        every += *self.codes, self.places
        return tuple(step for step in every if step.name != "right")

    def special_blocks(self, questions: Questions) -> tuple[Bool, ...]:
        """Which blocks are of each class of BLOCKS, as amax sees them."""
        return is_special(self.view.of(questions))

    def scales(self, questions: Questions, policy: Policy) -> I64:
        """The codes of the scales that are stored."""
        stored = self.scale.of(self.view.of(questions), policy)
        for one in self.special:
            rows = one.of(questions, policy)[:, 0].astype(np.int64)
            stored = np.where(self.special_blocks(questions)[one.block], rows, stored)
        return stored

    def under(self, questions: Questions, stored: I64, policy: Policy) -> Words:
        """The codes of elements where these scales are stored."""
        divisors = self.divisor.of(questions, stored, policy)
        found = self.elements.of(questions, divisors, policy)
        classes = element_classes(questions)
        for one in self.codes:
            found = np.where(classes[one.element], np.uint64(one.code), found)
        for special in self.special:
            if special.whole:
                rows = self.special_blocks(questions)[special.block][:, np.newaxis]
                found = np.where(rows, special.of(questions, policy)[:, 1:], found)
        if self.places.sources:
            found = found[:, self.places.sources]
        nan = stored == nan_scale(questions.file.format)
        return np.where(nan[:, np.newaxis], np.uint64(0), found)

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """The answers to questions, where all else follows a policy."""
        stored = self.scales(questions, policy)
        codes = self.under(questions, stored, policy)
        return np.concatenate([stored[:, np.newaxis].astype(np.uint64), codes], axis=1)


RIGHT = BlockSteps()


def stage_of(step: Step) -> str:
    """The stage of a step."""
    if isinstance(step, Special):
        return "special blocks"
    if isinstance(step, Codes):
        return "special elements"
    if isinstance(step, Places):
        return "places"
    return "elements" if isinstance(step, Divisor | Elements) else "scale"
