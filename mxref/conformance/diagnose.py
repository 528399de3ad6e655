"""Which policy a target follows, if not the one that it was compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.compare import Outcome, same_answers
from mxref.golden.answers import fast_answers, reads
from mxref.policy import Policy

__all__ = ["Match", "answers_differ", "closest_policy"]

#: Cases of each kind, failed and passed, on which candidates are tried first.
_SAMPLE = 250


@dataclass(frozen=True, slots=True)
class Match:
    """A policy that gives more of a target's answers than the one compared with."""

    policy: str
    same: int
    total: int

    @property
    def complete(self) -> bool:
        """Whether it gives all of them."""
        return self.same == self.total


def closest_policy(op: str, outcomes: Sequence[Outcome], start: Policy) -> Match | None:
    """The policy nearest to a target's answers that is found by changing one choice at a time.

    None where no change explains at least half of the failures.
    """
    failed = sum(len(outcome.failures) for outcome in outcomes)
    if any(failure.got is None for outcome in outcomes for failure in outcome.failures):
        return None
    samples = [(outcome, _sample(outcome)) for outcome in outcomes]
    best, misses = start, _misses(samples, start)
    while misses:
        tried = []
        for policy in _neighbours(op, best):
            tried.append((_misses(samples, policy), policy))
            if tried[-1][0] == 0:
                break
        fewest, policy = min(tried, key=lambda pair: pair[0])
        if fewest >= misses:
            break
        best, misses = policy, fewest
    left = answers_differ(outcomes, best)
    if 2 * left > failed:
        return None
    total = sum(len(outcome.file.cases) for outcome in outcomes)
    changed = {name: value for name, value in best.choices().items() if name in reads(op)}
    return Match(str(Policy().replace(**changed)), total - left, total)


def answers_differ(outcomes: Sequence[Outcome], policy: Policy) -> int:
    """How many of a target's answers a policy does not give."""
    return _misses([(outcome, np.arange(len(outcome.file.cases))) for outcome in outcomes], policy)


def _neighbours(op: str, policy: Policy) -> Iterator[Policy]:
    for name in reads(op):
        for member in Policy.members(name):
            if "stochastic" not in member.value and policy.choices()[name] != member.value:
                yield policy.replace(**{name: member})


def _sample(outcome: Outcome) -> NDArray[np.intp]:
    """Indices of some failed and some passed cases, evenly spread."""
    failed = np.zeros(len(outcome.file.cases), bool)
    failed[[failure.index for failure in outcome.failures]] = True
    kinds = (np.flatnonzero(failed), np.flatnonzero(~failed))
    return np.concatenate([kind[:: len(kind) // _SAMPLE + 1] for kind in kinds])


def _misses(samples: list[tuple[Outcome, NDArray[np.intp]]], policy: Policy) -> int:
    """How many sampled answers of the target a policy does not give."""
    misses = 0
    for outcome, chosen in samples:
        file = outcome.file
        try:
            answers = fast_answers(
                file.op, file.format, file.float, outcome.inputs[chosen], policy
            ).astype(np.uint64)
        except ValueError:  # a choice that makes a NaN an error
            return len(outcome.file.cases) * len(samples)
        misses += int((~same_answers(file, answers, outcome.answers[chosen]).all(axis=1)).sum())
    return misses
