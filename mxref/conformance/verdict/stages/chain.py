"""Stages that a number goes through one after another, and what a target does in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mxref.bits.floats import Bool
from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words, misses_by
from mxref.conformance.verdict.cause.suspects import cause_of_steps
from mxref.policy.policy import Policy

#: The stage of links about special numbers alone.
SPECIAL = "special numbers"


@dataclass(frozen=True, slots=True)
class Link:
    """What one stage does otherwise.

    Args:
        stage: its name.
        name: a short name of what it does.
        text: the same in words.
        what: the hypothesis, as `Chain.make` reads it.
        mixes: whether numbers depend on other blocks of the call then.
    """

    stage: str
    name: str
    text: str
    what: Any
    mixes: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """What the stages of a target do.

    Args:
        wrong: the links that deviate, in order.
        make: answers by some of them, which are right if there are none.
        unit: what the numbers are called.
        clauses: the clauses about each stage.
    """

    wrong: tuple[Link, ...]
    make: Callable[[Questions, Policy, tuple[Link, ...]], Words]
    unit: str
    clauses: dict[str, str]

    @property
    def mixes(self) -> bool:
        """Whether an answer depends on other blocks of the call."""
        return any(link.mixes for link in self.wrong)

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """The answers to questions, where all else follows a policy."""
        right, plain = questions.answers(policy), self.make(questions, policy, ())
        found = self.make(questions, policy, self.wrong)
        return np.where(found == plain, right, found)

    def without(self, link: Link) -> Chain:
        """The same where one stage is right."""
        return replace(self, wrong=tuple(one for one in self.wrong if one is not link))

    def lines(self, whole: Sequence[Evidence], policy: Policy) -> Iterator[Stage]:
        """A line for each link, and one for what none of them speaks of."""
        found = [self.answer(one.questions, policy) for one in whole]
        wrong = wrong_words(self, whole, policy)
        rest = wrong.copy()
        for link in self.wrong:
            fewer = self.without(link)
            others = [fewer.answer(one.questions, policy) for one in whole]
            same = [
                one.questions.same(*two) for one, *two in zip(whole, found, others, strict=True)
            ]
            of_it = ~np.concatenate(same, axis=None)
            counts = int(of_it.sum()), int((of_it & wrong).sum()), wrong.size
            yield Stage(link.stage, link.text, *counts, self.unit, self.clauses.get(link.stage, ""))
            rest &= ~of_it
        if beside := int(rest.sum()):
            yield Stage(self.unit, "", beside, beside, wrong.size, self.unit, "")


#: The chain nearest to a target's answers.
Fit = Callable[[Sequence[Evidence], Policy], Chain | None]


def chain_cause(op: str, whole: Sequence[Evidence], policy: Policy, fit: Fit) -> Cause | None:
    """The stages that deviate over a policy, if there are some.

    Args:
        op: the operation.
        whole: all of a target's answers to it in one format.
        policy: what all else follows.
        fit: finds what the stages do.
    """
    chain = fit(whole, policy)
    if chain is None or not (chain := _pared(chain, whole, policy)).wrong:
        return None
    return cause_of(op, chain, whole, policy)


def wrong_words(chain: Chain, whole: Sequence[Evidence], policy: Policy) -> Bool:
    """Which words of all answers a chain does not give."""
    wrong = [one.differ(chain.answer(one.questions, policy)) for one in whole]
    return np.concatenate(wrong, axis=None)


def _pared(chain: Chain, whole: Sequence[Evidence], policy: Policy) -> Chain:
    """A chain without links that explain nothing."""
    count = wrong_words(chain, whole, policy).sum()
    for link in chain.wrong[::-1]:
        fewer = chain.without(link)
        if (left := wrong_words(fewer, whole, policy).sum()) <= count:
            chain, count = fewer, left
    return chain


def cause_of(op: str, chain: Chain, whole: Sequence[Evidence], policy: Policy) -> Cause:
    """A chain as a cause."""
    cause = cause_of_steps(op, chain, policy, whole, misses_by(whole, chain, policy))
    return replace(cause, stages=tuple(chain.lines(whole, policy)))
