"""Why answers of integer operations are wrong: a known bug that gives all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mxref.cases.records import same_width
from mxref.conformance.compare.compare import Outcome, right_answers
from mxref.conformance.compare.integer_policies import answers_of
from mxref.conformance.verdict.cause.causes import Cause
from mxref.mutants import MUTANTS, Mutant
from mxref.policy.policy import Policy
from mxref.targets.calls import call_function

__all__ = ["integer_causes"]


def integer_causes(outcomes: Sequence[Outcome]) -> tuple[Cause, ...]:
    """The mutants that give all answers, over the policy that is nearest to them.

    Cases that raise errors are left aside, where the policy has an answer to none of them.
    """
    total = sum(len(one.inputs) for one in outcomes)
    if any(failure.got is None for one in outcomes for failure in one.failures):
        return ()
    file = outcomes[0].file
    return tuple(
        Cause("mutant", m.id, m.name, m.text, m.op, m.seen, "ocp", (), total, total)
        for m in MUTANTS
        if m.op == file.op and file.format in m.formats and all(_gives(m, one) for one in outcomes)
    )


def _gives(mutant: Mutant, outcome: Outcome) -> bool:
    """Whether a mutant gives all answers to a vector file."""
    if mutant.run is None:
        return False
    file, inputs = outcome.file, outcome.inputs
    found = call_function(mutant.run, file, inputs)
    if found.errors:
        return False
    meant = right_answers(file, inputs, Policy()).words
    own, wrong = same_width(answers_of(file, inputs, outcome.policy).words, found.words)
    if meant.shape != wrong.shape:
        return False
    made, got = same_width(np.where(wrong == meant, own, wrong), outcome.answers)
    kept = [i for i in range(len(inputs)) if i not in outcome.errors]
    return np.array_equal(made[kept], got[kept])
