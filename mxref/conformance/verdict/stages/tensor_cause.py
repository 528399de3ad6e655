"""What the stages of a tensor do, as a cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.conformance.verdict.cause.evidence import Evidence
from mxref.conformance.verdict.cause.suspects import Suspect
from mxref.conformance.verdict.stages.fit import Fitted
from mxref.conformance.verdict.stages.tensor_fit import FittedTensor, fit_tensor
from mxref.policy.policy import Policy

__all__ = ["STAGES", "lines_of_blocks", "tensor_cause"]

#: What the units of each stage of a block are called, and the clause about it.
STAGES = {
    "tensor scale": ("blocks", "N41, N42"),
    "scale": ("scales", "MX-6.3"),
    "special blocks": ("blocks", "N4 to N6"),
    "elements": ("elements", "N17"),
    "special elements": ("elements", "N13, N14, N25"),
    "places": ("lanes", "MX-5.1"),
}
#: The clause about each stage of a tensor.
_OF_TENSORS = {"axis": "N30", "tail": "N29", "scale matrix": "N30"}


def tensor_cause(whole: Sequence[Evidence], policies: Sequence[Policy]) -> Cause | None:
    """The stages of tensors that deviate, over the first policy under which they give all answers.

    Args:
        whole: all of a target's answers.
        policies: what all else may follow.
    """
    best: Cause | None = None
    for policy in dict.fromkeys(policies):
        found = fit_tensor(whole, policy)
        if found is None:
            continue
        cause = _cause(found, whole)
        if cause.complete:
            return cause
        best = best or cause
    return best


def _cause(found: FittedTensor, whole: Sequence[Evidence]) -> Cause:
    wrong, op = found.steps.wrong, "quantize_tensor"
    name, text = "+".join(one.name for one in wrong), "; and ".join(one.text for one in wrong)
    suspect = Suspect("stages", name, "", text, op, (), found.steps.answer)
    cause = suspect.cause(op, found.policy, whole, found.misses)
    return replace(cause, stages=tuple(_lines(found)), steps=found.steps)


def _lines(found: FittedTensor) -> Iterator[Stage]:
    """One line for each stage that deviates."""
    own = {step.stage: step.text for step in found.steps.wrong}
    for name, (wrong, left, total) in found.counts.items():
        yield Stage(name, own[name], wrong, left, total, "tensors", _OF_TENSORS[name])
    if found.blocks is not None:
        yield from lines_of_blocks(found.blocks)


def lines_of_blocks(found: Fitted) -> Iterator[Stage]:
    """One line for each stage of blocks that deviates."""
    for name, (wrong, left, total) in found.counts.items():
        text = "; ".join(step.text for step in found.steps.wrong if step.stage == name)
        unit, clause = STAGES[name]
        yield Stage(name, text, wrong, left, total, unit, clause)
