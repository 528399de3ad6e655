"""That a layout of scales holds other bytes than 00 where it fills up, and is right elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mxref.bits.floats import Bool
from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words
from mxref.conformance.verdict.cause.suspects import of_stage
from mxref.operands.word_rows import NO_WORD
from mxref.policy.policy import Policy

#: Words of a question before the scales: rows and columns.
_SHAPE = 2


def filler_cause(op: str, whole: Sequence[Evidence], policy: Policy) -> Cause | None:
    """What bytes that fill up hold, if they alone are wrong; else None.

    Args:
        op: the operation.
        whole: all of a target's answers to it.
        policy: what all else follows.
    """
    if op != "pack_scales":
        return None
    right = [one.questions.answers(policy) for one in whole]
    if any(a.shape != one.answers.shape for a, one in zip(right, whole, strict=True)):
        return None
    places = [_fills_up(one.questions, policy) for one in whole]
    given = np.concatenate([one.answers[some] for one, some in zip(whole, places, strict=True)])
    wrong = sum(int((a != one.answers).sum()) for a, one in zip(right, whole, strict=True))
    if not wrong or wrong != (given != 0).sum():
        return None
    value = given[0]

    def answer(questions: Questions, policy: Policy) -> Words:
        return np.where(_fills_up(questions, policy), value, questions.answers(policy))

    is_one = bool((given == value).all())
    what = f"fills up with {int(value):02x}, not 00" if is_one else "does not fill up with 00"
    stage = Stage("filler", what, wrong, 0, len(given), "bytes", "N32")
    name = f"filler_{int(value):02x}" if is_one else "filler"
    cause = of_stage(op, name, what, answer).cause(op, policy, whole)
    return replace(cause, stages=(stage,), answer=answer if is_one else None)


def _fills_up(questions: Questions, policy: Policy) -> Bool:
    """The bytes that hold no scale: 00 where all scales are 01."""
    ones = questions.inputs.copy()
    scales = ones[:, _SHAPE:]
    scales[scales != NO_WORD] = 1
    found: Bool = Questions(questions.file, ones).answers(policy) == 0
    return found
