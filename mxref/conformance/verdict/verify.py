"""The verdict on a target: every case compared, every failure explained as far as it can be.

A file that a profile covers may be compared with the profile; others are compared with a policy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mxref.cases.answers import answerable, reads
from mxref.cases.records import VectorFile
from mxref.conformance.compare.clauses import is_legal, standing_of, violated
from mxref.conformance.compare.compare import Answered, Failure, asked
from mxref.conformance.verdict.cause.causes import find_causes
from mxref.conformance.verdict.cause.diagnose import answers_differ
from mxref.conformance.verdict.cause.findings import Finding, findings
from mxref.conformance.verdict.cause.profile_causes import profile_causes
from mxref.conformance.verdict.describe.description import describe_failures
from mxref.conformance.verdict.row import VerifyRow, kinds_covering, listed_as
from mxref.conformance.verdict.uses import USES, Scope, Use
from mxref.policy.choices import Standing
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.asked import is_asked
from mxref.targets.calls import Answers
from mxref.targets.profile_target import speaks_of
from mxref.targets.target import Target

__all__ = [
    "Report",
    "VerifyRow",
    "against_standard",
    "begun",
    "covered_files",
    "described",
    "verify",
    "with_rows",
]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `verify`."""

    target: Target
    policy: Policy
    rows: tuple[VerifyRow, ...]
    not_covered: tuple[str, ...]
    equals: str | None = None  #: the one policy that gives all answers, if it is another
    #: Reason by case id, by kind and by way of calling, from an xfail file.
    known: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()  #: causes, each once for all formats that share it
    profile: Profile | None = None  #: what was compared with, in what it speaks of
    uses: tuple[Use, ...] = ()  #: ways of calling that change answers
    scope: Scope = field(default_factory=Scope)  #: what was asked beside the vectors
    all_floats: bool = True  #: whether no float type was left out on purpose

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
        return [pair for pair in self.failures if listed_as(*pair, self.known) is None]

    @property
    def unexplained_uses(self) -> list[Use]:
        """Ways of calling that change answers and that the xfail file does not list."""
        return [use for use in self.uses if use.key not in self.known]

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
    def reasons(self) -> list[str]:
        """The reason of each known failure, from the xfail file."""
        keys = (listed_as(*pair, self.known) for pair in self.failures)
        return [self.known[key] for key in keys if key is not None]

    @property
    def stale(self) -> list[str]:
        """What the xfail file lists although it passes or was not compared.

        Kinds and ways of calling are not among them where they were not asked for.
        """
        failed = self.keys
        left = [key for key in self.known if key not in failed]
        return [key for key in left if " " not in key or self.tells(key)]

    @property
    def keys(self) -> set[str]:
        """Everything that an xfail file may list of this report: ids, kinds and ways of calling."""
        ids = {failure.case.id for _, failure in self.failures}
        kinds = {kind for pair in self.failures for kind in kinds_covering(*pair)}
        return ids | kinds | {use.key for use in self.uses}

    def tells(self, key: str) -> bool:
        """Whether a kind or a way of calling would have been seen if something failed under it."""
        op, format, why = key.split(" ", 2)
        if why in USES:
            return self.scope.calls > 0
        return self.all_floats and (op, format) in self.scope.searched_in

    @property
    def passed(self) -> bool:
        """Something was compared, nothing failed unexpectedly, and no known failure passed."""
        wrong = self.unexplained or self.unexplained_uses or self.stale
        return self.compared > 0 and not wrong

    @property
    def verdict(self) -> str:
        """The verdict on all failures, known ones included."""
        if self.compared == 0:
            return "nothing compared"
        if self.uses:
            unsteady = {(use.op, use.format) for use in self.uses}
            left = [row for row in self.rows if (row.op, row.format) not in unsteady]
            rest = replace(self, rows=tuple(left), uses=()) if left else None
            kinds = ", ".join(dict.fromkeys(USES[use.kind] for use in self.uses))
            if rest is not None and any(row.failures for row in left):
                return f"{kinds}; elsewhere {rest.verdict}"
            return kinds
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
    return Report(target, chosen, (), not_covered, known=known or {}, profile=profile), covered


