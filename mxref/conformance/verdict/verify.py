"""The verdict on a target: every case compared, every failure explained as far as it can be.

A file that a profile covers may be compared with the profile; others are compared with a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mxref.cases.answers import answerable, reads
from mxref.cases.records import VectorFile
from mxref.conformance.compare.clauses import is_legal, standing_of, violated
from mxref.conformance.compare.compare import Failure, Outcome, judged, run_file
from mxref.conformance.verdict.cause.causes import find_causes
from mxref.conformance.verdict.cause.diagnose import answers_differ
from mxref.conformance.verdict.cause.findings import Finding, findings
from mxref.conformance.verdict.cause.profile_causes import profile_causes
from mxref.conformance.verdict.describe.description import describe_failures
from mxref.conformance.verdict.row import VerifyRow
from mxref.policy.choices import Standing
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.asked import is_asked
from mxref.targets.calls import Answers
from mxref.targets.profile_target import speaks_of
from mxref.targets.target import Target

__all__ = ["Report", "VerifyRow", "against_standard", "covered_files", "verify"]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `verify`."""

    target: Target
    policy: Policy
    rows: tuple[VerifyRow, ...]
    not_covered: tuple[str, ...]
    equals: str | None = None  #: the one policy that gives all answers, if it is another
    known: Mapping[str, str] = field(default_factory=dict)  #: reason by id, from an xfail file
    findings: tuple[Finding, ...] = ()  #: causes, each once for all formats that share it
    profile: Profile | None = None  #: what was compared with, in what it speaks of

    @property
    def compared(self) -> int:
        """Number of cases compared."""
        return sum(row.compared for row in self.rows)

    @property
    def failures(self) -> list[tuple[VectorFile, Failure]]:
        """Every wrong answer, known or not."""
        return [failure for row in self.rows for failure in row.failures]

    @property
    def unexplained(self) -> list[tuple[VectorFile, Failure]]:
        """Failures that the xfail file does not list."""
        return [(file, f) for file, f in self.failures if f.case.id not in self.known]

    @property
    def groups(self) -> dict[tuple[str, ...], list[tuple[VectorFile, Failure]]]:
        """Unexplained failures by operation, format, clause and flags, or error; largest first."""
        groups: dict[tuple[str, ...], list[tuple[VectorFile, Failure]]] = {}
        for file, failure in self.unexplained:
            case = failure.case
            why = (failure.error,) if failure.got is None else (case.rule, " ".join(case.flags))
            groups.setdefault((file.op, file.format, *why), []).append((file, failure))
        return dict(sorted(groups.items(), key=lambda group: -len(group[1])))

    @property
    def asked(self) -> set[str]:
        """The ids of all cases compared."""
        return {case.id for row in self.rows for one in row.outcomes for case in one.file.cases}

    @property
    def stale(self) -> list[str]:
        """Cases that the xfail file lists although they pass or were not compared."""
        failed = {failure.case.id for _, failure in self.failures}
        return [id for id in self.known if id not in failed]

    @property
    def passed(self) -> bool:
        """Something was compared, nothing failed unexpectedly, and no known failure passed."""
        return self.compared > 0 and not self.unexplained and not self.stale

    @property
    def verdict(self) -> str:
        """The verdict on all failures, known ones included."""
        if self.compared == 0:
            return "nothing compared"
        if self.profile is not None:
            by = {row.profile for row in self.rows if row.failures}
            words = "differs from" if self.profile.name in by else "conforms to"
            elsewhere = f"; elsewhere {self._outside.verdict}" if None in by else ""
            return f"{words} profile {self.profile.name}{elsewhere}"
        failing = [row for row in self.rows if row.failures]
        if not failing:
            policies = {row.policy for row in self.rows}
            return "conforms" if policies == {"ocp"} else f"conforms under {self.policy}"
        if self.equals is not None and is_legal(self.equals):
            return f"conforms under {self.equals}"
        found = {violated(file, failure, self.policy) for file, failure in self.failures}
        clauses = sorted(clause for clause in found if clause)
        if clauses:
            return f"violates {', '.join(clauses)}"
        if self.equals is not None:  # what it contradicts is required of other formats only
            return f"conforms under {self.equals}"
        if any(failure.got is None for _, failure in self.failures):
            return "fails with errors"
        return "legal but unnamed"

    @property
    def outside(self) -> tuple[str, ...]:
        """The files not covered by the profile, in words; these were compared with the policy."""
        every = [outcome for row in self.rows for outcome in row.outcomes]
        outside = {outcome.file.stem for outcome in every if outcome.profile is None}
        files = [outcome.file for outcome in every]
        return () if self.profile is None else _in_words(files, outside)

    @property
    def _outside(self) -> Report:
        """The report of the files that the profile does not cover."""
        rows = tuple(row for row in self.rows if row.profile is None)
        return replace(self, rows=rows, profile=None)

    @property
    def besides(self) -> tuple[str, ...]:
        """Members of choices that the standard requires beside those of the policy conformed to.

        Required roundings and overflow methods (MX 5.3, 6.3), as ``choice=value``.
        """
        under = self.verdict.partition("conforms under ")[2]
        chosen, default = Policy.parse(under or "ocp").choices(), Policy().choices()
        return tuple(
            f"{name}={value}"
            for name, value in default.items()
            if chosen[name] != value
            and standing_of(name, value) is Standing.REQUIRED
            and standing_of(name, chosen[name]) is not Standing.CONTRADICTS
        )


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
    chosen = (profile or target).policy if policy is None else policy
    if profile is None and policy is None:
        profile = getattr(target, "profile", None)
    covered, not_covered = covered_files(target, files, chosen)
    report = Report(target, chosen, (), not_covered, known=known or {}, profile=profile)
    return _with_rows(report, covered, lambda file, *by: run_file(target, file, *by))


