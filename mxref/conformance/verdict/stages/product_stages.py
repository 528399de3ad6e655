"""Why dot products are wrong: one or two stages that do otherwise, in any order of additions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.conformance.verdict.describe.product_tables import where_wrong
from mxref.conformance.verdict.stages.product_fit import ProductFit, Steps
from mxref.conformance.verdict.stages.product_steps import STAGES, steps_of
from mxref.operations.registry import DOT_OPERATIONS

#: Steps that give the most answers, beside which each other one is tried; and the answers that
#: these do not give which are tried first.
_FIRST, _FEW = 8, 12


def product_stages(outcomes: Sequence[Outcome], like: Sequence[Cause] = ()) -> Cause | None:
    """One or two stages that give all answers to dot products; or else those that are nearest.

    Args:
        outcomes: the answers to a pair of formats.
        like: what gave fewer answers of the target; tried first.

    Returns:
        None where there is none, or it is a sum that is narrower than float32, which no clause
        forbids: see `narrow_sum`.
    """
    if not _is_asked(outcomes):
        return None
    fit = ProductFit.of(outcomes)
    for steps in (one.steps for one in like if one.kind == "stages" and one.complete):
        if fit.given(steps).all():
            return _cause(fit, steps, 0, "")
    every = ((int((~fit.given((step,))).sum()), (step,)) for step in steps_of(fit.format))
    ranked: list[tuple[int, Steps]] = sorted(every, key=lambda one: one[0])
    best = ranked[0]
    if best[0]:
        best = _pair(fit, ranked) or best
    misses, steps = best
    wrong = int((~fit.given(())).sum())
    if misses == wrong:
        return None
    # Of what a narrow sum is near to, the description tells the bits.
    if misses and any(2 * n <= wrong for n, (step,) in ranked if step.stage == "sum"):
        return None
    if 2 * misses > wrong or {step.stage for step in steps} == {"sum"}:
        return None
    rest = ""
    if misses:
        rest = where_wrong(outcomes, ~fit.given(steps))
    return _cause(fit, steps, misses, rest)


def narrow_sum(outcomes: Sequence[Outcome]) -> str:
    """The sum that is narrower than float32 and gives all answers, in words; or nothing."""
    if not _is_asked(outcomes):
        return ""
    fit = ProductFit.of(outcomes)
    every = (step for step in steps_of(outcomes[0].file.format) if step.stage == "sum")
    return next((step.text for step in every if fit.given((step,)).all()), "")


def _is_asked(outcomes: Sequence[Outcome]) -> bool:
    """Whether the answers are numbers, one for each product."""
    is_number = not any(one.errors or one.answers.shape[1] != 1 for one in outcomes)
    return outcomes[0].file.op in DOT_OPERATIONS and is_number


def _pair(fit: ProductFit, ranked: Sequence[tuple[int, Steps]]) -> tuple[int, Steps] | None:
    """Two steps that give all answers; or those that give the most, if far more than one."""
    nearest: tuple[int, Steps] | None = None
    most = ranked[0][0]
    for _, (step,) in ranked[:_FIRST]:
        left = np.flatnonzero(~fit.given((step,)))
        tried = left[:: max(1, left.size // _FEW)][:_FEW]
        few = fit.some(tried)
        for _, (other,) in ranked:
            if not step.fits(other):
                continue
            steps = tuple(sorted((step, other), key=lambda one: [*STAGES].index(one.stage)))
            missed = int((~few.given(steps)).sum())
            if 4 * missed > tried.size:
                continue
            misses = int((~fit.given(steps)).sum())
            if not misses:
                return 0, steps
            if 4 * misses <= most and (nearest is None or misses < nearest[0]):
                nearest = misses, steps
    return nearest


def _cause(fit: ProductFit, steps: Steps, misses: int, left: str) -> Cause:
    """Steps as a cause, with a line for each, and what is said of the answers that are left."""
    total = len(fit.answers)
    texts = [step.text for step in steps]
    stages = []
    for step in steps:
        rest = tuple(one for one in steps if one is not step)
        wrong = int((fit.given(steps) & ~fit.given(rest)).sum())
        counts = wrong, misses, total
        stages.append(Stage(step.stage, step.text, *counts, "outputs", STAGES[step.stage], left))
    name = "+".join(texts)
    text = "; and ".join(texts)
    same = total - misses
    return Cause(
        "stages", name, "", text, "matmul", (), "ocp", (), same, total, tuple(stages), steps=steps
    )
