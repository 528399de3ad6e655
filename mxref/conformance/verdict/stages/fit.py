"""The steps of blocks that give a target's answers, found stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mxref.conformance.verdict.cause.evidence import Evidence
from mxref.conformance.verdict.stages.element_fit import (
    bad_codes,
    fit_codes,
    fit_elements,
    fit_places,
)
from mxref.conformance.verdict.stages.scale_fit import bad_scales, fit_scales
from mxref.conformance.verdict.stages.sides import Count, Sides
from mxref.conformance.verdict.stages.special_fit import fit_special, missed_scales
from mxref.conformance.verdict.stages.steps import (
    BlockSteps,
    Divisor,
    Elements,
    Scale,
    View,
    stage_of,
)
from mxref.conformance.verdict.stages.views import variants
from mxref.formats.catalog import block_format
from mxref.policy.policy import Policy

__all__ = ["Fitted", "fit"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Steps, and how many units of each stage are wrong, and are left wrong.

    Args:
        steps: what the stages do.
        policy: what all else follows.
        counts: for each stage that deviates, by name: how many units are wrong by the policy, how
            many are left wrong by the steps, and how many there are.
        misses: answers that the steps do not give.
    """

    steps: BlockSteps
    policy: Policy
    counts: dict[str, Count]
    misses: int


def fit(whole: Sequence[Evidence], policy: Policy) -> Fitted | None:
    """The steps nearest to a target's answers; None if blocks are not made so under the policy.

    Args:
        whole: its answers to `quantize` in one format, by float type.
        policy: what is right.
    """
    size = block_format(whole[0].questions.file.format).elements_per_block
    if any(one.answers.shape[1] != 1 + size for one in whole):
        return None
    try:
        return _fitted(Sides.of(whole, policy))
    except ValueError:  # the policy has no answer to some question
        return None


def _fitted(sides: Sides) -> Fitted:
    """The steps, stage by stage."""
    view, scale = fit_scales(sides)
    before, after = bad_scales(sides, View(), Scale()), bad_scales(sides, view, scale)
    counts = {"scale": (before, after, sum(int(side.ordinary.sum()) for side in sides.every))}
    every = [BlockSteps(view=one, scale=scale) for one in variants(view)]
    steps = min(every, key=lambda one: missed_scales(sides, one)) if len(every) > 1 else every[0]
    for side in sides.every:
        side.see(steps)
    steps, counts["special blocks"] = fit_special(sides, steps, whole=False)
    steps, counts["places"] = fit_places(sides, steps)
    divisor, elements = fit_elements(sides)
    steps = replace(steps, divisor=divisor, elements=elements)
    before, after = bad_codes(sides, Divisor(), Elements()), bad_codes(sides, divisor, elements)
    counts["elements"] = before, after, sum(int(side.finite.sum()) for side in sides.every)
    steps, counts["special elements"] = fit_codes(sides, steps)
    steps, rows = fit_special(sides, steps, whole=True)
    counts["special blocks"] = max(counts["special blocks"], rows)
    steps, misses = _pared(sides, steps)
    named = {stage_of(step) for step in steps.wrong}
    told = {
        name: count
        for name, count in counts.items()
        if name in named or (misses and count[0] and count[1])
    }
    return Fitted(steps, sides.policy, told, misses)


def _pared(sides: Sides, steps: BlockSteps) -> tuple[BlockSteps, int]:
    """Steps without those that explain nothing, and how many answers they do not give."""

    def misses(some: BlockSteps) -> int:
        answers = [some.answer(side.questions, sides.policy) for side in sides.every]
        return sum(s.evidence.misses(a) for s, a in zip(sides.every, answers, strict=True))

    least = misses(steps)
    for step in (*steps.codes, *steps.special):
        fewer = replace(
            steps,
            codes=tuple(one for one in steps.codes if one is not step),
            special=tuple(one for one in steps.special if one is not step),
        )
        if misses(fewer) <= least:
            steps = fewer
    return steps, least
