"""The whole check of a target: vectors, the same cases again in other calls, families, a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mxref.cases.drawn import drawn
from mxref.cases.records import VectorFile
from mxref.conformance.checking.asked_rows import (
    explaining,
    layer_files,
    product_files,
    subjects,
    unsearched,
)
from mxref.conformance.checking.batches import (
    ask_nothing,
    ask_ways,
    elements_of,
    first_calls,
    refusals,
)
from mxref.conformance.checking.computed import Compared, compare_computed
from mxref.conformance.checking.float_state import float_state
from mxref.conformance.checking.kept_calls import changed_arguments
from mxref.conformance.checking.layer_shapes import ask_layer_shapes
from mxref.conformance.checking.level_two import ask_families
from mxref.conformance.checking.many_sizes import ask_sizes
from mxref.conformance.checking.paces import PACES, timed
from mxref.conformance.checking.product_outputs import ask_outputs
from mxref.conformance.checking.product_shapes import ask_shapes
from mxref.conformance.checking.replies import Subject
from mxref.conformance.checking.steadiness import changed_answers, judge_calls
from mxref.conformance.checking.unfiled import ask_unfiled, unfiled_tensors
from mxref.conformance.checking.ways import Call, Ways
from mxref.conformance.compare.compare import Answered
from mxref.conformance.compare.integer_policies import decided
from mxref.conformance.verdict.product_verdict import accumulation_notes
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.uses import Scope, Use, unsteady_rows
from mxref.conformance.verdict.verify import begun, described, with_rows
from mxref.golden.level2 import default_families, families
from mxref.operations.operation import AnyPolicy
from mxref.operations.registry import CALL_OPERATIONS, DOT_OPERATIONS, REGISTRY
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import Answers
from mxref.targets.results import ResultsTarget
from mxref.targets.target import PythonTarget, Target

__all__ = ["Extent", "check"]

#: Questions that decide between policies of integers.
_DECIDING = 48


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is asked beside the vectors.

    Args:
        elements: the largest number of elements in a call; by the target's speed if None, nothing
            is asked again if 0.
        search: whether there is a search.
        seed: the seed of its questions.
        level: 2 to ask every exhaustive family.
        unfiled: whether formats and float types that no vector file has are asked, too.
        listing: whether all failures are going to be listed as known, so that the search compares
            with the policy itself also where the vectors fail.
    """

    elements: int | None = None
    search: bool = True
    seed: int = 0
    level: int = 1
    unfiled: bool = False
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
    state = float_state()
    if isinstance(target, PythonTarget) and extent.elements != 0:
        first_calls([(target.operations[file.op], file) for file in covered])
    answered, pace = timed(target, covered)
    if extent.search or extent.elements != 0:
        answered = [_decided(target, one, extent.seed) for one in answered]
    files_of = {one.file.stem: [one] for one in answered}
    first = with_rows(report, list(files_of.values()), why=False)
    if not answered or not isinstance(target, PythonTarget | ResultsTarget):
        return described(with_rows(first, list(files_of.values())))
    # Without other calls the search still keeps to what the speed of the target allows.
    most = extent.elements or next(limit for slowest, limit in PACES if pace <= slowest)
    others = isinstance(target, PythonTarget) and extent.elements != 0
    scope = Scope()
    uses: list[Use] = []
    if isinstance(target, ResultsTarget):
        uses += changed_answers(target, [one.file for one in answered])
        scope = Scope(notes=(target.note,) if target.note else ())
    elif others:
        uses, scope = _again(target, first, most)
        if not extent.elements and most < PACES[0][1]:
            slow = f"slow: a million elements take {pace:.0f} s, so that a call has at most"
            scope = replace(scope, notes=(f"{slow} {most:,} (--sizes N)", *scope.notes))
    first = with_rows(first, list(files_of.values()), uses)
    if isinstance(target, PythonTarget) and others:
        beside = unfiled_tensors(target, first) if extent.unfiled else ()
        sized, scope = _sized(target, [*subjects(first), *beside], most, scope)
        some = [one.file for one in answered if len(one.answers.errors) < len(one.file.cases)]
        products = product_files(first)
        shapes, asked_for = ask_shapes(target.operations.get("matmul", len), products, most)
        layers, layers_asked = ask_layer_shapes(target.operations, layer_files(first), most)
        uses += [*sized, *shapes, *layers]
        if extent.unfiled:
            found_beside, refused = ask_unfiled(target, first, most)
            uses += found_beside
            scope = replace(scope, notes=(*scope.notes, *refused))
        uses += list(changed_arguments(target, first, uses, state))
        empty, notes = ask_nothing(target, some)
        uses += empty
        scope = replace(scope, notes=(*scope.notes, *notes, *asked_for, *layers_asked))
    scope = replace(scope, seed=extent.seed, level=extent.level, elements=most)
    asked_by = list(_asked_by(first, uses, listing=extent.listing))
    found: list[Compared] = []
    if isinstance(target, PythonTarget):
        found += _families(target, asked_by, most, extent)
        cases = sum(one.cases for one in found)
        scope = replace(scope, families=len(found), family_cases=cases)
        every, scope = _outputs(target, first, scope)
        found += every
    if extent.search:
        searched = list(_search(target, asked_by, most, extent, first.known))
        in_part = {
            (one.op, one.format) for one in searched if one.cases < REGISTRY[one.op].questions
        }
        where = dict.fromkeys((one.op, one.format) for one in searched)
        whole = tuple(pair for pair in where if pair not in in_part)
        cases = sum(one.cases for one in searched)
        where_asked = {(file.op, file.format) for files, _, _ in asked_by for file in files}
        left_out = unsearched(first, uses, where_asked)
        scope = replace(scope, searched=cases, searched_in=whole, unsearched=left_out)
        found += searched
    for one in found:
        if one.outcome is not None:
            file = one.outcome.file
            given = Answers(one.outcome.answers, one.outcome.errors)
            choices = one.outcome.policy if file.op in CALL_OPERATIONS else None
            files_of[file.stem].append(Answered(file, one.outcome.inputs, given, choices))
    told = described(with_rows(first, list(files_of.values()), uses))
    notes = (*report.scope.notes, *scope.notes, *accumulation_notes(told.rows))
    return replace(told, scope=replace(scope, notes=notes))


