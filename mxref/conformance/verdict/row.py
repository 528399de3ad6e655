"""One line of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import combinations

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure, Outcome
from mxref.conformance.verdict.cause.causes import Cause
from mxref.conformance.verdict.describe.description import Description
from mxref.conformance.verdict.describe.product_description import ProductDescription
from mxref.conformance.verdict.describe.weight_only_description import WeightOnlyDescription

__all__ = ["VerifyRow", "kind_of", "kinds_covering", "listed_as"]


def kind_of(file: VectorFile, failure: Failure) -> str:
    """The kind of a failure: operation, format, and its clause and flags or its error."""
    case = failure.case
    why = (case.rule, *case.flags) if failure.got is not None else (failure.error,)
    return " ".join((file.op, file.format, *why))


def kinds_covering(file: VectorFile, failure: Failure) -> Iterator[str]:
    """The kinds that cover a failure: its own, then those with fewer flags.

    Other questions have other combinations of flags than those of the vectors have; a listed kind
    covers every combination that has its flags. Errors have one kind.
    """
    case = failure.case
    yield kind_of(file, failure)
    for count in range(len(case.flags) - 1, -1, -1) if failure.got is not None else ():
        for flags in combinations(case.flags, count):
            yield " ".join((file.op, file.format, case.rule, *flags))


def listed_as(file: VectorFile, failure: Failure, known: Container[str]) -> str | None:
    """What lists a failure among known divergences; None if nothing does.

    That is its case's id, or, if its case is in no vector file, a kind that covers it.
    """
    case = failure.case
    keys = (case.id,) if case.model else kinds_covering(file, failure)
    return next((key for key in keys if key in known), None)


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
    def compared(self) -> int:
        """Number of cases compared."""
        return sum(len(outcome.file.cases) for outcome in self.outcomes)

    @property
    def failures(self) -> list[tuple[VectorFile, Failure]]:
        """Every wrong answer."""
        return [
            (outcome.file, failure) for outcome in self.outcomes for failure in outcome.failures
        ]

    def by_flag(self, known: Container[str] = ()) -> dict[str, tuple[int, int]]:
        """How many cases of each flag have wrong answers, and how many there are; largest first.

        Errors and known failures are not counted.
        """
        wrong = (pair for pair in self.failures if pair[1].got is not None)
        failing = (
            failure.case for file, failure in wrong if listed_as(file, failure, known) is None
        )
        failed = Counter(flag for case in failing for flag in case.flags)
        asked = (case for outcome in self.outcomes for case in outcome.file.cases)
        cases = Counter(flag for case in asked for flag in case.flags)
        return {flag: (count, cases[flag]) for flag, count in failed.most_common()}
