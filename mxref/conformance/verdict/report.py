"""The report on a target: its rows, what no xfail file lists, and the verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mxref.cases.records import VectorFile
from mxref.conformance.compare.clauses import lacking
from mxref.conformance.compare.compare import Failure
from mxref.conformance.verdict.call_dependence import (
    DEPENDENCES,
    CallDependence,
    Scope,
    unsteady_rows,
    uses_text,
)
from mxref.conformance.verdict.failure_kinds import kinds_covering, listed_as
from mxref.conformance.verdict.findings import Finding
from mxref.conformance.verdict.judgement import causes_of, judge_rows
from mxref.conformance.verdict.row import VerifyRow
from mxref.policy.policy import Policy
from mxref.targets.target import Target

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["Report", "grouped", "in_words"]


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
    uses: tuple[CallDependence, ...] = ()  #: ways of calling that change answers
    scope: Scope = field(default_factory=Scope)  #: what was asked beside the vectors
    all_floats: bool = True  #: whether no float type was left out on purpose
    unanswerable: tuple[str, ...] = ()  #: what the target has that the policy has no answer to

    @property
    def compared(self) -> int:
        """Number of cases compared."""
        return sum(row.compared for row in self.rows)

    @property
    def judged(self) -> int:
        """Number of these that the target or what it is compared with has an answer to."""
        return sum(row.judged for row in self.rows)

    @property
    def failures(self) -> list[tuple[VectorFile, Failure]]:
        """Every wrong answer, known or not."""
        return [failure for row in self.rows for failure in row.failures]

    @property
    def unlisted(self) -> list[tuple[VectorFile, Failure]]:
        """Failures that the xfail file does not list."""
        return [pair for pair in self.failures if listed_as(*pair, self.known) is None]

    @property
    def unlisted_uses(self) -> list[CallDependence]:
        """Ways of calling that change answers and that the xfail file does not list."""
        return [use for use in self.uses if use.key not in self.known]

    def marked(self, row: VerifyRow) -> tuple[str, int, int]:
        """A row's mark (`FAIL`, `known`, `ok`, `-` if no answer was judged), failures, known ones.

        Args:
            row: one of the report's rows.
        """
        known = sum(listed_as(*pair, self.known) is not None for pair in row.failures)
        wrong = len(row.failures) - known
        ok = "ok" if row.judged else "-"
        return "FAIL" if wrong else "known" if known else ok, wrong, known

    @property
    def groups(self) -> dict[tuple[str, ...], list[tuple[VectorFile, Failure]]]:
        """Unlisted failures by operation, format, clause and flags, or error; largest first."""
        groups: dict[tuple[str, ...], list[tuple[VectorFile, Failure]]] = {}
        for file, failure in self.unlisted:
            case = failure.case
            why = (failure.error,) if failure.got is None else (case.rule, " ".join(case.flags))
            groups.setdefault((file.op, file.format, *why), []).append((file, failure))
        return dict(sorted(groups.items(), key=lambda group: -len(group[1])))

    @property
    def asked(self) -> set[str]:
        """The ids of all cases compared."""
        return {case.id for row in self.rows for one in row.every for case in one.file.cases}

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
        failed = self.under(self.known)
        left = [key for key in self.known if key not in failed]
        return [key for key in left if " " not in key or self.tells(key)]

    def under(self, keys: Collection[str]) -> set[str]:
        """Those of some ids, kinds and ways of calling under which something failed."""
        ids = {failure.case.id for _, failure in self.failures}
        kinds = [key for key in keys if " " in key]
        found = {kind for pair in self.failures for kind in kinds_covering(*pair, kinds)}
        return found | {key for key in keys if key in ids or key in {u.key for u in self.uses}}

    def tells(self, key: str) -> bool:
        """Whether a kind or a way of calling would have been seen if something failed under it."""
        op, format, why = key.split(" ", 2)
        if why in DEPENDENCES:
            return self.scope.calls > 0
        return self.all_floats and (op, format) in self.scope.searched_in

    @property
    def passed(self) -> bool:
        """Something was judged, nothing failed unexpectedly, and no known failure passed."""
        wrong = self.unlisted or self.unlisted_uses or self.stale
        return self.judged > 0 and not wrong

    @property
    def verdict(self) -> str:
        """The verdict on all failures, known ones included."""
        if self.judged == 0:
            return "nothing compared"
        if missing := sum(row.missing for row in self.rows):
            answered = replace(self, rows=tuple(replace(row, unanswered=()) for row in self.rows))
            lacks = f"no answer to {missing} of {self.compared} cases"
            return f"{lacks}; on the other {self.compared - missing}: {answered.verdict}"
        if self.uses:
            unsteady = unsteady_rows(self.uses)
            left = [row for row in self.rows if (row.op, row.format) not in unsteady]
            rest = replace(self, rows=tuple(left), uses=()) if left else None
            mixing = [row for row in self.rows if (row.op, row.format) in unsteady and row.causes]
            kinds = "; ".join([uses_text(self.uses), *causes_of(mixing)])
            if rest is not None and any(row.failures for row in left):
                if not unsteady:
                    return f"{rest.verdict}; {kinds}"
                return f"{kinds}; elsewhere {rest.verdict}"
            return kinds
        if self.profile is not None:
            by = [row for row in self.rows if row.profile is not None and row.failures]
            words = "differs from" if by else "conforms to"
            causes = "".join(f"; {cause}" for cause in causes_of(by))
            outside = any(row.failures for row in self.rows if row.profile is None)
            elsewhere = f"; elsewhere {self._outside.verdict}" if outside else ""
            return f"{words} profile {self.profile.name}{causes}{elsewhere}"
        return judge_rows(self.rows, self.policy, self.equals)

    @property
    def outside(self) -> tuple[str, ...]:
        """The files not covered by the profile, in words; these were compared with the policy."""
        every = [outcome for row in self.rows for outcome in row.every]
        outside = {outcome.file.stem for outcome in every if outcome.profile is None}
        files = [outcome.file for outcome in every]
        return () if self.profile is None else in_words(files, outside)

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
        if not self.verdict.startswith(("conforms under ", "gives ", "lacks ")):
            return ()
        lacks: dict[str, tuple[str, str]] = {}
        for row in self.rows:
            if not row.wrong:
                lacks |= lacking(row.policy, [(row.op, row.format)])
            elif row.causes and row.causes[0].complete:
                lacks |= lacking(row.causes[0].policy, [(row.op, row.format)])
        return tuple(f"{name}={wanted}" for name, (wanted, _) in lacks.items())


def in_words(files: Sequence[VectorFile], some: Collection[str]) -> tuple[str, ...]:
    """The files with these stems in words: operations, then formats and float types if not all."""
    named: dict[str, list[str]] = {}
    for (op, format), group in grouped(files):
        floats = [file.float for file in group if file.stem in some]
        if floats:
            only = f" ({', '.join(floats)})" if len(floats) < len(group) else ""
            named.setdefault(op, []).append(format + only)
    others = {file.op for file in files if file.stem not in some}
    return tuple(f"{op} {', '.join(names)}" if op in others else op for op, names in named.items())


def grouped(
    files: Sequence[VectorFile],
) -> Iterable[tuple[tuple[str, str], list[VectorFile]]]:
    """Vector files by their operation and format."""
    groups: dict[tuple[str, str], list[VectorFile]] = {}
    for file in files:
        groups.setdefault((file.op, file.format), []).append(file)
    return groups.items()
