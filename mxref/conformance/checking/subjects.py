"""What further questions are about, and the policy that judges the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mxref.cases.records import VectorFile
from mxref.conformance.checking.call_questions import CallSubject
from mxref.conformance.checking.product_shapes import ProductSubject
from mxref.conformance.compare.compare import Answered
from mxref.conformance.compare.integer_policies import DECIDING, decided
from mxref.conformance.verdict.call_dependence import CallDependence, unsteady_rows
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.row import VerifyRow
from mxref.operations.operation import AnyPolicy
from mxref.operations.registry import (
    CALL_OPERATIONS,
    DOT_OPERATIONS,
    LAYER_OPERATIONS,
    LAYOUT_OPERATIONS,
    REGISTRY,
)
from mxref.policy.policy import Policy
from mxref.support.text import a_few
from mxref.targets.product_function import ProductFunction
from mxref.targets.target import PythonTarget, Target

if TYPE_CHECKING:
    from mxref.conformance.checking.layer_shapes import LayerSubject
    from mxref.conformance.checking.layout_questions import LayoutSubject
    from mxref.conformance.verdict.cause.cause import Cause

__all__ = [
    "compared_with",
    "explained_by_stages",
    "explaining",
    "layer_subjects",
    "product_subjects",
    "subjects",
    "unsearched",
    "with_decided",
]

#: Kinds of what is wrong with calls whose answers depend on their arguments alone.
_STEADY = ("options", "numbers", "effect", "empty")
#: The most characters of the reasons why there is no search.
_REASON = 170


def subjects(report: Report) -> Iterator[CallSubject]:
    """The operations on layouts and integers, with what gives the answers to their vectors."""
    for row in report.rows:
        if _has_known_bug(row):
            yield from _beside_bug(row)
            continue
        policy = explaining(row, report)
        by, fails = policy or compared_with(row, report), policy is None
        if isinstance(by, str):
            if row.operation.own_choices:
                from mxref.conformance.checking.integer_questions import IntegerSubject

                is_rare = row.format in CALL_OPERATIONS[row.op].further
                yield IntegerSubject(row.op, row.format, by, fails, is_rare)
        elif row.op in LAYOUT_OPERATIONS:
            from mxref.conformance.checking.layout_questions import LayoutSubject

            profile = report.profile if row.profile else None
            for outcome in row.outcomes:
                yield LayoutSubject(row.op, row.format, outcome.file.float, by, profile, fails)


def _beside_bug(row: VerifyRow) -> Iterator[LayoutSubject]:
    """Tensors of which a known bug gives the vectors, compared with what it makes of others."""
    cause = row.causes[0]
    if row.op == "quantize_tensor" and cause.answer is not None and not cause.floats:
        from mxref.conformance.checking.layout_questions import LayoutSubject

        for outcome in row.outcomes:
            names = row.op, row.format, outcome.file.float
            yield LayoutSubject(*names, Policy.parse(cause.policy), None, fails=True, cause=cause)


def product_subjects(target: PythonTarget, report: Report) -> list[ProductSubject]:
    """The files of dot products, each with the target's function."""
    found: list[ProductSubject] = []
    for row in report.rows:
        function = target.operations.get(row.op)
        if row.op in DOT_OPERATIONS and isinstance(function, ProductFunction):
            fails = explaining(row, report) is None and _answers_fail(row, report)
            found += [
                ProductSubject(one.op, one.format, one.float, function, fails)
                for one in _files(row)
            ]
    return found


def layer_subjects(report: Report) -> list[LayerSubject]:
    """The files of linear layers, each with what gives the target's answers to it."""
    found: list[LayerSubject] = []
    for row in report.rows:
        policy = explaining(row, report)
        by = policy or compared_with(row, report)
        fails = policy is None and _answers_fail(row, report)
        if row.op in LAYER_OPERATIONS and isinstance(by, Policy):
            from mxref.conformance.checking.layer_shapes import LayerSubject

            found += [LayerSubject(one.op, one.format, one.float, by, fails) for one in _files(row)]
    return found


