"""A sweep over blocks, one scale at a time: every element under every scale.

What is asked depends on the scale's format: see `power_scales` and `small_float_scales`. Wrong
answers are intervals of keys or codes, each with the scales that have the same interval.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.compare.compare import same_answers
from mxref.conformance.sweeping.block_kinds import kind_of
from mxref.conformance.sweeping.block_questions import BlockQuestions, Words
from mxref.conformance.sweeping.block_tally import ScaleFound
from mxref.conformance.sweeping.intervals import Found, Interval, find
from mxref.conformance.sweeping.plan import Plan, SweepPart
from mxref.operands.word_rows import same_width
from mxref.support.distinct import distinct
from mxref.targets.calls import Answers

__all__ = ["sweep_blocks"]


def sweep_blocks(plan: Plan, index: int) -> SweepPart:
    """Ask the target the blocks of one scale and compare.

    Raises:
        DisagreementError: the two references differ.
    """
    began = time.perf_counter()
    questions = kind_of(plan.file.format).questions(plan, index)
    if questions is None:
        return SweepPart((), 0, 0.0, time.perf_counter() - began)
    asking = time.perf_counter()
    answered = plan.target().ask(plan.file, questions.inputs)
    asked = time.perf_counter() - asking
    found = tuple(_found(plan, questions, answered))
    return SweepPart(found, questions.keys.size, asked, time.perf_counter() - began)


def _found(plan: Plan, questions: BlockQuestions, answered: Answers) -> list[ScaleFound]:
    """The wrong answers under each scale."""
    want, got = same_width(questions.want, answered.words)
    same = same_answers(plan.file, want, got)
    raised = np.zeros(len(want), bool)
    raised[list(answered.errors)] = True
    wrong = distinct(questions.scales[raised | ~same.all(axis=1)]).tolist()
    found = []
    for scale in wrong:
        rows = np.flatnonzero(questions.scales == scale)
        errors = {
            i: answered.errors[row] for i, row in enumerate(rows.tolist()) if row in answered.errors
        }
        keys, is_same = questions.keys[rows], same[rows]
        one = not plan.file.row.from_codes
        found.append(_compared(scale, keys, want[rows], got[rows], is_same, errors, has_scale=one))
    return found


def _compared(
    scale: int,
    keys: Words,
    want: Words,
    got: Words,
    same: NDArray[np.bool_],
    errors: Mapping[int, str],
    *,
    has_scale: bool,
) -> ScaleFound:
    """What is wrong under a scale; with `has_scale` the first word of an answer is the scale."""
    raised = np.zeros(len(keys), bool)
    raised[list(errors)] = True
    other = np.zeros(len(keys), bool)  # blocks with a wrong scale, whose elements are not judged
    scales: tuple[int, ...] = ()
    if has_scale:
        other = ~same[:, 0] & ~raised
        scales = tuple(distinct(got[other, 0]).tolist())
        same, want, got = same[:, 1:], want[:, 1:], got[:, 1:]
    judged = ~other
    found = None
    if not same[judged].all() or raised.any():
        found = _by_key(
            keys[judged],
            ~same[judged],
            want[judged],
            got[judged],
            {int(i): errors[j] for i, j in zip(_places(judged, errors), errors, strict=True)},
        )
    return ScaleFound(scale, int(other.sum()), scales, found)


def _places(judged: NDArray[np.bool_], rows: Mapping[int, str]) -> NDArray[np.intp]:
    """The positions of rows among the judged ones."""
    places: NDArray[np.intp] = (np.cumsum(judged) - 1)[list(rows)]
    return places


def _by_key(
    keys: Words, wrong: NDArray[np.bool_], want: Words, got: Words, errors: Mapping[int, str]
) -> Found | None:
    """Intervals among the keys present; a key is wrong if one of its elements is."""
    there, place = np.unique(keys, return_inverse=True)
    place = place.reshape(keys.shape)
    is_wrong = np.zeros(there.size, bool)
    wants, gots = np.zeros(there.size, np.uint64), np.zeros(there.size, np.uint64)
    is_wrong[place[wrong]] = True
    wants[place] = want
    wants[place[wrong]] = want[wrong]  # a key may also have right elements
    gots[place[wrong]] = got[wrong]
    texts = {int(i): text for row, text in errors.items() for i in place[row]}
    found = find(0, is_wrong, wants, gots, [(i, i + 1, text) for i, text in texts.items()])
    if found is None:
        return None

    def in_keys(one: Interval) -> Interval:
        return dataclasses.replace(one, first=int(there[one.first]), last=int(there[one.last]))

    return dataclasses.replace(
        found, kept=tuple(in_keys(one) for one in found.kept), last=in_keys(found.last)
    )
