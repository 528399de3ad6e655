"""Why answers of integer operations are wrong: a known bug that gives all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Outcome, right_answers, same_answers
from mxref.conformance.compare.integer_policies import answers_of
from mxref.conformance.compare.product_intervals import admitted
from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.mutants import Mutant, mutants_of
from mxref.mutants.weight_only_mutants import OPERANDS, Operands
from mxref.operands.word_rows import NO_WORD, same_width, stripped
from mxref.operations.intervals import held, interval_of
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import call_function

Words = NDArray[np.uint64]
#: Choices that mutants make in their own way.
_OF_MUTANTS = ("scaling", "zero_point")
#: Operations whose answers are codes, one of few policies.
_OF_CODES = ("rescale", "unpack_int4")


def integer_causes(outcomes: Sequence[Outcome]) -> tuple[Cause, ...]:
    """The mutants that give all answers, over the policy that is nearest to them.

    Cases that raise errors are left aside, where the policy has an answer to none of them.
    """
    total = sum(len(one.inputs) for one in outcomes)
    if any(failure.got is None for one in outcomes for failure in one.failures):
        return ()
    file = outcomes[0].file
    near = [
        (one, _near(one), right_answers(one.file, one.inputs, Policy()).words) for one in outcomes
    ]
    known = [m for m in mutants_of(file.op) if file.format in m.formats]
    found = [m for m in known if all(_gives(m, *one) for one in near)]
    found = found or [m for m in known if all(_may_give(m, one) for one in outcomes)]
    return tuple(
        Cause("mutant", m.id, m.name, m.text, m.op, m.seen, "ocp", (), total, total) for m in found
    ) or _shifted(outcomes)


def _shifted(outcomes: Sequence[Outcome]) -> tuple[Cause, ...]:
    """That all codes are by one number too large, under one of few policies."""
    file, total = outcomes[0].file, sum(len(one.inputs) for one in outcomes)
    if file.op not in _OF_CODES:
        return ()
    one = CALL_OPERATIONS[file.op]
    for policy in one.few_policies(file.format):
        own = [answers_of(each.file, each.inputs, policy) for each in outcomes]
        if any(answers.errors for answers in own):
            continue
        by = [_distances(o, answers.words) for o, answers in zip(outcomes, own, strict=True)]
        shifts = {*np.concatenate(by).tolist()}
        if len(shifts) == 1:
            k, words = shifts.pop(), sum(map(len, by))
            text = f"every code is {abs(k)} too {'large' if k > 0 else 'small'}"
            text = text if policy == one.first_policy(file.format) else f"{policy}, but {text}"
            stage = Stage("codes", text, words, 0, words, "codes", "")
            about = "stages", f"codes{k:+d}", "", text, file.op, (), "ocp", (), total, total
            return (Cause(*about, stages=(stage,)),)
    return ()


def _distances(outcome: Outcome, own: Words) -> NDArray[np.int64]:
    """How far each code is from another answer, as a signed number of its width."""
    own, got = same_width(own, outcome.answers)
    is_code = (own != NO_WORD) | (got != NO_WORD)
    bits = 4 * outcome.file.out_digits
    distance = (got - own)[is_code] & np.uint64((1 << bits) - 1)
    signed: NDArray[np.int64] = distance.astype(np.int64)
    return np.where(signed >> (bits - 1) == 1, signed - (1 << bits), signed)


def _near(outcome: Outcome) -> list[Words]:
    """The answers of the policy, of its other choices, and of the first policy.

    Of a mutant that scales and rounds in its own way the nearest policy may be a chance.
    """
    file, inputs = outcome.file, outcome.inputs
    one = CALL_OPERATIONS[file.op]
    chosen = one.parse(file.format, outcome.policy)
    others = {name: value for name, value in chosen.items() if name not in _OF_MUTANTS}
    rest = one.spell(file.format, others)
    policies = dict.fromkeys((outcome.policy, rest, one.first_policy(file.format)))
    return [answers_of(file, inputs, policy).words for policy in policies]


def _gives(mutant: Mutant, outcome: Outcome, near: Sequence[Words], meant: Words) -> bool:
    """Whether a mutant gives all answers to a vector file, over some answers that are near.

    What it changes is seen beside `meant`, the answers of the first policy.
    Of weight-only layers the answers may be sums of what the mutant reads, in any order.
    """
    if mutant.run is None:
        return False
    file, inputs = outcome.file, outcome.inputs
    if mutant.id in OPERANDS:
        return sums_of(OPERANDS[mutant.id], file, inputs, outcome.answers)
    found = call_function(mutant.run, file, inputs)
    if found.errors:
        return False
    kept = [i for i in range(len(inputs)) if i not in outcome.errors]
    for one in near:
        own, wrong = same_width(one, found.words)
        if meant.shape != wrong.shape:
            return False
        is_meant = same_answers(file, wrong, meant)
        made, got = same_width(np.where(is_meant, own, wrong), outcome.answers)
        if same_answers(file, made[kept], got[kept]).all():
            return True
    return False


def _may_give(mutant: Mutant, outcome: Outcome) -> bool:
    """Whether all answers are sums of what a mutant adds, in any order."""
    pairs = zip(outcome.inputs, outcome.answers, strict=True)
    admits = mutant.admits
    return admits is not None and all(admitted(outcome.file, *one, admits) for one in pairs)


def sums_of(operands: Operands, file: VectorFile, inputs: Words, answers: Words) -> bool:
    """Whether all answers about weight-only layers are inside the intervals of wrong operands."""
    for row, answer in zip(inputs, answers, strict=True):
        arguments = CALL_OPERATIONS[file.op].call(file.format, stripped(row)).arguments
        bounds = interval_of(*operands(*arguments))
        got = np.array(stripped(answer), np.uint64)
        if got.shape != bounds.lo.shape or not held(bounds, got, file.float).all():
            return False
    return True
