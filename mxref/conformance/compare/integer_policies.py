"""The policy of integer operations that a target's answers are nearest to."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Hashable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32
from mxref.cases.records import VectorFile
from mxref.operands.word_rows import NO_WORD, padded, same_width, stripped
from mxref.operations.own_choices import DEFAULT
from mxref.operations.registry import CALL_OPERATIONS, WEIGHT_ONLY_OPERATIONS
from mxref.targets.calls import Answers, without_cases
from mxref.targets.target import Target

__all__ = ["DECIDING", "answers_of", "decided", "misses", "nearest"]

Words = NDArray[np.uint64]
#: Questions that decide between policies.
DECIDING = 48
#: The cases by which it is first seen that two policies differ.
_FIRST = 4
#: Answers by what they are the answers to, the oldest first: the same cases are judged by turns.
_known: dict[Hashable, Answers] = {}
#: The most of them.
_KEPT = 512


def nearest(file: VectorFile, inputs: Words, asked: Answers) -> tuple[str, Answers]:
    """The policy that gives most of the answers, with its own; found one choice at a time.

    Choices are seen in different cases, so that each step is nearer. The default is first. The
    order of weight-only layers is named only if it gives all answers: else additions have another.

    Args:
        file: the cases.
        inputs: their words.
        asked: the target's answers.
    """
    best, left = DEFAULT, misses(file, answers_of(file, inputs, DEFAULT), asked)
    while left:
        operation = CALL_OPERATIONS[file.op]
        found = _nearer(file, inputs, asked, operation.neighbours(file.format, best), left)
        if found is None:  # two choices may be seen in every case
            few = operation.few_policies(file.format)
            found = _nearer(file, inputs, asked, few, left)
        if found is None:
            break
        best, left = found
    if left and file.op in WEIGHT_ONLY_OPERATIONS:
        chosen = CALL_OPERATIONS[file.op].parse(file.format, best)
        best = CALL_OPERATIONS[file.op].spell(file.format, {**chosen, "order": "exact"})
    return best, answers_of(file, inputs, best)


def _nearer(
    file: VectorFile, inputs: Words, asked: Answers, policies: Iterable[str], left: int
) -> tuple[str, int] | None:
    """The first policy with the fewest misses, and these; None if none has fewer than some."""
    found = None
    for policy in policies:
        count = _misses(file, inputs, policy, asked, left)
        if count < left:
            found, left = (policy, count), count
    return found


def _misses(file: VectorFile, inputs: Words, policy: str, asked: Answers, most: int) -> int:
    """The misses of a policy in few cases, then in more, until there are so many."""
    if policy in file.columns:
        return misses(file, answers_of(file, inputs, policy), asked)
    found, start, count = 0, 0, _FIRST
    while start < len(inputs) and found < most:
        part = range(start, min(start + count, len(inputs)))
        errors = {i - start: asked.errors[i] for i in part if i in asked.errors}
        some = Answers(asked.words[start : part.stop], errors)
        found += misses(file, answers_of(file, inputs[start : part.stop], policy), some)
        start, count = part.stop, 4 * count
    return found


def decided(target: Target, file: VectorFile, known: Words, policy: str, inputs: Words) -> str:
    """Of the policies that some cases do not tell from one, the one nearest to other answers.

    Args:
        target: the implementation.
        file: the operation and format.
        known: the words of the cases.
        policy: the policy nearest to its answers; it is returned if no other one is nearer.
        inputs: the words of other questions.
    """
    alike = _alike(file, known, policy)
    other = next(alike, None)
    if other is None:
        return policy
    like = without_cases(file.op, file.format, file.float)
    asked = target.ask(like, inputs)
    left = misses(like, answers_of(like, inputs, policy), asked)
    found = _nearer(like, inputs, asked, itertools.chain([other], alike), left) if left else None
    return policy if found is None else found[0]


def _alike(file: VectorFile, known: Words, policy: str) -> Iterator[str]:
    """The other policies with the same answers to some cases, by way of one another."""
    own = answers_of(file, known, policy)
    seen, left = {policy}, [policy]
    while left:
        for other in CALL_OPERATIONS[file.op].neighbours(file.format, left.pop()):
            if other not in seen:
                seen.add(other)
                if not _misses(file, known, other, own, 1):
                    left.append(other)
                    yield other


def answers_of(file: VectorFile, inputs: Words, policy: str) -> Answers:
    """The answers of a policy; cases that it refuses are errors."""
    if policy in file.columns and len(inputs) == len(file.cases):
        return Answers(file.outputs(file.columns.index(policy)))
    operation = CALL_OPERATIONS[file.op]
    key = operation, file.format, policy, inputs.shape, hashlib.sha256(inputs.tobytes()).digest()
    if key not in _known:
        rows: list[tuple[int, ...]] = []
        errors: dict[int, str] = {}
        for i, row in enumerate(inputs):
            try:
                rows.append(operation.answer(file.format, stripped(row), policy))
            except ValueError as error:
                rows.append(())
                errors[i] = str(error)
        words = padded(rows)
        words.flags.writeable = False
        while len(_known) >= _KEPT:
            del _known[next(iter(_known))]
        _known[key] = Answers(words, errors)
    return _known[key]


def misses(file: VectorFile, own: Answers, asked: Answers) -> int:
    """The number of cases whose answers differ, by words or by an error; NaN is one class."""
    want, got = same_width(own.words, asked.words)
    if file.op in WEIGHT_ONLY_OPERATIONS:
        want, got = _one_nan(want), _one_nan(got)
    same: NDArray[np.bool_] = (want == got).all(axis=1)
    for i in {*own.errors, *asked.errors}:
        same[i] = i in own.errors and i in asked.errors
    return int((~same).sum())


def _one_nan(words: Words) -> Words:
    """Float32 patterns with one pattern for NaN."""
    nan = (words & np.uint64(F32.sign_bit - 1) > F32.inf_bits) & (words != np.uint64(NO_WORD))
    return np.where(nan, np.uint64(F32.nan_bits), words)
