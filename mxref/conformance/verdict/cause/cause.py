"""What a cause is: a policy, a profile or a known bug that gives a target's answers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

__all__ = ["Cause"]


@dataclass(frozen=True, slots=True)
class Cause:
    """A policy, profile or known bug that gives all of a target's answers, or most of them.

    Args:
        kind: `policy`; `profile`; `mutant`, a bug of the museum; `order`, codes in another order;
            `shift`, all scales or values by one factor, which those at the ends of the range hide.
        name: the policy, the profile, the id of the mutant, or the name of the order or shift.
        title: the mutant's name; empty for others.
        text: what is wrong, in words; empty for a policy.
        part: the operation that the bug is in; empty for a policy.
        seen: where it was seen.
        policy: what all else follows.
        floats: the float types that the bug is seen from, if it is not all of them.
        same: how many answers it gives.
        total: how many there are.
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

    @property
    def complete(self) -> bool:
        """Whether it gives all of them."""
        return self.same == self.total

    @property
    def is_bug(self) -> bool:
        """Whether it is a known bug that gives all of them, or a shift of all that show one."""
        return self.kind == "shift" or (self.complete and self.kind in ("mutant", "order"))

    def as_json(self) -> dict[str, Any]:
        """The cause as plain data."""
        return {
            **dataclasses.asdict(self),
            "seen": list(self.seen),
            "floats": list(self.floats),
            "complete": self.complete,
        }
