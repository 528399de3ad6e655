"""The whole check of a target: vectors, the same cases again in other calls, families, a search."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.cases.words import LAYOUT_OPERATIONS
from mxref.conformance.checking.batches import Call, Ways, ask_ways, elements_of, first_calls
from mxref.conformance.checking.computed import Compared, compare_computed
from mxref.conformance.checking.drawn import QUESTIONS, drawn
from mxref.conformance.checking.steadiness import changed_answers, judge_calls
from mxref.conformance.compare.compare import Answered, asked
from mxref.conformance.verdict.row import VerifyRow
from mxref.conformance.verdict.uses import Scope, Use
from mxref.conformance.verdict.verify import Report, begun, with_rows
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import Answers
from mxref.targets.results import ResultsTarget
from mxref.targets.target import PythonTarget, Target

__all__ = ["PACES", "Extent", "check"]

#: The largest number of elements in a call, by the time that the vectors took for a million.
PACES = ((5.0, 2_200_000), (15.0, 140_000), (60.0, 9_000), (float("inf"), 1_100))
#: Elements that a call with few of them counts as, so that its start does not look like slowness.
_LEAST = 100


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is asked beside the vectors.

    Args:
        elements: the largest number of elements in a call; by the target's speed if None, nothing
            is asked again if 0.
        search: whether there is a search.
        seed: the seed of its questions.
        level: 2 to ask every exhaustive family.
        listing: whether all failures are going to be listed as known, so that the search compares
            with the policy itself also where the vectors fail.
    """

    elements: int | None = None
    search: bool = True
    seed: int = 0
    level: int = 1
    listing: bool = False


def check(
    target: Target,
    files: Sequence[VectorFile],
    policy: Policy | None = None,
    known: Mapping[str, str] | None = None,
    profile: Profile | None = None,
    extent: Extent = Extent(),
) -> Report:
    """Check a target as kernels are used: see `verify` for the vectors alone.

    Args:
        target: the implementation; of one with recorded answers these are compared.
        files: the vector files.
        policy: what to compare with; see `verify`.
        known: reasons of known divergences by case id, kind or way of calling.
        profile: what to compare with where it speaks of something.
        extent: what is asked beside the vectors.
    """
    report, covered = begun(target, files, policy, known, profile)
    if isinstance(target, PythonTarget) and extent.elements != 0:
        first_calls([(target.operations[file.op], file) for file in covered])
    seconds = elements = 0.0
    answered: list[Answered] = []
    for file in covered:
        start = time.perf_counter()
        answered.append(asked(target, file))
        seconds += time.perf_counter() - start
        calls = len(file.cases) if file.op in LAYOUT_OPERATIONS else 1
        elements += max(elements_of(file, len(file.cases)), _LEAST * calls) if file.cases else 0
    first = with_rows(report, [(one,) for one in answered])
    if not answered or not isinstance(target, PythonTarget | ResultsTarget):
        return first
    if isinstance(target, ResultsTarget):
        most, uses = 0, changed_answers(target, [one.file for one in answered])
        scope = Scope(notes=(target.note,) if target.note else ())
    else:
        # Without other calls the search still keeps to what the speed of the target allows.
        most = extent.elements or _elements(seconds / elements * 1e6)
        uses, scope = ((), Scope()) if extent.elements == 0 else _again(target, first, most)
    scope = replace(scope, seed=extent.seed, level=extent.level, elements=most)
    more: dict[str, list[Answered]] = {one.file.stem: [one] for one in answered}
    if extent.search:
        found = list(_search(target, first, uses, most, extent))
        in_part = {(one.op, one.format) for one in found if one.cases < QUESTIONS[one.op]}
        where = dict.fromkeys((one.op, one.format) for one in found)
        searched = sum(one.cases for one in found)
        whole = tuple(pair for pair in where if pair not in in_part)
        scope = replace(scope, searched=searched, searched_in=whole)
        for one in found:
            if one.outcome is not None:
                file = one.outcome.file
                given = Answers(one.outcome.answers, one.outcome.errors)
                more[file.stem].append(Answered(file, one.outcome.inputs, given))
    if uses or any(len(some) > 1 for some in more.values()):
        first = with_rows(report, list(more.values()), uses)
    return replace(first, scope=scope)


def _elements(seconds: float) -> int:
    """The largest number of elements in a call of a target that takes so long for a million."""
    return next(elements for pace, elements in PACES if seconds <= pace)


def _again(target: PythonTarget, report: Report, most: int) -> tuple[tuple[Use, ...], Scope]:
    """Every case in calls of many sizes, twice."""
    ways = [
        Ways(target.operations[outcome.file.op], outcome)
        for row in report.rows
        for outcome in row.outcomes
    ]
    policies = {
        outcome.file.stem: (report.profile if row.profile else None)
        for row in report.rows
        for outcome in row.outcomes
    }
    right: dict[str, NDArray[np.uint64]] = {}

    def wanted(one: Ways) -> NDArray[np.uint64]:
        if one.file.stem not in right:
            right[one.file.stem] = one.outcome.wanted(report.policy, policies[one.file.stem])
        return right[one.file.stem]

    calls: dict[tuple[str, str], list[Call]] = {}
    for call in ask_ways(ways, most, threads=target.threads):
        calls.setdefault((call.file.op, call.file.format), []).append(call)
    uses: list[Use] = []
    for (op, format), some in calls.items():
        of = [one for one in ways if (one.file.op, one.file.format) == (op, format)]
        uses += judge_calls(of, some, wanted)
    sizes = [len(call.rows) for some in calls.values() for call in some]
    if not sizes:
        return (), Scope()
    return tuple(uses), Scope(calls=len(sizes), smallest=min(sizes), largest=max(sizes))


def _search(
    target: PythonTarget | ResultsTarget,
    report: Report,
    uses: Sequence[Use],
    most: int,
    extent: Extent,
) -> Iterator[Compared]:
    """A search in every operation and format whose answers a policy or profile gives so far."""
    unsteady = {(use.op, use.format) for use in uses}
    for row in report.rows:
        policy = _explaining(row, report, listing=extent.listing)
        if policy is None or (row.op, row.format) in unsteady:
            continue
        for outcome in row.outcomes:
            file = outcome.file
            if not file.cases or file.op not in QUESTIONS:
                continue
            if isinstance(target, ResultsTarget):  # it was asked before
                if file.stem not in target.drawn:
                    continue
                words = target.drawn[file.stem][0]
            else:
                count = min(QUESTIONS[file.op], max(most, 64) // elements_of(file, 1))
                words = drawn(file.op, file.format, file.float, count, extent.seed)
            profile = report.profile if row.profile else None
            known = report.known
            yield compare_computed(target, file, [words], policy, profile, known, name="search")


def _explaining(row: VerifyRow, report: Report, *, listing: bool) -> Policy | None:
    """The policy that gives the answers of a row; None if nothing known does."""
    start = (
        report.policy if row.profile is None or report.profile is None else report.profile.policy
    )
    left = [f for file, f in row.failures if f.case.id not in report.known]
    if not left or listing:
        return start
    cause = row.causes[0] if row.causes else None
    if cause is None or cause.kind != "policy" or not cause.complete:
        return None
    return Policy.parse(cause.policy)
