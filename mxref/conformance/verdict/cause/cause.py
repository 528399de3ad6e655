"""What a cause is: a policy, a profile or a known bug that gives a target's answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from mxref.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage of a target does otherwise.

    Args:
        name: the stage: `scale`, `special blocks`, `elements` or `special elements`.
        text: what it does; empty if no rule is known that gives most of its answers.
        wrong: how many of its units differ from the policy, given what came before.
        left: how many differ from what the text says, too.
        total: how many units there are.
        unit: what they are.
        clause: the clauses about it.
        rest: where those that are left are wrong.
        exact: whether that holds of each of them and of no other unit, in few words.
    """

    name: str
    text: str
    wrong: int
    left: int
    total: int
    unit: str
    clause: str
    rest: str = ""
    exact: bool = False

    def __str__(self) -> str:
        """The stage as a line of a report, with each of its counts once.

        >>> str(Stage("scale", "amax does not see lane 31", 23, 0, 494, "scales", "MX-6.3"))
        'scale: amax does not see lane 31 (23 of 494 scales; MX-6.3)'
        """
        if self.rest and not self.text:  # which has counts of its own, of all units
            return f"{self.name}: {self.rest}" + f" ({self.clause})" * bool(self.clause)
        clause = f"; {self.clause}" * bool(self.clause)
        clause += "; a guess from one case" * (self.wrong == 1 and bool(self.text))
        counts = f"{self.wrong} of {self.total} {self.unit}{clause}"
        if not self.text:
            return f"{self.name}: wrong, by no rule that is known ({counts})"
        if not self.left:
            return f"{self.name}: {self.text} ({counts})"
        rest = f": {self.rest}" * bool(self.rest)
        return f"{self.name}: nearest is: {self.text} ({counts}); beside it {self.left} wrong{rest}"


@dataclass(frozen=True, slots=True)
class Cause:
    """A policy, profile or known bug that gives all of a target's answers, or most of them.

    Args:
        kind: `policy`; `profile`; `mutant`, a bug of the museum; `order`, codes in another order;
            `shift`, all scales or values by one factor, which those at the ends of the range hide;
            `stages`, what each stage does.
        name: the policy, the profile, the id of the mutant, or the name of the order or shift.
        title: the mutant's name; empty for others.
        text: what is wrong, in words; empty for a policy.
        part: the operation that the bug is in; empty for a policy.
        seen: where it was seen.
        policy: what all else follows.
        floats: the float types that the bug is seen from, if it is not all of them.
        same: how many answers it gives.
        total: how many there are.
        stages: of a cause of stages those that deviate.
        answer: the answers that it gives to questions over a policy, if they can be computed.
        steps: of a cause of stages what each does.
        otherwise: of one of stages what is said without stages, if that was looked for.
    """

    kind: str
    name: str
    title: str
    text: str
    part: str
    seen: tuple[str, ...]
    policy: str
    floats: tuple[str, ...]
    same: int
    total: int
    stages: tuple[Stage, ...] = ()
    answer: Any = field(default=None, compare=False, repr=False)
    steps: Any = field(default=None, compare=False, repr=False)
    otherwise: tuple[Cause, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def complete(self) -> bool:
        """Whether it gives all of them."""
        return self.same == self.total

    @property
    def mixes(self) -> bool:
        """Whether it is in stages by which an answer depends on others of its call."""
        return bool(getattr(self.steps, "mixes", False))

    @property
    def is_bug(self) -> bool:
        """Whether it is a known bug that gives all of them, or a shift of all that show one."""
        return self.kind == "shift" or (
            self.complete and self.kind in ("mutant", "order", "stages")
        )

    def as_json(self) -> dict[str, Any]:
        """The cause as plain data."""
        every = (one.name for one in dataclasses.fields(self))
        names = [name for name in every if name not in ("answer", "steps", "otherwise")]
        found = {name: getattr(self, name) for name in names} | {
            "seen": list(self.seen),
            "floats": list(self.floats),
            "stages": [dataclasses.asdict(stage) for stage in self.stages],
            "complete": self.complete,
        }
        if not self.stages:
            del found["stages"]
        return found


def first_cause(
    policies: Iterable[Policy],
    find: Callable[[Policy], Cause | None],
    rank: Callable[[Cause], int] = lambda cause: 0,
) -> Cause | None:
    """What is found over the first policy under which it gives all answers; or else the first.

    Args:
        policies: what all else may follow; of one that has no answer to some question is nothing
            found.
        find: what finds a cause over one of them.
        rank: of causes that do not give all answers that of the largest one is the first.
    """
    found: list[Cause] = []
    for policy in dict.fromkeys(policies):
        try:
            cause = find(policy)
        except ValueError:
            continue
        if cause is not None and cause.complete:
            return cause
        if cause is not None:
            found.append(cause)
    return max(found, key=rank, default=None)
