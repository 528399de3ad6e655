"""What a stage of a block may do: hypotheses as data, and the answers of several together.

A block's answer is made in stages: amax sees elements; amax becomes a scale, which is stored; the
elements are divided by a scale and rounded. A step is what one stage does, and right by default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, I64, Bool, FloatLayout
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.cause.parts import Answer, encoded, is_special, nan_scale, numbers_of
from mxref.conformance.verdict.cause.suspects import right
from mxref.policy.policy import Policy

#: Classes of blocks in which a target may do otherwise than elsewhere, and of elements.
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
    """What a stage does; `stage` is its name.

    Args:
        name: a short name.
        text: what is wrong, in words; empty if nothing is.
        mixes: whether a block's answer depends on other blocks of the call.
    """

    stage: ClassVar[str] = "scale"
    name: str = "right"
    text: str = ""
    mixes: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Factor:
    """What becomes of the scale of a tensor: its pattern in float32 from the one that is given."""

    name: str = "right"
    text: str = ""
    change: Callable[[Words], Words] | None = None

    def of(self, questions: Questions) -> Questions:
        """The questions with other scales of tensors, always finite ones."""
        make = self.change
        if make is None or not questions.first:
            return questions

        def changed(words: Words) -> Words:
            found = words.copy()
            found[:, 0] = np.clip(make(words[:, 0]).astype(np.uint64), 0, F32.inf_bits - 1)
            return found

        return questions.changed(f"factor {self.name}", changed, 0)


@dataclass(frozen=True, slots=True)
class Tensor(Step):
    """What becomes of the scale of a tensor before scales, and before elements, are made."""

    stage: ClassVar[str] = "tensor scale"
    scales: Factor = Factor()
    elements: Factor = Factor()


@dataclass(frozen=True, slots=True)
class View(Step):
    """Which elements amax sees: `words` gives the blocks as it sees them, or all of them."""

    words: Callable[[Words, FloatLayout], Words] | None = None

    def of(self, questions: Questions) -> Questions:
        """The questions as amax sees them."""
        make, layout = self.words, questions.layout
        if make is None:
            return questions
        what, first = f"seen {self.name}", questions.first
        return questions.changed(what, lambda words: make(words, layout), first)


@dataclass(frozen=True, slots=True)
class Scale(Step):
    """How amax becomes the scale that is stored: the first words of answers to blocks it sees.

    `choice` and `k` are the choices of a policy that it follows, and how many codes it is from it;
    `order` says of which block of the call the scale is stored.
    """

    answer: Answer = right
    choice: Mapping[str, str] = field(default_factory=dict)
    k: int = 0
    order: Callable[[int], NDArray[np.intp]] | None = None

    def of(self, seen: Questions, policy: Policy) -> I64:
        """The codes, a row each."""
        codes = self.answer(seen, policy)[:, 0].astype(np.int64)
        return codes if self.order is None else codes[self.order(len(codes))]


@dataclass(frozen=True, slots=True)
class Divisor(Step):
    """By which scales elements are divided: `codes` from the stored ones, maybe beyond E8M0.

    Where `mixes`, the code of NaN stands where another block has it, or where there is none.
    """

    stage: ClassVar[str] = "elements"
    codes: Callable[[Questions, I64, Policy], I64] = lambda questions, stored, policy: stored


#: What a number becomes before it is rounded, as patterns of float64: from patterns of a layout,
#: and the exponents of the scales.
Change = Callable[[Words, FloatLayout, I64], Words]


@dataclass(frozen=True, slots=True)
class Elements(Step):
    """How elements under a scale become codes: `codes` of blocks, given the divisors.

    `change` is what becomes of the numbers first, if something does.
    """

    stage: ClassVar[str] = "elements"
    codes: Callable[[Questions, I64, Policy], Words] | None = None
    change: Change | None = None

    def of(self, questions: Questions, divisors: I64, policy: Policy) -> Words:
        """The codes, a block a row."""
        if self.codes is not None:
            return self.codes(questions, divisors, policy)
        # A policy may divide in an arithmetic of its own; it is known under its own scales.
        known = questions.answers(policy)
        own = known[:, 0] == divisors
        if questions.first:
            own &= questions.inputs[:, 0] != 0  # under which there is no right answer
        if own.all():
            return known[:, 1:]
        own &= divisors != nan_scale(questions.fmt)
        found = encoded(numbers_of(questions), divisors, questions, policy)
        return np.where(own[:, np.newaxis], known[:, 1:], found)


@dataclass(frozen=True, slots=True)
class Special(Step):
    """What becomes of one class of blocks, as amax sees them: their scales, or all of them.

    `of` answers a row for each block; of it the scale counts, and the codes where it is `whole`.
    A row of two words is a scale and the code of all elements. Where `of_call`, a row may depend on
    other blocks of the call.
    """

    stage: ClassVar[str] = "special blocks"
    block: int = 0
    of: Answer = right
    whole: bool = False
    of_call: bool = False


@dataclass(frozen=True, slots=True)
class Codes(Step):
    """The code that one class of elements has."""

    stage: ClassVar[str] = "special elements"
    element: int = 0
    code: int = 0


@dataclass(frozen=True, slots=True)
class Places(Step):
    """The lane from which each lane's code comes."""

    stage: ClassVar[str] = "places"
    sources: tuple[int, ...] = ()


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

    tensor: Tensor = Tensor()
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
        every = self.tensor, self.view, self.scale, *self.special, self.divisor, self.elements
        every += *self.codes, self.places
        return tuple(step for step in every if step.name != "right")

    @property
    def mixes(self) -> bool:
        """Whether a block's answer depends on other blocks of the call."""
        return any(step.mixes for step in self.wrong)

    def special_blocks(self, questions: Questions) -> tuple[Bool, ...]:
        """Which blocks are of each class of BLOCKS, as amax sees them."""
        return is_special(self.view.of(questions))

    def scales(self, questions: Questions, policy: Policy) -> I64:
        """The codes of the scales that are stored."""
        questions = self.tensor.scales.of(questions)
        stored = self.scale.of(self.view.of(questions), policy)
        blocks = self.special_blocks(questions) if self.special else ()
        for one in self.special:
            rows = one.of(questions, policy)[:, 0].astype(np.int64)
            stored = np.where(blocks[one.block], rows, stored)
        return stored

    def under(self, questions: Questions, stored: I64, policy: Policy) -> Words:
        """The codes of elements where these scales are stored."""
        questions = self.tensor.elements.of(questions)
        divisors = self.divisor.codes(questions, stored, policy)
        found = self.elements.of(questions, divisors, policy)
        classes = element_classes(questions) if self.codes else ()
        for one in self.codes:
            found = np.where(classes[one.element], np.uint64(one.code), found)
        whole = [special for special in self.special if special.whole]
        blocks = self.special_blocks(questions) if whole else ()
        for special in whole:
            rows = blocks[special.block][:, np.newaxis]
            found = np.where(rows, special.of(questions, policy)[:, 1:], found)
        if self.places.sources:
            found = found[:, self.places.sources]
        nan = stored == nan_scale(questions.fmt)
        return np.where(nan[:, np.newaxis], np.uint64(0), found)

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """The answers to questions, where all else follows a policy."""
        stored = self.scales(questions, policy)
        codes = self.under(questions, stored, policy)
        return np.concatenate([stored[:, np.newaxis].astype(np.uint64), codes], axis=1)


RIGHT = BlockSteps()