def against_standard(report: Report) -> Report:
    """A report of the same answers compared with `ocp`, on the files to which `ocp` has answers."""
    asked = {one.file.stem: one for row in report.rows for one in row.outcomes}
    files = [
        one.file
        for one in asked.values()
        if answerable(one.file.op, one.file.format, one.file.float, Policy())
    ]

    def again(file: VectorFile, policy: Policy, profile: Profile | None) -> Outcome:
        one = asked[file.stem]
        return judged(file, one.inputs, Answers(one.answers, one.errors), policy, profile)

    return _with_rows(replace(report, policy=Policy(), profile=None), files, again)


def _with_rows(
    report: Report,
    files: Sequence[VectorFile],
    outcome_of: Callable[[VectorFile, Policy, Profile | None], Outcome],
) -> Report:
    """A report with rows for these files, each compared with the profile or with the policy."""
    by_profile: list[VerifyRow] = []
    others: list[VerifyRow] = []
    profile = report.profile
    for (op, format), group in _grouped(files):
        spoken = [f for f in group if profile and speaks_of(profile, op, format, f.float)]
        stems = {file.stem for file in spoken}
        rest = [file for file in group if file.stem not in stems]
        if profile is not None and spoken:
            outcomes = tuple(outcome_of(file, profile.policy, profile) for file in spoken)
            by_profile.append(_row(op, format, outcomes, profile.policy, by_profile))
        if rest:
            outcomes = tuple(outcome_of(file, report.policy, None) for file in rest)
            others.append(_row(op, format, outcomes, report.policy, others))
    return replace(
        report,
        rows=(*by_profile, *others),
        equals=_one_policy(others, report.policy),
        findings=(*findings(by_profile), *findings(others)),
        profile=profile if by_profile else None,
    )


def covered_files(
    target: Target, files: Sequence[VectorFile], policy: Policy
) -> tuple[list[VectorFile], tuple[str, ...]]:
    """The files of operations and formats that a target has; and in words those that it lacks."""
    covered = [f for f in files if is_asked(target, f.op, f.format, f.float, policy)]
    missing = _in_words(files, {file.stem for file in files} - {file.stem for file in covered})
    lacks: Mapping[str, str] = getattr(target, "lacks", {})
    asked = {file.float for file in files}
    return covered, (*missing, *(f"{name}: {why}" for name, why in lacks.items() if name in asked))


def _in_words(files: Sequence[VectorFile], some: Collection[str]) -> tuple[str, ...]:
    """The files with these stems in words: operations, then formats and float types if not all."""
    named: dict[str, list[str]] = {}
    for (op, format), group in _grouped(files):
        floats = [file.float for file in group if file.stem in some]
        if floats:
            only = f" ({', '.join(floats)})" if len(floats) < len(group) else ""
            named.setdefault(op, []).append(format + only)
    others = {file.op for file in files if file.stem not in some}
    return tuple(f"{op} {', '.join(names)}" if op in others else op for op, names in named.items())


def _row(
    op: str, format: str, outcomes: tuple[Outcome, ...], policy: Policy, before: Sequence[VerifyRow]
) -> VerifyRow:
    if not any(outcome.failures for outcome in outcomes):
        return VerifyRow(op, format, outcomes)
    known = (row.causes[0] for row in before if row.op == op and row.causes)
    hints = dict.fromkeys(cause for cause in known if cause.complete)
    by_profile = outcomes[0].profile is not None
    causes = profile_causes(op, outcomes) if by_profile else ()
    causes = causes or find_causes(op, outcomes, policy, tuple(hints))
    complete = any(cause.complete for cause in causes)
    # A policy that gives all answers may do so but for codes of NaN.
    described = by_profile or not complete
    description = describe_failures(outcomes, policy) if described else None
    return VerifyRow(op, format, outcomes, causes, description)


def _one_policy(rows: Sequence[VerifyRow], start: Policy) -> str | None:
    """The policy that gives the answers of every row, from causes of the failing rows."""
    changed: dict[str, str] = {}
    begin = start.choices()
    for row in rows:
        if row.failures:
            if not row.causes or row.causes[0].kind != "policy" or not row.causes[0].complete:
                return None
            found = Policy.parse(row.causes[0].policy).choices()
            changed |= {name: found[name] for name in reads(row.op) if found[name] != begin[name]}
    if not changed:
        return None
    policy = start.replace(**changed)
    same = all(answers_differ(row.outcomes, policy) == 0 for row in rows)
    return str(policy) if same else None


def _grouped(
    files: Sequence[VectorFile],
) -> Iterable[tuple[tuple[str, str], list[VectorFile]]]:
    groups: dict[tuple[str, str], list[VectorFile]] = {}
    for file in files:
        groups.setdefault((file.op, file.format), []).append(file)
    return groups.items()
