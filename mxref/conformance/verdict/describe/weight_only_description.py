"""What answers about weight-only linear layers say of the order of their operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mxref.conformance.compare.compare import Outcome
from mxref.conformance.compare.integer_policies import answers_of, misses
from mxref.conformance.compare.product_intervals import nibbles_of, sums_inside
from mxref.operations.registry import CALL_OPERATIONS
from mxref.targets.calls import Answers

__all__ = ["WeightOnlyDescription", "describe_weight_only"]


@dataclass(frozen=True, slots=True)
class WeightOnlyDescription:
    """Where a target applies the scales, as far as its answers tell.

    Args:
        order: the named order whose bits all answers have; empty if none has them.
        inside: else the orders in whose intervals all answers are, as sums are added in another
            order; `offset`, whose intervals hold the others, is among them only if alone.
        outside: how many answers are in no interval.
        compared: number of answers.
    """

    order: str
    inside: tuple[str, ...]
    outside: int
    compared: int

    @property
    def text(self) -> str:
        """The order in words."""
        if self.order:
            return f"all {self.compared} answers have the bits of order={self.order}"
        if self.inside:
            names = " and ".join(f"order={name}" for name in self.inside)
            return (
                f"all {self.compared} answers are inside what float32 sums in some order give for "
                f"{names}, and have the bits of no named order"
            )
        return (
            f"{self.outside} of {self.compared} answers are outside what float32 sums give in any "
            "order, with the scales before or after them"
        )

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"text": self.text, **asdict(self), "inside": list(self.inside)}


def describe_weight_only(outcomes: Sequence[Outcome]) -> WeightOnlyDescription | None:
    """The order of a target's operations that its answers show; None of errors."""
    if any(one.errors for one in outcomes):
        return None
    file, policy = outcomes[0].file, outcomes[0].policy
    compared = sum(len(one.inputs) for one in outcomes)
    orders = CALL_OPERATIONS[file.op].choices(file.format)["order"]
    order = CALL_OPERATIONS[file.op].parse(file.format, policy).get("order", orders[0])
    if not any(_missed(one) for one in outcomes):
        return WeightOnlyDescription(order, (), 0, compared)
    nibbles = nibbles_of(file, policy)
    left = {name: _outside(outcomes, nibbles, name) for name in orders[1:]}
    names = tuple(name for name in orders[1:3] if not left[name]) or orders[3:]
    outside = left[names[-1]]
    return WeightOnlyDescription("", () if outside else names, outside, compared)


def _outside(outcomes: Sequence[Outcome], nibbles: str, order: str) -> int:
    """How many answers are outside the intervals of an order."""
    found = (sums_inside(one.file, one.inputs, one.answers, nibbles, order) for one in outcomes)
    return sum(int((~some).sum()) for some in found)


def _missed(outcome: Outcome) -> int:
    """How many answers have other bits than those of the policy."""
    own = answers_of(outcome.file, outcome.inputs, outcome.policy)
    return misses(outcome.file, own, Answers(outcome.answers, outcome.errors))
