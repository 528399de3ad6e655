"""Two known bugs that together give all answers of a target."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mxref.bits.floats import Bool
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words
from mxref.conformance.verdict.cause.suspects import Suspect, suspects
from mxref.policy.policy import Policy

#: The number of bugs of which pairs are tried: those that give most answers.
_MOST = 40
#: The least number of answers that each gives alone, if it changes as many.
_LEAST = 4


class _One(NamedTuple):
    """A suspect, which of the target's answers it gives, and how many it must give alone."""

    suspect: Suspect
    gives: Bool
    least: int

    def beside(self, other: _One) -> bool:
        """Whether it gives enough of the target's answers that another one does not."""
        return int((self.gives & ~other.gives).sum()) >= self.least


def pair_of(op: str, policy: Policy, few: Evidence, whole: Sequence[Evidence]) -> Suspect | None:
    """The first two bugs that together give all answers: the first wherever it is not right.

    Each gives a few that the other does not: two bugs explain any few answers by accident.

    Args:
        op: the operation.
        policy: what is right.
        few: the answers that bugs are chosen by.
        whole: all of a target's answers.
    """
    every = [one for some in suspects(op, few.questions.file.format) for one in some]
    if not every:  # a format of one's own
        return None
    lacks = np.array([~one.given(few, policy) for one in every], np.float32)
    covers = lacks @ lacks.T == 0  # which two together give all
    some = itertools.compress(every, covers.any(axis=1))
    found = sorted(_partial(some, policy, few), key=lambda one: -int(one.gives.sum()))[:_MOST]
    for a, b in itertools.permutations(found, 2):
        if a.beside(b) and b.beside(a) and (a.gives | b.gives).all():
            pair = _both(op, a.suspect, b.suspect)
            if all(pair.gives(one, policy) for one in (few, *whole)):
                return pair
    return None


def _partial(some: Iterable[Suspect], policy: Policy, few: Evidence) -> Iterator[_One]:
    """The suspects that give at least half of the target's answers where they are not right."""
    asked = few.questions
    for suspect in some:
        answers = suspect.answers(few, policy)
        if answers is None:
            continue
        right = asked.answers(policy)
        if not right.shape == answers.shape == few.answers.shape:
            continue
        wrong = ~asked.same(right, answers).all(axis=1)
        gives = suspect.given(few, policy)
        if wrong.any() and not gives.all() and 2 * int((gives & wrong).sum()) >= int(wrong.sum()):
            yield _One(suspect, gives, min(_LEAST, int(wrong.sum())))


def _both(op: str, first: Suspect, second: Suspect) -> Suspect:
    """Two bugs as one, of which the first counts where it is not right."""

    def answer(questions: Questions, policy: Policy) -> Words:
        right = questions.answers(policy)
        one, other = (suspect.answer(questions, policy) for suspect in (first, second))
        return np.where(questions.same(right, one), other, one)

    a, b = sorted((first, second), key=lambda one: one.name)
    name, title = f"{a.name} and {b.name}", f"{a.title or a.name} and {b.title or b.name}"
    return Suspect("mutant", name, title, f"{a.text}; and {b.text}", op, (*a.seen, *b.seen), answer)