def _decided(target: Target, one: Answered, seed: int) -> Answered:
    """Answers about integers with the target's policy, where that is not the one nearest to them.

    Other questions decide between policies that give the same answers to a file.
    """
    file = one.file
    if file.op not in CALL_OPERATIONS or not file.cases:
        return one
    if isinstance(target, ResultsTarget):
        words = target.drawn.get(file.stem, (file.input_words()[:0],))[0]
    else:
        words = drawn(file.op, file.format, file.float, _DECIDING, seed)
    policy = one.judged(Policy()).policy
    chosen = decided(target, file, one.inputs, policy, words)
    return one if chosen == policy else replace(one, choices=chosen)


def _sized(
    target: PythonTarget, asked: Sequence[Subject], most: int, scope: Scope
) -> tuple[list[Use], Scope]:
    """Layouts and integers in many sizes; of a slow target in smaller ones, as there are many."""
    fewer = most if most >= PACES[0][1] else most // 4
    uses, asked_for = ask_sizes(target, asked, fewer)
    return uses, replace(
        scope,
        calls=scope.calls + asked_for.calls,
        smallest=scope.smallest or min(asked_for.calls, 1),
        largest=scope.largest or asked_for.largest,
        notes=(*scope.notes, *asked_for.notes),
    )


def _again(target: PythonTarget, report: Report, most: int) -> tuple[list[Use], Scope]:
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
    every = [call for some in calls.values() for call in some]
    sizes = [len(call.rows) for call in every]
    if not sizes:
        return [], Scope()
    notes = tuple(refusals(every))
    return uses, Scope(calls=len(sizes), smallest=min(sizes), largest=max(sizes), notes=notes)


#: Vector files, with what gives the target's answers to them.
_AskedBy = tuple[list[VectorFile], AnyPolicy, Profile | None]


def _asked_by(report: Report, uses: Sequence[Use], *, listing: bool) -> Iterator[_AskedBy]:
    """The files of every row whose answers a policy or profile gives so far."""
    unsteady = unsteady_rows(uses)
    for row in report.rows:
        policy = explaining(row, report, listing=listing)
        if policy is not None and (row.op, row.format) not in unsteady:
            files = [outcome.file for outcome in row.outcomes if outcome.file.cases]
            yield files, policy, report.profile if row.profile else None


def _families(
    target: PythonTarget, asked_by: Sequence[_AskedBy], most: int, extent: Extent
) -> Iterator[Compared]:
    """Exhaustive families: all at level 2, else those that are small, of a target that is fast."""
    chosen = default_families() if extent.elements != 0 and most >= PACES[0][1] else []
    if extent.level == 2:
        chosen = families()
    for files, policy, profile in asked_by:
        yield from ask_families(target, chosen, policy, profile, files)


def _search(
    target: PythonTarget | ResultsTarget,
    asked_by: Sequence[_AskedBy],
    most: int,
    extent: Extent,
    known: Mapping[str, str],
) -> Iterator[Compared]:
    """A search for wrong answers."""
    for file, policy, profile in (
        (file, policy, profile) for files, policy, profile in asked_by for file in files
    ):
        if not REGISTRY[file.op].questions:
            continue
        if isinstance(target, PythonTarget):
            count = min(REGISTRY[file.op].questions, max(most, 64) // elements_of(file, 1))
            words = drawn(file.op, file.format, file.float, count, extent.seed)
        elif file.stem in target.drawn:  # it was asked before
            words = target.drawn[file.stem][0]
        else:
            continue
        yield compare_computed(target, file, [words], policy, profile, known, name="search")


def _outputs(target: PythonTarget, report: Report, scope: Scope) -> tuple[list[Compared], Scope]:
    """Every output of products; those of the cases are compared before."""
    found = [
        ask_outputs(target, outcome, report.policy)
        for row in report.rows
        if row.op in DOT_OPERATIONS
        for outcome in row.outcomes
    ]
    count = sum(one.cases for one in found)
    note = (f"products: {count:,} outputs, of every row with every row",) if count else ()
    return found, replace(scope, notes=(*scope.notes, *note))
