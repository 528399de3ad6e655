"""Two known bugs that together give all answers of a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.compare.compare import same_answers
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words
from mxref.conformance.verdict.cause.suspects import Answer, Suspect
from mxref.policy.policy import Policy

__all__ = ["Partial", "both"]

#: The number of bugs of which pairs are tried: those that give most answers.
_MOST = 40
#: The least number of answers that each gives alone, if it changes as many.
_LEAST = 4


@dataclass(slots=True)
class Partial:
    """The suspects that give most wrong answers of some evidence wherever theirs are wrong."""

    one: Evidence | None = None
    found: list[_One] = field(default_factory=list)

    def add(self, suspect: Suspect, policy: Policy, one: Evidence, answers: Words) -> None:
        """Keep a suspect that gives at least half of the target's answers where it is not right."""
        changed = _changed(one, policy, answers)
        if changed is None or not changed.any():
            return
        gives = one.gives(answers) & one.answered
        wrong = changed.any(axis=1)
        if 2 * int((gives & wrong).sum()) >= int(wrong.sum()):
            self.one = one
            self.found.append(_One(suspect, answers, gives, min(_LEAST, int(wrong.sum()))))
            self.found = sorted(self.found, key=lambda each: -int(each.gives.sum()))[:_MOST]

    def pair(self, policy: Policy, whole: Sequence[Evidence]) -> tuple[Suspect, Suspect] | None:
        """The first two that together give all answers: the first wherever it is not right.

        Each gives a few that the other does not: two bugs explain any few answers by accident.
        """
        for a, b in permutations(self.found, 2):
            alone = a.beside(b) >= a.least and b.beside(a) >= b.least
            if alone and (a.gives | b.gives).all() and self.one is not None:
                some = _together(self.one, policy, a.answers, b.answers)
                if some and all(_gives(a.suspect, b.suspect, policy, one) for one in whole):
                    return a.suspect, b.suspect
        return None


class _One(NamedTuple):
    """A suspect, its answers, which of the target's it gives, and how many it must give alone."""

    suspect: Suspect
    answers: Words
    gives: NDArray[np.bool_]
    least: int

    def beside(self, other: _One) -> int:
        """The number of the target's answers that this one gives and another does not."""
        return int((self.gives & ~other.gives).sum())


def _changed(one: Evidence, policy: Policy, answers: Words) -> NDArray[np.bool_] | None:
    """Which words of wrong answers are not right; None if they are not as many as right ones."""
    right = one.questions.answers(policy)
    if not right.shape == answers.shape == one.answers.shape:
        return None
    changed: NDArray[np.bool_] = ~same_answers(
        one.questions.file, right, answers, one.questions.inputs
    )
    return changed


def both(first: Suspect, second: Suspect) -> Answer:
    """The answers of an implementation that has two bugs: of the first wherever it is not right."""

    def answer(questions: Questions, policy: Policy) -> Words:
        right = questions.answers(policy)
        one, other = (suspect.answer(questions, policy) for suspect in (first, second))
        same = same_answers(questions.file, right, one, questions.inputs)
        return np.where(same, other, one)

    return answer


def _together(one: Evidence, policy: Policy, first: Words, second: Words) -> bool:
    changed = _changed(one, policy, first)
    return changed is not None and one.misses(np.where(changed, first, second)) == 0


def _gives(a: Suspect, b: Suspect, policy: Policy, one: Evidence) -> bool:
    try:
        return one.misses(both(a, b)(one.questions, policy)) == 0
    except Exception:  # mutants are made for some float types, and may fail on others
        return False
