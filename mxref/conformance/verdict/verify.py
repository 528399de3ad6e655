"""Putting vectors to a target: every case compared, every failure explained as far as it can be.

A file that a profile covers may be compared with the profile; others are compared with a policy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mxref.cases.answers import answerable, reads
from mxref.cases.own_formats import notes_on_references
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import (
    Answered,
    Outcome,
    asked,
    fast_right_answers,
    judged,
)
from mxref.conformance.verdict.call_dependence import CallDependence, Scope, unsteady_rows
from mxref.conformance.verdict.findings import findings
from mxref.conformance.verdict.report import Report, grouped, in_words
from mxref.conformance.verdict.row import VerifyRow
from mxref.conformance.verdict.row_causes import (
    by_claim,
    with_causes,
    with_mixing_cause,
    without_causes,
)
from mxref.conformance.verdict.scope_notes import what_is_not_asked
from mxref.operations.registry import PRODUCT_OPERATIONS, WEIGHT_ONLY_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.asked_files import is_asked
from mxref.targets.calls import Answers
from mxref.targets.target import Target

if TYPE_CHECKING:
    from mxref.conformance.verdict.describe.description import Description
    from mxref.conformance.verdict.describe.product_description import ProductDescription
    from mxref.profiles import Profile

__all__ = [
    "against_standard",
    "begun",
    "covered_files",
    "described",
    "verify",
    "with_rows",
]


def verify(
    target: Target,
    files: Sequence[VectorFile],
    policy: Policy | None = None,
    known: Mapping[str, str] | None = None,
    profile: Profile | None = None,
) -> Report:
    """Put vector files to a target and compare its answers bit by bit.

    Args:
        target: the implementation.
        files: what to ask; see `mxref.golden.read_vectors`.
        policy: what to compare with; if None that of the profile, or what the target claims.
        known: reasons of known divergences by case id.
        profile: what to compare with where it says what the answers are; if it is None and the
            policy as well, the profile that the target claims, if it claims one.
    """
    report, covered = begun(target, files, policy, known, profile)
    return described(with_rows(report, [(asked(target, file),) for file in covered]))


def begun(
    target: Target,
    files: Sequence[VectorFile],
    policy: Policy | None = None,
    known: Mapping[str, str] | None = None,
    profile: Profile | None = None,
) -> tuple[Report, list[VectorFile]]:
    """A report without rows, and the files to ask for: see `verify`."""
    chosen = (profile or target).policy if policy is None else policy
    if profile is None and policy is None:
        profile = getattr(target, "profile", None)
    covered, not_covered = covered_files(target, files, chosen)
    alone = notes_on_references(file.format for file in covered)
    notes = (*alone, *what_is_not_asked(target, files, covered, chosen, profile))
    scope = Scope(notes=(*notes, *getattr(target, "notes", ())))
    asked = {file.stem for file in covered}
    has = {f.stem for f in files if target.covers(f.op, f.format, f.float)}
    report = Report(
        target,
        chosen,
        (),
        not_covered,
        known=known or {},
        profile=profile,
        scope=scope,
        unanswerable=in_words(files, has - asked),
    )
    return report, covered


def against_standard(report: Report) -> Report:
    """A report of the same answers compared with `ocp`, on the files to which `ocp` has answers."""
    files: dict[str, list[Answered]] = {}
    for one in (outcome for row in report.rows for outcome in row.every):
        if answerable(one.file.op, one.file.format, one.file.float, Policy()):
            again = Answered(one.file, one.inputs, Answers(one.answers, one.errors))
            files.setdefault(one.file.stem, []).append(again)
    fresh = replace(report, policy=Policy(), profile=None, rows=())
    compared = with_rows(fresh, list(files.values()), why=False)
    if report.profile is not None:  # what is claimed is tried first
        rows = tuple(by_claim(row, report.profile) for row in compared.rows)
        compared = replace(compared, rows=rows)
    return with_rows(compared, list(files.values()))


def with_rows(
    report: Report,
    files: Sequence[Sequence[Answered]],
    uses: Sequence[CallDependence] = (),
    *,
    why: bool = True,
    whole: Collection[tuple[str, str]] = (),
) -> Report:
    """A report with rows for these files, each compared with the profile or with the policy.

    Args:
        report: the report; rows of it that would come out the same are kept.
        files: for each vector file its answers, and those to other questions of its kind.
        uses: ways of calling that change answers; why these are wrong is not looked for.
        why: whether causes are looked for.
        whole: operations and formats whose answers no stages give, as other questions show.
    """
    by_profile: list[VerifyRow] = []
    others: list[VerifyRow] = []
    profile = report.profile
    unsteady = unsteady_rows(uses)
    made = {(row.op, row.format, row.profile, len(row.outcomes)): row for row in report.rows}
    causes = {(row.op, row.format): row.causes for row in report.rows}
    by_stem = {some[0].file.stem: some for some in files}
    for (op, format), group in grouped([some[0].file for some in files]):
        stems: list[str] = []
        if profile:
            from mxref.targets.profile_target import speaks_of

            stems = [f.stem for f in group if speaks_of(profile, op, format, f.float)]
        spoken = [by_stem[stem] for stem in stems]
        rest = [by_stem[file.stem] for file in group if file.stem not in stems]
        depends = why and (op, format) in unsteady
        for some, policy, by, rows in (
            (spoken, profile.policy if profile else report.policy, profile, by_profile),
            (rest, report.policy, None, others),
        ):
            answers = [one for file in some for one in file]
            if not answers:
                continue
            row = made.get((op, format, by.name if by else None, len(answers)))
            if row is None:
                row = _row(op, format, answers, policy, by)
            if depends:
                rows.append(with_mixing_cause(row, policy, uses))
            elif not why:
                rows.append(without_causes(row))
            else:
                like, apart = causes.get((op, format), ()), (op, format) not in whole
                rows.append(with_causes(row, policy, rows, like, apart=apart))
    return replace(
        report,
        rows=(*by_profile, *others),
        equals=_one_policy(others, report.policy),
        findings=(*findings(by_profile), *findings(others)),
        profile=profile if by_profile else None,
        uses=tuple(uses),
    )


def _row(
    op: str, format: str, answers: Sequence[Answered], policy: Policy, by: Profile | None
) -> VerifyRow:
    """A row of some answers compared; cases that recorded answers lack are kept apart."""
    parts = [one.parted() for one in answers]
    lacked = tuple(lacks.judged(policy, by) for _, lacks in parts if lacks is not None)
    return VerifyRow(
        op, format, tuple(one.judged(policy, by) for one, _ in parts), unanswered=lacked
    )


def covered_files(
    target: Target, files: Sequence[VectorFile], policy: Policy
) -> tuple[list[VectorFile], tuple[str, ...]]:
    """The files of operations and formats that a target has; and in words those that it lacks."""
    covered = [f for f in files if is_asked(target, f.op, f.format, f.float, policy)]
    missing = in_words(files, {file.stem for file in files} - {file.stem for file in covered})
    lacks: Mapping[str, str] = getattr(target, "lacks", {})
    asked = {file.float for file in files}
    return covered, (*missing, *(f"{name}: {why}" for name, why in lacks.items() if name in asked))


def described(report: Report) -> Report:
    """A report whose rows say where they fail, if no cause gives all answers.

    Where a policy or profile gives most answers, it is what is left beside that one. A row of a way
    of calling that changes answers says nothing, unless it is known how blocks are mixed.
    """
    unsteady = unsteady_rows(report.uses)
    rows = tuple(
        row if (row.op, row.format) in unsteady and not row.causes else _described(row, report)
        for row in report.rows
    )
    told = replace(report, rows=rows)
    if all(row.causes == was.causes for row, was in zip(rows, report.rows, strict=True)):
        return told
    parts = ([row for row in rows if bool(row.profile) is by] for by in (True, False))
    return replace(told, findings=tuple(one for some in parts for one in findings(some)))


def _described(row: VerifyRow, report: Report) -> VerifyRow:
    """A row that says where it fails, if that is not said by its cause.

    What is left beside the nearest policy or profile is said instead where that is simpler.
    """
    complete = any(cause.complete for cause in row.causes)
    if row.op in WEIGHT_ONLY_OPERATIONS:
        from mxref.conformance.verdict.describe.product_description import describe_weight_only

        order = None if row.failures and complete else describe_weight_only(row.outcomes)
        return replace(row, description=order)
    if row.op in PRODUCT_OPERATIONS:
        return replace(row, description=_described_products(row))
    from mxref.conformance.verdict.describe.description import describe_failures

    if row.operation.own_choices:
        where = None if complete else describe_failures(row.outcomes, report.policy)
        return replace(row, description=where)
    # A policy that gives all answers may do so but for codes of NaN.
    if row.profile is None and complete:
        return row
    by_profile = row.profile is not None and report.profile is not None
    policy = report.profile.policy if by_profile and report.profile else report.policy
    if complete or not row.causes:
        return replace(row, description=describe_failures(row.outcomes, policy))
    nearest = row.causes[0]
    if nearest.kind == "stages":
        from mxref.conformance.verdict.stages.stage_cause import with_rest

        cause = with_rest(row.outcomes, nearest)
        if cause is not None:
            return replace(row, causes=(cause, *row.causes[1:]))
        if row.profile is not None:
            return replace(row, causes=(), description=describe_failures(row.outcomes, policy))
        others = nearest.otherwise
        if others is None:
            from mxref.conformance.verdict.causes import find_causes

            others = find_causes(row.op, row.outcomes, policy, apart=False)
        return _described(replace(row, causes=others), report)
    whole = describe_failures(row.outcomes, policy)
    from mxref.profiles import PROFILES

    policy, profile = Policy.parse(nearest.policy), PROFILES.get(nearest.name)
    shift = nearest.answer if nearest.kind == "shift" else None
    beside = tuple(_beside(outcome, policy, profile, shift) for outcome in row.outcomes)
    rest = describe_failures(beside, policy)
    if shift is None and _length(whole) <= _length(rest):
        return replace(row, description=whole)
    return replace(row, beside=beside, description=rest)


def _described_products(row: VerifyRow) -> ProductDescription | None:
    """How the answers of a target to products are added; nothing where its causes say more."""
    from mxref.conformance.verdict.describe.product_description import describe_products

    if not row.failures:
        return describe_products(row.outcomes)
    if row.causes:
        return None
    from mxref.conformance.verdict.stages.product_stages import narrow_sum

    return describe_products(row.outcomes, narrow_sum(row.outcomes))


def _length(description: Description | None) -> tuple[int, int]:
    return description.length if description else (0, 0)


def _beside(outcome: Outcome, policy: Policy, profile: Profile | None, shift: Any) -> Outcome:
    """The same answers compared with what is nearest to them, by the fast path."""
    if shift is not None:
        from mxref.conformance.verdict.cause.evidence import Questions

        own = Answers(shift(Questions(outcome.file, outcome.inputs), policy))
    else:
        own = fast_right_answers(outcome.file, outcome.inputs, policy, profile)
    answers = Answers(outcome.answers, outcome.errors)
    return judged(outcome.file, outcome.inputs, answers, policy, profile, own=own)


def _one_policy(rows: Sequence[VerifyRow], start: Policy) -> str | None:
    """The policy that gives the answers of every row, from causes of the failing rows."""
    rows = [row for row in rows if not row.operation.own_choices]
    changed: dict[str, str] = {}
    begin = start.choices()
    for row in rows:
        if row.wrong:
            if not row.causes or row.causes[0].kind != "policy" or not row.causes[0].complete:
                return None
            found = Policy.parse(row.causes[0].policy).choices()
            read = reads(row.op, row.format)
            changed |= {name: found[name] for name in read if found[name] != begin[name]}
    if not changed:
        return None
    from mxref.conformance.verdict.cause.diagnose import answers_differ

    policy = start.replace(**changed)
    same = all(answers_differ(row.outcomes, policy) == 0 for row in rows)
    return str(policy) if same else None
