"""One line of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure, Outcome
from mxref.conformance.verdict.failure_kinds import listed_as
from mxref.operations.operation import Operation
from mxref.operations.registry import row_of

if TYPE_CHECKING:
    from mxref.conformance.verdict.cause.cause import Cause
    from mxref.conformance.verdict.describe.description import Description
    from mxref.conformance.verdict.describe.product_description import (
        ProductDescription,
        WeightOnlyDescription,
    )

__all__ = ["VerifyRow"]

#: Cases below which one wrong answer says little of its cause.
_FEW = 10


@dataclass(frozen=True, slots=True)
class VerifyRow:
    """One line of the report: an operation on a format, over the float types compared alike."""

    op: str
    format: str
    outcomes: tuple[Outcome, ...]
    causes: tuple[Cause, ...] = ()  #: what gives its answers, if some of them are wrong
    sought: bool = False  #: whether causes have been looked for
    #: Where it fails, if no cause gives all of them; of products how it adds.
    description: Description | ProductDescription | WeightOnlyDescription | None = None
    beside: tuple[Outcome, ...] = ()  #: its answers compared with what is nearest, if anything is
    unanswered: tuple[Outcome, ...] = ()  #: the cases that recorded answers lack, if they lack some

    @property
    def operation(self) -> Operation:
        """The operation's row."""
        return row_of(self.op)

    @property
    def policy(self) -> str:
        """The policy compared with, as far as the operation reads it; or that of the profile."""
        return self.outcomes[0].policy

    @property
    def profile(self) -> str | None:
        """The profile compared with, if it was one."""
        return self.outcomes[0].profile

    @property
    def bug(self) -> bool:
        """Whether a known bug gives all of its answers."""
        return any(cause.is_bug for cause in self.causes)

    @property
    def every(self) -> tuple[Outcome, ...]:
        """All outcomes, also of the cases that recorded answers lack."""
        return (*self.outcomes, *self.unanswered)

    @property
    def missing(self) -> int:
        """Number of cases that recorded answers lack, where they have others."""
        return sum(len(outcome.file.cases) for outcome in self.unanswered)

    @property
    def is_guess(self) -> bool:
        """Whether what gives its answers is a guess: one of few cases is wrong."""
        return len(self.failures) == 1 and self.compared < _FEW

    @property
    def compared(self) -> int:
        """Number of cases compared."""
        return sum(len(outcome.file.cases) for outcome in self.every)

    @property
    def judged(self) -> int:
        """Number of cases with an answer, or with an error where there is an answer."""
        refused = sum(len({*o.errors} - {f.index for f in o.failures}) for o in self.every)
        return self.compared - refused

    @property
    def failures(self) -> list[tuple[VectorFile, Failure]]:
        """Every wrong answer, and every case that recorded answers lack."""
        return [(outcome.file, failure) for outcome in self.every for failure in outcome.failures]

    @property
    def wrong(self) -> list[tuple[VectorFile, Failure]]:
        """Every wrong answer."""
        return [(one.file, failure) for one in self.outcomes for failure in one.failures]

    def by_flag(self, known: Collection[str] = ()) -> dict[str, tuple[int, int]]:
        """How many cases of each flag have wrong answers, and how many there are; largest first.

        Errors and known failures are not counted.
        """
        wrong = (pair for pair in self.failures if pair[1].got is not None)
        failing = (
            failure.case for file, failure in wrong if listed_as(file, failure, known) is None
        )
        failed = Counter(flag for case in failing for flag in case.flags)
        asked = (case for outcome in self.every for case in outcome.file.cases)
        cases = Counter(flag for case in asked for flag in case.flags)
        return {flag: (count, cases[flag]) for flag, count in failed.most_common()}
