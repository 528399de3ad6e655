"""What the stages of a target do, as a cause, and in words where they do not give all answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mxref.cases.answers import choices_read
from mxref.conformance.compare.compare import Outcome, judged
from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.conformance.verdict.cause.evidence import Evidence, Questions
from mxref.conformance.verdict.describe.description import Description, describe_failures
from mxref.conformance.verdict.stages.fit import Fitted, fit
from mxref.conformance.verdict.stages.steps import RIGHT, BlockSteps, stage_of
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers

__all__ = ["stage_cause", "with_rest"]

#: What the units of each stage are called, and the clause about it.
_STAGES = {
    "scale": ("scales", "MX-6.3"),
    "special blocks": ("blocks", "N4 to N6"),
    "elements": ("elements", "N17"),
    "special elements": ("elements", "N13, N14, N25"),
    "places": ("lanes", "MX-5.1"),
}


def stage_cause(
    op: str, whole: Sequence[Evidence], policies: Sequence[Policy], hints: Sequence[Cause] = ()
) -> Cause | None:
    """The stages that deviate, over the first policy under which they give all answers.

    Args:
        op: the operation.
        whole: all of a target's answers.
        policies: what all else may follow.
        hints: what gave all answers on other formats; tried first.

    Returns:
        A cause; None of operations without stages, or where no step is nearer than none.
    """
    if op != "quantize":
        return None
    total = sum(len(one.answers) for one in whole)
    best: Cause | None = None
    for policy in dict.fromkeys(policies):
        found = fit(whole, policy)
        if found is None or not (found.steps.wrong or len(found.counts) > 1):
            continue
        cause = _cause(op, found, total)
        if cause.complete:
            return cause
        best = best or cause
    return best


def _cause(op: str, found: Fitted, total: int) -> Cause:
    steps = found.steps
    texts = [step.text for step in steps.wrong]
    name = "+".join(step.name for step in steps.wrong)
    read = str(Policy().replace(**choices_read(op, found.policy)))
    stages = tuple(_lines(found))
    return Cause(
        "stages", name, "", "; and ".join(texts), op, (), read, (), total - found.misses, total,
        stages=stages, answer=steps.answer, steps=steps,
    )  # fmt: skip


def _lines(found: Fitted) -> list[Stage]:
    """One line for each stage that deviates."""
    lines = []
    for name, (wrong, left, total) in found.counts.items():
        text = "; ".join(step.text for step in found.steps.wrong if stage_of(step) == name)
        unit, clause = _STAGES[name]
        lines.append(Stage(name, text, wrong, left, total, unit, clause))
    return lines


def with_rest(outcomes: Sequence[Outcome], cause: Cause) -> tuple[Stage, ...]:
    """The stages of a cause that does not give all answers, with where the rest is wrong.

    Scales are compared with those that the steps give, and elements under the target's own scales.

    Args:
        outcomes: the answers of one operation and format.
        cause: one of stages.
    """
    policy, steps = Policy.parse(cause.policy), cause.steps
    if not isinstance(steps, BlockSteps):
        return cause.stages
    left = {stage.name for stage in cause.stages if stage.left}
    stages = []
    told = {True: "", False: ""}
    plain = steps
    if "scale" in left:
        plain = replace(plain, view=RIGHT.view, scale=RIGHT.scale)
    if "elements" in left:
        plain = replace(plain, divisor=RIGHT.divisor, elements=RIGHT.elements)
    dropped = dict.fromkeys(left, False)
    for is_scale in (True, False):
        names = ("scale", "special blocks") if is_scale else ("elements", "special elements")
        if not left & {*names}:
            continue
        near, far = (_rest(outcomes, one, policy, scales=is_scale) for one in (steps, plain))
        own = near if near is not None else far
        if far is not None and not far.vague:
            own = far
            dropped |= {name: name == names[0] for name in left & {*names}}
        told[is_scale] = "" if own is None else own.text
    for stage in cause.stages:
        if stage.left:
            is_scale = stage.name in ("scale", "special blocks")
            rest, told[is_scale] = told[is_scale], ""
            text = "" if dropped[stage.name] else stage.text
            if not text and not rest:  # said of the other stage
                continue
            stage = replace(stage, text=text, rest=rest)
        stages.append(stage)
    return tuple(stages)


def _rest(
    outcomes: Sequence[Outcome], steps: BlockSteps, policy: Policy, *, scales: bool
) -> Description | None:
    """Where scales, or elements under the target's own scales, are not what steps give."""
    found = []
    for one in outcomes:
        questions = Questions(one.file, one.inputs)
        stored = one.answers[:, 0].astype(np.int64)
        if scales:
            made = steps.scales(questions, policy).astype(np.uint64)
            words = np.concatenate([made[:, np.newaxis], one.answers[:, 1:]], axis=1)
        else:
            codes = steps.under(questions, stored, policy)
            words = np.concatenate([one.answers[:, :1], codes], axis=1)
        given = Answers(one.answers, one.errors)
        found.append(judged(one.file, one.inputs, given, policy, own=Answers(words)))
    own = (steps.view, steps.scale) if scales else (steps.divisor, steps.elements)
    return describe_failures(found, policy, right=all(one.name == "right" for one in own))
