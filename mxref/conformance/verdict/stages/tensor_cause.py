"""What the stages of blocks, and of tensors, do, as a cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.conformance.verdict.cause.evidence import Evidence
from mxref.conformance.verdict.cause.suspects import of_stage
from mxref.conformance.verdict.stages.fit import Fitted, fit
from mxref.conformance.verdict.stages.steps import BlockSteps
from mxref.conformance.verdict.stages.tensor_fit import FittedTensor, fit_tensor
from mxref.policy.policy import Policy

__all__ = ["STAGES", "block_cause", "tensor_cause"]

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


def tensor_cause(whole: Sequence[Evidence], policy: Policy) -> Cause | None:
    """The stages of tensors that deviate over a policy, if there are some.

    Args:
        whole: all of a target's answers.
        policy: what all else follows.
    """
    found = fit_tensor(whole, policy)
    return _cause("quantize_tensor", found, whole, _lines(found)) if found else None


def block_cause(whole: Sequence[Evidence], policy: Policy, like: BlockSteps) -> Cause | None:
    """The stages of blocks that deviate over a policy, if there are some.

    Args:
        whole: all of a target's answers.
        policy: what all else follows.
        like: steps that give all answers in another format, which are tried first.
    """
    found = fit(whole, policy, like)
    if found is None or not (found.steps.wrong or len(found.counts) > 1):
        return None
    return _cause("quantize", found, whole, _lines_of_blocks(found))


def _cause(
    op: str, found: Fitted | FittedTensor, whole: Sequence[Evidence], lines: Iterator[Stage]
) -> Cause:
    wrong = found.steps.wrong
    name, text = "+".join(one.name for one in wrong), "; and ".join(one.text for one in wrong)
    suspect = of_stage(op, name, text, found.steps.answer)
    cause = suspect.cause(op, found.policy, whole, found.misses)
    return replace(cause, stages=tuple(lines), steps=found.steps)


def _lines(found: FittedTensor) -> Iterator[Stage]:
    """One line for each stage that deviates."""
    own = {step.stage: step.text for step in found.steps.wrong}
    for name, (wrong, left, total) in found.counts.items():
        yield Stage(name, own[name], wrong, left, total, "tensors", _OF_TENSORS[name])
    if found.blocks is not None:
        yield from _lines_of_blocks(found.blocks)


def _lines_of_blocks(found: Fitted) -> Iterator[Stage]:
    """One line for each stage of blocks that deviates."""
    for name, (wrong, left, total) in found.counts.items():
        text = "; ".join(step.text for step in found.steps.wrong if step.stage == name)
        unit, clause = STAGES[name]
        yield Stage(name, text, wrong, left, total, unit, clause)
