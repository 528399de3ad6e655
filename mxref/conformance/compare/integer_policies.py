"""The policy of integer operations that a target's answers are nearest to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mxref.cases.integer_answers import DEFAULT, fast_integer, neighbours_of
from mxref.cases.records import VectorFile, padded, same_width, stripped
from mxref.targets.calls import Answers, without_cases
from mxref.targets.target import Target

__all__ = ["answers_of", "decided", "nearest"]

Words = NDArray[np.uint64]


def nearest(file: VectorFile, inputs: Words, asked: Answers) -> tuple[str, Answers]:
    """The policy that gives most of the answers, with its own; found one choice at a time.

    Choices are seen in different cases, so that each step is nearer. The default is first.

    Args:
        file: the cases.
        inputs: their words.
        asked: the target's answers.
    """
    best, own = DEFAULT, answers_of(file, inputs, DEFAULT)
    misses = _misses(own, asked)
    while misses:
        tried = []
        for policy in neighbours_of(file.op, file.format, best):
            answers = answers_of(file, inputs, policy)
            tried.append((_misses(answers, asked), policy, answers))
        fewest = min(tried, key=lambda one: one[0], default=None)
        if fewest is None or fewest[0] >= misses:
            break
        misses, best, own = fewest
    return best, own


def decided(target: Target, file: VectorFile, known: Words, policy: str, inputs: Words) -> str:
    """Of the policies that some cases do not tell from one, the one nearest to other answers.

    Args:
        target: the implementation.
        file: the operation and format.
        known: the words of the cases.
        policy: the policy nearest to its answers; it is returned if no other one is nearer.
        inputs: the words of other questions.
    """
    alike, own = {policy: None}, answers_of(file, known, policy)
    seen, left = {policy}, [policy]
    while left:
        for other in neighbours_of(file.op, file.format, left.pop()):
            if other not in seen:
                seen.add(other)
                if not _misses(own, answers_of(file, known, other)):
                    alike[other] = None
                    left.append(other)
    if len(alike) == 1:
        return policy
    like = without_cases(file.op, file.format, file.float)
    asked = target.ask(like, inputs)
    return min(alike, key=lambda one: _misses(answers_of(like, inputs, one), asked))


def answers_of(file: VectorFile, inputs: Words, policy: str) -> Answers:
    """The answers of a policy; cases that it refuses are errors."""
    if policy in file.columns and len(inputs) == len(file.cases):
        return Answers(file.outputs(file.columns.index(policy)))
    rows: list[tuple[int, ...]] = []
    errors: dict[int, str] = {}
    for i, row in enumerate(inputs):
        try:
            rows.append(fast_integer(file.op, file.format, stripped(row), policy))
        except ValueError as error:  # noqa: PERF203 - of single cases
            rows.append(())
            errors[i] = str(error)
    return Answers(padded(rows), errors)


def _misses(own: Answers, asked: Answers) -> int:
    """The number of cases whose answers differ, by words or by an error."""
    want, got = same_width(own.words, asked.words)
    same: NDArray[np.bool_] = (want == got).all(axis=1)
    for i in {*own.errors, *asked.errors}:
        same[i] = i in own.errors and i in asked.errors
    return int((~same).sum())