def _files(row: VerifyRow) -> list[VectorFile]:
    """The files of a row that are not errors alone; none if a known bug gives all answers."""
    some = [] if _has_known_bug(row) else row.outcomes
    return [one.file for one in some if len(one.errors) < len(one.file.cases)]


def _answers_fail(row: VerifyRow, report: Report) -> bool:
    """Whether answers are wrong in files that are asked about: those that are not errors alone."""
    asked = {file.stem for file in _files(row)}
    return any(
        file.stem in asked and failure.case.id not in report.known for file, failure in row.failures
    )


def _has_known_bug(row: VerifyRow) -> bool:
    """Whether a known bug gives all answers, which says more than the sizes that are wrong."""
    return any(one.complete and one.kind != "policy" for one in row.causes)


def explained_by_stages(row: VerifyRow) -> Cause | None:
    """The stages that give all answers of a row to products, if some do."""
    cause = row.causes[0] if row.op in DOT_OPERATIONS and row.causes else None
    return cause if cause is not None and cause.kind == "stages" and cause.complete else None


def explaining(row: VerifyRow, report: Report, *, listing: bool = False) -> AnyPolicy | None:
    """The policy that gives the answers of a row; None if nothing known does."""
    left = [f for file, f in row.wrong if f.case.id not in report.known]
    if not left or listing:
        return compared_with(row, report)
    cause = row.causes[0] if row.causes else None
    if cause is None or cause.kind != "policy" or not cause.complete:
        return None
    return Policy.parse(cause.policy)


def compared_with(row: VerifyRow, report: Report) -> AnyPolicy:
    """The policy that a row was compared with; that of the profile where it was the profile."""
    if row.operation.own_choices:
        return row.policy
    by_profile = row.profile is not None and report.profile is not None
    return report.profile.policy if by_profile and report.profile else report.policy


def unsearched(
    report: Report, uses: Sequence[CallDependence], searched: set[tuple[str, str]]
) -> str:
    """Why operations that the search has questions about are left out, with a few of them.

    Args:
        report: the report.
        uses: ways of calling that change answers.
        searched: the operations and formats that are not left out.
    """
    unsteady = unsteady_rows(uses)
    depending = unsteady_rows(use for use in uses if use.kind not in _STEADY)
    found: dict[str, dict[str, None]] = {}
    for row in report.rows:
        key = row.op, row.format
        has = REGISTRY[row.op].questions and any(o.file.cases for o in row.outcomes)
        if has and key not in searched:
            unknown = "no policy known gives the answers of {} to the vectors"
            if row.causes and row.causes[0].complete:
                unknown = "it is known why the answers of {} are wrong"
            faulty = "calls of {} show faults"
            if key in depending:
                faulty = "the answers of {} depend on the call"
            why = faulty if key in unsteady else unknown
            found.setdefault(why, {})[" ".join(key)] = None
    for most in (4, 3, 2, 1):
        names = {why: a_few([*some], most) for why, some in found.items()}
        text = ", and ".join(why.format(some) for why, some in names.items())
        if len(text) <= _REASON:
            return text
    return ", and ".join(why.format(f"{len(some)} rows") for why, some in found.items())


def with_decided(target: Target, one: Answered, seed: int) -> Answered:
    """Answers about integers with the target's policy, where that is not the one nearest to them.

    Other questions decide between policies that give the same answers to a file.
    """
    file = one.file
    if not file.row.own_choices or not file.cases:
        return one
    from mxref.cases.drawn import drawn
    from mxref.targets.results import ResultsTarget

    if isinstance(target, ResultsTarget):
        words = target.drawn.get(file.stem, (file.input_words()[:0],))[0]
    else:
        words = drawn(file.op, file.format, file.float, DECIDING, seed)
    policy = one.judged(Policy()).policy
    chosen = decided(target, file, one.inputs, policy, words)
    return one if chosen == policy else replace(one, choices=chosen)
