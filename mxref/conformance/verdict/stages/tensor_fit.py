"""The steps of tensors that give a target's answers, found stage by stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mxref.conformance.compare.tensor_cases import scale_counts
from mxref.conformance.verdict.cause.evidence import Evidence, misses_by, nearest, others_by
from mxref.conformance.verdict.stages.fit import Fitted, fit
from mxref.conformance.verdict.stages.sides import FEWER, Count
from mxref.conformance.verdict.stages.tensor_steps import (
    AXES,
    MATRICES,
    TAILS,
    TensorSteps,
)
from mxref.operands.word_rows import NO_WORD
from mxref.policy.policy import Policy


def fit_tensor(
    whole: Sequence[Evidence], policy: Policy, like: TensorSteps | None = None
) -> Fitted[TensorSteps] | None:
    """The steps nearest to a target's answers; None if none are nearer than the right ones.

    Args:
        whole: its answers to `quantize_tensor` in one format, by float type.
        policy: what is right.
        like: steps that give other answers, with which the search begins: their blocks are kept.
    """

    def wrong_words(steps: TensorSteps, *, scales: bool) -> int:
        return sum(_wrong_words(one, steps, policy, scales=scales) for one in whole)

    steps = like or TensorSteps()
    before = misses_by(whole, steps, policy)
    for _ in range(2):  # what a tail becomes is seen where the axis is right, and vice versa
        for name, every in (("tail", TAILS), ("axis", AXES)):
            steps = _best(steps, name, every, lambda one: wrong_words(one, scales=False))
    steps = _best(steps, "matrix", MATRICES, lambda one: wrong_words(one, scales=True))
    misses = misses_by(whole, steps, policy)
    blocks = None
    found = None
    if misses and like is None:
        found = fit([_of_blocks(one, steps, policy) for one in whole], policy)
    if found is not None:
        more = dataclasses.replace(steps, blocks=found.steps)
        if found.steps.wrong and (left := misses_by(whole, more, policy)) < misses:
            steps, misses, blocks = more, left, found
    if not steps.wrong or FEWER * misses > before:
        return None
    return Fitted(steps, misses, dict(_counts(whole, steps, policy, misses)), blocks)


def _best(
    steps: TensorSteps,
    name: str,
    every: Sequence[Any],
    wrong: Callable[[TensorSteps], int],
) -> TensorSteps:
    """Steps with the first of some that leaves fewest wrong; with their own if none is nearer."""
    others = (dataclasses.replace(steps, **{name: one}) for one in every)
    return nearest(others, lambda one, most: wrong(one), wrong(steps))[1] or steps


def _wrong_words(one: Evidence, steps: TensorSteps, policy: Policy, *, scales: bool) -> int:
    """How many scales, or codes, the steps do not give; all of an answer of another size."""
    wrong = one.differ(steps.answer(one.questions, policy)) & one.answered[:, np.newaxis]
    counts = scale_counts(one.questions.inputs)[:, np.newaxis]
    return int((wrong & ((np.arange(wrong.shape[1]) < counts) == scales)).sum())


def _of_blocks(one: Evidence, steps: TensorSteps, policy: Policy) -> Evidence:
    """The answers about blocks that answers about tensors are made of.

    Of what they do not show it is taken that it is right.
    """
    cut = steps.cut(one.questions)
    words = cut.answers(policy).copy()
    places = np.arange(words.size, dtype=np.uint64).reshape(words.shape)
    answered = np.ones(len(words), bool)
    flat, first = words.reshape(-1), 0
    inputs = one.questions.inputs
    arranged = steps.arranged(inputs, places, policy)
    for row, is_answered, pair, count in zip(
        one.answers, one.answered, arranged, scale_counts(inputs).tolist(), strict=True
    ):
        given, where = row[row != np.uint64(NO_WORD)], np.concatenate(pair)
        if is_answered and len(given) == len(where):
            flat[where] = given
        else:
            answered[first : first + count] = False
        first += count
    return Evidence(cut, words, answered)


def _counts(
    whole: Sequence[Evidence], steps: TensorSteps, policy: Policy, misses: int
) -> Iterator[tuple[str, Count]]:
    """For each stage of tensors how many would be others if it were right."""
    total = sum(int(one.answered.sum()) for one in whole)
    right = TensorSteps()
    for name in ("axis", "tail", "matrix"):
        step = getattr(steps, name)
        if step.name != "right":
            plain = dataclasses.replace(steps, **{name: getattr(right, name)})
            yield step.stage, (others_by(whole, steps, plain, policy), misses, total)