def against_standard(report: Report) -> Report:
    """A report of the same answers compared with `ocp`, on the files to which `ocp` has answers."""
    files: dict[str, list[Answered]] = {}
    for one in (outcome for row in report.rows for outcome in row.outcomes):
        if answerable(one.file.op, one.file.format, one.file.float, Policy()):
            again = Answered(one.file, one.inputs, Answers(one.answers, one.errors))
            files.setdefault(one.file.stem, []).append(again)
    return with_rows(replace(report, policy=Policy(), profile=None), list(files.values()))


def with_rows(
    report: Report,
    files: Sequence[Sequence[Answered]],
    uses: Sequence[Use] = (),
    *,
    why: bool = True,
) -> Report:
    """A report with rows for these files, each compared with the profile or with the policy.

    Args:
        report: the report; rows of it that would come out the same are kept.
        files: for each vector file its answers, and those to other questions of its kind.
        uses: ways of calling that change answers; why these are wrong is not looked for.
        why: whether causes are looked for.
    """
    by_profile: list[VerifyRow] = []
    others: list[VerifyRow] = []
    profile = report.profile
    unsteady = {(use.op, use.format) for use in uses}
    unsteady |= {("quantize_tensor", format) for op, format in unsteady if op == "quantize"}
    made = {(row.op, row.format, row.profile, len(row.outcomes)): row for row in report.rows}
    by_stem = {some[0].file.stem: some for some in files}
    for (op, format), group in _grouped([some[0].file for some in files]):
        stems = [f.stem for f in group if profile and speaks_of(profile, op, format, f.float)]
        spoken = [by_stem[stem] for stem in stems]
        rest = [by_stem[file.stem] for file in group if file.stem not in stems]
        steady = why and (op, format) not in unsteady
        for some, policy, by, rows in (
            (spoken, profile.policy if profile else report.policy, profile, by_profile),
            (rest, report.policy, None, others),
        ):
            answers = [one for file in some for one in file]
            if not answers:
                continue
            row = made.get((op, format, by.name if by else None, len(answers)))
            if row is None:
                row = VerifyRow(op, format, tuple(one.judged(policy, by) for one in answers))
            rows.append(
                _with_causes(row, policy, rows) if steady else replace(row, causes=(), sought=False)
            )
    return replace(
        report,
        rows=(*by_profile, *others),
        equals=_one_policy(others, report.policy),
        findings=(*findings(by_profile), *findings(others)),
        profile=profile if by_profile else None,
        uses=tuple(uses),
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


def _with_causes(row: VerifyRow, policy: Policy, before: Sequence[VerifyRow]) -> VerifyRow:
    """A row with the causes of its failures, unless it has them."""
    if row.sought or not row.failures:
        return row
    known = (other.causes[0] for other in before if other.op == row.op and other.causes)
    hints = dict.fromkeys(cause for cause in known if cause.complete)
    causes = profile_causes(row.op, row.outcomes) if row.profile is not None else ()
    causes = causes or find_causes(row.op, row.outcomes, policy, tuple(hints))
    return replace(row, causes=causes, sought=True)


def described(report: Report) -> Report:
    """A report whose rows say where they fail, if no cause gives all answers.

    A row of a way of calling that changes answers says nothing.
    """
    unsteady = {(use.op, use.format) for use in report.uses}
    unsteady |= {("quantize_tensor", format) for op, format in unsteady if op == "quantize"}
    rows = []
    for row in report.rows:
        complete = any(cause.complete for cause in row.causes)
        # A policy that gives all answers may do so but for codes of NaN.
        if (row.op, row.format) not in unsteady and (row.profile is not None or not complete):
            by_profile = row.profile is not None and report.profile is not None
            policy = report.profile.policy if by_profile and report.profile else report.policy
            rows.append(replace(row, description=describe_failures(row.outcomes, policy)))
        else:
            rows.append(row)
    return replace(report, rows=tuple(rows))


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
