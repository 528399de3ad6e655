"""The search: drawn questions, compared with a policy, or with what gives the other answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.conformance.checking.computed import Compared, compare_computed
from mxref.conformance.checking.repeated_calls import elements_of
from mxref.conformance.checking.subjects import compared_with
from mxref.conformance.verdict.call_dependence import CallDependence, unsteady_rows
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.row import VerifyRow
from mxref.operations.operation import AnyPolicy
from mxref.policy.policy import Policy
from mxref.targets.target import PythonTarget

if TYPE_CHECKING:
    from mxref.conformance.verdict.cause.cause import Cause
    from mxref.profiles import Profile
    from mxref.targets.results import ResultsTarget

__all__ = ["Search"]

#: Stages that leave so many times fewer wrong are nearly what a target does.
_FEWER = 8
#: What gives answers to questions of a file.
_Answers = Callable[[VectorFile, NDArray[np.uint64]], NDArray[np.uint64]]


@dataclass(frozen=True, slots=True)
class Search:
    """Drawn questions to a target.

    Args:
        target: the implementation.
        most: the largest number of elements in a call.
        seed: of the questions.
    """

    target: PythonTarget | ResultsTarget
    most: int
    seed: int

    def asked(
        self,
        file: VectorFile,
        policy: AnyPolicy,
        profile: Profile | None,
        known: Collection[str],
        cause: _Answers | None = None,
    ) -> Iterator[Compared]:
        """The questions about a file's operation, if it has any.

        Args:
            file: the file.
            policy: what the answers are compared with.
            profile: what they are compared with instead, if it speaks of this.
            known: kinds of known divergences.
            cause: what gives the answers; they are compared with that.
        """
        target = self.target
        if isinstance(target, PythonTarget):
            if not file.row.questions:
                return
            count = min(file.row.questions, max(self.most, 64) // elements_of(file, 1))
            from mxref.cases.drawn import drawn

            words = drawn(file.op, file.format, file.float, count, self.seed)
        elif file.stem in target.drawn:  # it was asked before
            words = target.drawn[file.stem][0]
        else:
            return
        yield compare_computed(
            target, file, [words], policy, profile, known, name="search", cause=cause
        )

    def confirmed(
        self,
        report: Report,
        uses: Sequence[CallDependence],
        asked: Sequence[VectorFile],
        before: Sequence[VerifyRow] = (),
    ) -> Iterator[Compared]:
        """The answers of known bugs and stages, or nearly known ones, compared with the target's.

        What differs is to be looked at again with the answers to the vectors.

        Args:
            report: the rows and their causes.
            uses: ways of calling that change answers, of which nothing is confirmed.
            asked: the files whose questions are compared with a policy.
            before: rows that were confirmed before; those that are the same are not asked again.
        """
        unsteady, by = unsteady_rows(uses), {id(file) for file in asked}
        same = {id(row) for row in before}
        for row in (row for row in report.rows if id(row) not in same):
            cause = row.causes[0] if row.causes else None
            if cause is None or cause.answer is None or not (cause.complete or _nearly(cause)):
                continue
            if (row.op, row.format) in unsteady and not cause.mixes:
                continue
            policy, over = compared_with(row, report), Policy.parse(cause.policy)
            profile = report.profile if row.profile else None
            files = {one.file.stem: one.file for one in row.outcomes if id(one.file) not in by}
            for file in files.values():
                gives = _answers_of(cause, file, over)
                yield from self.asked(file, policy, profile, report.known, gives)


def _nearly(cause: Cause) -> bool:
    """Whether known stages of blocks leave few wrong, none of which depends on other blocks.

    Other questions may tell between hypotheses that leave as many. They are drawn one by one, so
    that they would say nothing of what blocks of one call do to each other.
    """
    from mxref.conformance.verdict.stages.steps import BlockSteps  # where something is wrong

    few = all(one.text and _FEWER * one.left <= one.wrong for one in cause.stages)
    return isinstance(cause.steps, BlockSteps) and few and not cause.mixes


def _answers_of(cause: Cause, like: VectorFile, policy: Policy) -> _Answers:
    """The answers of a cause; those of its policy from float types that it is not seen from."""
    from mxref.conformance.verdict.cause.evidence import Questions

    answer = cause.answer
    if cause.floats and like.float not in cause.floats:
        return lambda file, words: Questions(file, words).answers(policy)
    return lambda file, words: answer(Questions(file, words), policy)
