"""Evidence, which is some answers of a target; and questions with the answers of policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.blocks.routes import quantize_rows, takes_keys
from mxref.blocks.shapes import format_and_policy
from mxref.cases.answers import fast_answers
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Outcome, fast_right_answers, same_answers
from mxref.conformance.compare.tensor_cases import blocks_of, tensors_of
from mxref.formats.catalog import BlockFormat, block_format
from mxref.numbers.source import after_input_choices
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import Answers, without_cases
from mxref.targets.profile_target import profile_answers, speaks_of

Words = NDArray[np.uint64]
Made = TypeVar("Made")

#: The most words of blocks that are answered without tables, which take as long to make.
_FEW_WORDS = 1 << 15
#: The size of a file above which a sample is compared first, and the number of failed and of
#: passed cases in that sample.
_SMALL, _SAMPLE = 256, 64


class Answering(Protocol):
    """What answers questions over a policy."""

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """Its answers."""


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Inputs of an operation; values derived from them are computed once.

    Args:
        file: operation, format and float type.
        inputs: one row of words a case.
    """

    file: VectorFile
    inputs: Words
    known: dict[tuple[str, Policy], Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def fmt(self) -> BlockFormat:
        """The block format."""
        return block_format(self.file.format)

    @property
    def layout(self) -> FloatLayout:
        """The layout of the floats."""
        return LAYOUTS[self.file.float]

    @property
    def first(self) -> int:
        """How many words come before the numbers of a block: one if its tensor has a scale."""
        return int(self.file.row.blocks == "numbers" and self.fmt.tensor_scale)

    def same(self, these: Words, those: Words) -> NDArray[np.bool_]:
        """Which words of two sets of answers are the same."""
        return same_answers(self.file, these, those, self.inputs)

    def once(self, what: str, policy: Policy, make: Callable[[], Made]) -> Made:
        """The result of `make`, which is called once for each policy."""
        key = what, policy
        made: Made | None = self.known.get(key)  # once: to hash a policy takes two microseconds
        if made is None:
            made = self.known[key] = make()
        return made

    def answers(self, policy: Policy) -> Words:
        """The answers of a policy.

        Raises:
            ValueError: a choice that has no answer to one of them.
        """
        return self.once("answers", policy, lambda: self._answers(policy))

    def changed(self, what: str, change: Callable[[Words], Words], first: int) -> Questions:
        """The same with other words from one on, the same object again for the same change."""

        def made() -> Questions:
            words = self.inputs.copy()
            words[:, first:] = change(words[:, first:])
            return Questions(self.file, words)

        return self.once(what, Policy(), made)

    def part(self, some: NDArray[np.bool_]) -> Questions:
        """Some of them, the same object again for the same ones."""
        key = f"part {some.tobytes().hex()}"
        return self.once(key, Policy(), lambda: Questions(self.file, self.inputs[some]))

    def blocks(self) -> Questions:
        """The blocks that tensors are made of."""
        file = without_cases("quantize", self.file.format, self.file.float)
        return self.once("blocks", Policy(), lambda: Questions(file, blocks_of(self.inputs)))

    def _answers(self, policy: Policy) -> Words:
        op, format, float = self.file.op, self.file.format, self.file.float
        if op == "quantize_tensor":  # all blocks at once, which is much faster
            return tensors_of(self.inputs, self.blocks().answers(policy), policy)
        inputs = self.inputs
        if op == "quantize" and inputs.size <= _FEW_WORDS:
            fmt, chosen = format_and_policy(format, None, policy, {})
            if takes_keys(fmt, chosen):
                words = inputs.astype(self.layout.uint)
                rows, layout = after_input_choices(words, self.layout, chosen.element)
                scales, codes = quantize_rows(rows, layout, fmt, chosen)
                return np.concatenate([scales[:, np.newaxis], codes], axis=1).astype(np.uint64)
        if self.first and not inputs[:, 0].all():
            inputs = inputs.copy()  # a scale of 0 has no answer; scales are as under the smallest
            inputs[:, 0] = np.maximum(inputs[:, 0], 1)
        return fast_answers(op, format, float, inputs, policy).astype(np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Some of a target's answers to a file.

    Args:
        questions: what it was asked.
        answers: one row of words a case.
        answered: False where it raised an error instead.
    """

    questions: Questions
    answers: Words
    answered: NDArray[np.bool_]
    known: dict[tuple[Any, Policy], NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    def once(
        self, what: Any, policy: Policy, make: Callable[[], NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """Which answers something gives over a policy, by `make`, which is called once."""
        key = what, policy
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def differ(self, answers: Words) -> NDArray[np.bool_]:
        """Which words of the target's answers are not these."""
        return ~self.questions.same(answers, self.answers)

    def gives(self, answers: Words) -> NDArray[np.bool_]:
        """Which of the target's answers are these, errors not being told apart."""
        return np.asarray(~self.differ(answers).any(axis=1))

    def misses(self, answers: Words) -> int:
        """The number of the target's answers that differ from these; an error always differs."""
        return int((~(self.gives(answers) & self.answered)).sum())

    def misses_under(self, policy: Policy) -> int:
        """The number of answers that a policy does not give; an error is right if it has none.

        A policy that refuses all of them gives none.
        """
        try:
            return self.misses(self.questions.answers(policy))
        except ValueError:  # which none of a target that never refuses is
            if self.answered.all():
                return len(self.answers)
        file, inputs = self.questions.file, self.questions.inputs
        refused = self.questions.once(
            "refused", policy, lambda: fast_right_answers(file, inputs, policy)
        )
        return self._beside(refused)

    def misses_of(self, profile: Profile) -> int:
        """The number of answers that a profile does not give; all if it does not speak of them."""
        file = self.questions.file
        if not speaks_of(profile, file.op, file.format, file.float):
            return len(self.answers)
        return self._beside(profile_answers(profile, file, self.questions.inputs))

    def _beside(self, own: Answers) -> int:
        """The number of answers that differ from these, errors not being told apart.

        All do if these are errors alone: what has no answer explains none.
        """
        if len(own.errors) == len(self.answers):
            return len(self.answers)
        refused = np.zeros(len(self.answers), bool)
        refused[[*own.errors]] = True
        same = self.gives(own.words)
        return int((~np.where(refused, ~self.answered, same & self.answered)).sum())


def total(counts: Iterable[int], most: int | None = None) -> int:
    """The sum of counts, or of so many of the first ones that it is at least `most`.

    >>> total([3, 4, 5], most=7)
    7
    """
    found = 0
    for count in counts:
        found += count
        if most is not None and found >= most:
            break
    return found


def nearest(
    some: Iterable[Made], misses: Callable[[Any, int], int], most: int
) -> tuple[int, Made | None]:
    """The first that misses nothing, or else what misses least, with how much it misses.

    Args:
        some: what is tried, one after the other.
        misses: how much each misses, or so much of it that it is at least as much as is said.
        most: what misses as much is not near.

    >>> nearest([5, 3, 4, 0, 1], lambda one, most: one, 5), nearest([5], lambda one, most: one, 5)
    ((0, 0), (5, None))
    """
    best = None
    for one in some if most else ():
        left = misses(one, most)
        if left < most:
            most, best = left, one
        if not left:
            break
    return most, best


def misses_by(whole: Iterable[Evidence], steps: Answering, policy: Policy) -> int:
    """How many of a target's answers some steps do not give."""
    return sum(one.misses(steps.answer(one.questions, policy)) for one in whole)


def others_by(whole: Iterable[Evidence], steps: Answering, plain: Answering, policy: Policy) -> int:
    """How many of a target's answers some steps give otherwise than others do."""
    found = 0
    for one in whole:
        own, other = (some.answer(one.questions, policy) for some in (steps, plain))
        found += int((~one.questions.same(own, other).all(axis=1) & one.answered).sum())
    return found


def all_of(outcome: Outcome) -> Evidence:
    """All answers to a file."""
    answered = np.ones(len(outcome.file.cases), bool)
    answered[[*outcome.errors]] = False
    return Evidence(Questions(outcome.file, outcome.inputs), outcome.answers, answered)


def sample_of(outcome: Outcome, whole: Evidence) -> Evidence:
    """Some failed and some passed cases, evenly spread; all if few or if they belong together.

    Blocks are kept together since some bugs mix them up.

    Args:
        outcome: the answers to a file.
        whole: all of them, as `all_of` gives them.
    """
    operation = outcome.file.row
    if len(outcome.file.cases) <= _SMALL or operation.varied or operation.blocks:
        return whole
    return few_of(outcome, whole, _SAMPLE)


def few_of(outcome: Outcome, whole: Evidence, most: int) -> Evidence:
    """At most so many failed and so many passed cases, evenly spread."""
    failed = np.zeros(len(outcome.file.cases), bool)
    failed[[failure.index for failure in outcome.failures]] = True
    kinds = (np.flatnonzero(failed), np.flatnonzero(~failed))
    chosen = np.concatenate([kind[:: len(kind) // most + 1] for kind in kinds])
    some = Questions(outcome.file, outcome.inputs[chosen])
    return Evidence(some, outcome.answers[chosen], whole.answered[chosen])
