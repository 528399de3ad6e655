"""Where a target differs, in few words, where no cause is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mxref.conformance.compare import Outcome
from mxref.policy import Policy

__all__ = ["Description", "describe_failures"]


@dataclass(frozen=True, slots=True)
class Description:
    """Where a target differs, in words."""

    text: str

    def as_json(self) -> dict[str, Any]:
        """The description as plain data."""
        return {"text": self.text}


def describe_failures(outcomes: Sequence[Outcome], policy: Policy) -> Description | None:
    """The smallest description of all failures of an operation on a format; None if there is none.

    Args:
        outcomes: the answers to its files, compared.
        policy: what they were compared with.
    """
    return None
