"""What the stages of a target do, as a cause, and in words where they do not give all answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mxref.conformance.compare.compare import Outcome, judged
from mxref.conformance.verdict.cause.cause import Cause, Stage, first_cause
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words, all_of
from mxref.conformance.verdict.cause.suspects import cause_of_steps
from mxref.conformance.verdict.describe.description import Description, describe_failures
from mxref.conformance.verdict.stages.chain import SPECIAL, Chain, Fit, cause_of, chain_cause
from mxref.conformance.verdict.stages.dequantize_fit import fit_products
from mxref.conformance.verdict.stages.fit import Fitted, fit
from mxref.conformance.verdict.stages.number_fit import fit_numbers
from mxref.conformance.verdict.stages.steps import RIGHT, BlockSteps
from mxref.conformance.verdict.stages.tensor_fit import fit_tensor
from mxref.formats.catalog import ScaleKind
from mxref.formats.scale_kinds import scale_kind
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers

#: How many literals a link is as long as.
_COST = 2
_OF_SCALES = ("scale", "special blocks")
#: What finds the stages of numbers and of products.
_FITS: dict[str, Fit] = {
    "encode": fit_numbers,
    "encode_stochastic": fit_numbers,
    "decode": fit_products,
    "dequantize": fit_products,
}
#: What the units of each stage of a block, or of a tensor, are called, and the clause about it.
_STAGES = {
    "tensor scale": ("blocks", "N41, N42"),
    "scale": ("scales", "MX-6.3"),
    "special blocks": ("blocks", "N4 to N6"),
    "elements": ("elements", "N17"),
    "special elements": ("elements", "N13, N14, N25"),
    "places": ("lanes", "MX-5.1"),
    "axis": ("tensors", "N30"),
    "tail": ("tensors", "N29"),
    "scale matrix": ("tensors", "N30"),
}


def stage_cause(
    op: str, whole: Sequence[Evidence], policies: Sequence[Policy], like: BlockSteps = RIGHT
) -> Cause | None:
    """The stages that deviate, over the first policy under which they give all answers.

    Args:
        op: the operation.
        whole: all of a target's answers.
        policies: what all else may follow.
        like: steps that give all answers in another format, which are tried first.

    Returns:
        A cause; None of operations without stages, or where no step is nearer than none.
    """
    if scale_kind(whole[0].questions.file.format) is ScaleKind.FLOAT32:
        return None  # its steps are those of policies
    if REGISTRY[op].arrays == 2:
        return first_cause(policies, lambda policy: _cause(op, whole, policy, like))
    if op not in _FITS or not all(one.answered.all() for one in whole):
        return None
    wrong = {policy: sum(one.misses_under(policy) for one in whole) for policy in policies}
    first = policies[0]  # other choices are among what stages may do
    some = (one for one in wrong if one == first or 2 * wrong[one] <= wrong[first])

    def find(policy: Policy) -> Cause | None:
        return chain_cause(op, whole, policy, _FITS[op])

    return first_cause(some, find, lambda cause: cause.same)


def _cause(op: str, whole: Sequence[Evidence], policy: Policy, like: BlockSteps) -> Cause | None:
    """The stages of blocks or tensors that deviate over a policy, if there are some."""
    found: Fitted[Any] | None = (
        fit(whole, policy, like) if REGISTRY[op].blocks else fit_tensor(whole, policy)
    )
    if found is None:
        return None
    cause = cause_of_steps(op, found.steps, policy, whole, found.misses)
    return replace(cause, stages=tuple(_lines(found)))


def _lines(found: Fitted[Any]) -> Iterator[Stage]:
    """One line for each stage that deviates, those of a tensor before those of its blocks."""
    for name, counts in found.counts.items():
        text = "; ".join(step.text for step in found.steps.wrong if step.stage == name)
        unit, clause = _STAGES[name]
        yield Stage(name, text, *counts, unit, clause)
    if found.blocks is not None:
        yield from _lines(found.blocks)


def with_rest(outcomes: Sequence[Outcome], cause: Cause) -> Cause | None:
    """A cause of stages that does not give all answers, with where the rest is wrong.

    None where it is shorter to say without it what is wrong.

    Scales are compared with those that the steps give, and elements under the target's own scales.

    Args:
        outcomes: the answers of one operation and format.
        cause: one of stages.
    """
    policy, steps = Policy.parse(cause.policy), cause.steps
    if isinstance(steps, Chain):
        return _chain_rest(outcomes, cause.part, steps, policy)
    if not isinstance(steps, BlockSteps):
        return cause
    left = {stage.name for stage in cause.stages if stage.left}
    plain = steps
    if "scale" in left:
        plain = replace(plain, view=RIGHT.view, scale=RIGHT.scale)
    if "elements" in left:
        plain = replace(plain, divisor=RIGHT.divisor, elements=RIGHT.elements)
    told: dict[bool, Description | None] = {}
    dropped: list[str] = []
    for scales in {name in _OF_SCALES for name in left}:
        far = _rest(outcomes, plain, policy, scales=scales)
        if far is not None and not far.vague:
            told[scales] = far
            dropped.append("scale" if scales else "elements")
        else:
            near = _rest(outcomes, steps, policy, scales=scales) if steps != plain else None
            told[scales] = near or far
    stages = []
    for stage in cause.stages:
        if stage.left:
            rest = told.pop(stage.name in _OF_SCALES, None)
            text = "" if stage.name in dropped else stage.text
            if not text and rest is None:  # said of the other stage
                continue
            stage = replace(stage, text=text, **_told(rest))
        stages.append(stage)
    return replace(cause, stages=tuple(stages))


def _chain_rest(outcomes: Sequence[Outcome], op: str, chain: Chain, policy: Policy) -> Cause | None:
    """A chain as a cause with where the rest is wrong; None if it is shorter to say without it.

    Links that leave some wrong, or all that are not about special numbers, may be left out. What
    counts first is how many numbers are wrong in no way that is told.
    """
    whole = [all_of(one) for one in outcomes]
    left = {stage.text for stage in chain.lines(whole, policy) if stage.left}
    sure = tuple(link for link in chain.wrong if link.text not in left)
    special = tuple(link for link in sure if link.stage == SPECIAL)
    told: list[tuple[tuple[int, ...], Cause | None]] = []
    for links in {len(some): some for some in ((), special, sure, chain.wrong)}.values():
        some = replace(chain, wrong=links)
        own = (some.answer(one.questions, policy) for one in whole)
        found = [_judged(*pair, policy) for pair in zip(outcomes, own, strict=True)]
        rest = describe_failures(found, policy, right=len(links) <= len(special))
        vague, literals = (0, 0) if rest is None else rest.length
        parts = () if rest is None else rest.parts
        untold = sum(part.failing for part in parts if not part.effect or part.cases)
        length = untold.bit_length() // 2, vague, literals + _COST * len(links)
        cause = cause_of(op, some, whole, policy) if links else None
        if cause is not None and rest is not None:
            last = max(i for i, stage in enumerate(cause.stages) if stage.left)
            stages = [*cause.stages]
            stages[last] = replace(stages[last], **_told(rest))
            cause = replace(cause, stages=tuple(stages))
        told.append((length, cause))
    # Of what is as long, what stages say.
    return min(told, key=lambda one: (one[0], one[1] is None))[1]


def _told(rest: Description | None) -> dict[str, Any]:
    """Where a stage is wrong, as fields of it."""
    return {} if rest is None else {"rest": rest.text, "exact": rest.is_short}


def _judged(one: Outcome, own: Words, policy: Policy) -> Outcome:
    """Answers compared with others than those of the policy."""
    given = Answers(one.answers, one.errors)
    return judged(one.file, one.inputs, given, policy, own=Answers(own))


def _rest(
    outcomes: Sequence[Outcome], steps: BlockSteps, policy: Policy, *, scales: bool
) -> Description | None:
    """Where scales, or elements under the target's own scales, are not what steps give."""
    found = []
    for one in outcomes:
        questions = Questions(one.file, one.inputs)
        stored = one.answers[:, 0].astype(np.int64)
        codes = one.answers[:, 1:]
        if scales:
            stored = steps.scales(questions, policy)
        else:
            codes = steps.under(questions, stored, policy)
        words = np.concatenate([stored[:, np.newaxis].astype(np.uint64), codes], axis=1)
        found.append(_judged(one, words, policy))
    own = (steps.view, steps.scale) if scales else (steps.divisor, steps.elements)
    return describe_failures(found, policy, right=all(one.name == "right" for one in own))
