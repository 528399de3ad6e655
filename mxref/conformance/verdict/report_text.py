"""A report in words: each cause with what it explains, then the evidence; last the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from mxref.cases.records import VectorFile
from mxref.cases.words import known_rules
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.failure_text import describe
from mxref.conformance.verdict.failure_kinds import listed_as
from mxref.conformance.verdict.findings import Finding, summed
from mxref.conformance.verdict.one_sentence import one_sentence, verdict_text
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.row import VerifyRow
from mxref.conformance.verdict.verify import against_standard
from mxref.support.text import a_few

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["advice", "compared_with_standard", "report_lines"]

Pairs = Sequence[tuple[VectorFile, Failure]]
#: Operations with a format.
Places = list[tuple[str, str]]

#: What kinds of causes are called, where they give all answers.
_HEADS = {
    "stages": "BUG",
    "mutant": "BUG",
    "order": "BUG",
    "shift": "BUG",
    "policy": "POLICY",
    "profile": "PROFILE",
}


def report_lines(report: Report, show: int) -> Iterator[str]:
    """The lines of a report below its table and what is not covered.

    Args:
        report: the report.
        show: number of kinds of failure to show.
    """
    _, left = one_sentence(report)
    if left.rows or not report.rows:
        yield from _details(report, left, show)
    summary = [f"{report.compared} cases", f"{len(report.unlisted)} failed"]
    if report.known:
        summary.append(f"{len(report.failures) - len(report.unlisted)} known to fail")
    if report.stale:
        summary.append(f"{len(report.stale)} wrongly listed as known")
    word = "PASS" if report.passed else "FAIL"
    counts = ", ".join(summary)
    yield f"{word} {report.target.name}: {counts}: {verdict_text(report)}{advice(report)}"


def advice(report: Report) -> str:
    """How a target passes that conforms under another policy, as the end of its verdict."""
    would = report.verdict.startswith(("conforms under ", "lacks "))
    if not would or report.passed or not report.equals or "contradicts" in report.verdict:
        return ""
    return f'; it passes with POLICY = "{report.equals}" beside it, or with --policy'


def _details(report: Report, left: Report, show: int) -> Iterator[str]:
    """What is between the first sentence and the verdict; causes of the rows that are left."""
    if report.profile is not None and report.outside:
        silent = f"profile {report.profile.name} says nothing of {'; '.join(report.outside)}"
        yield f"{silent}: compared with {report.policy}"
    for reason, count in Counter(report.reasons).items():
        yield f"known: {count} x {reason}"
    yield from _Causes(left, show).lines()
    asked = report.asked
    for id in report.stale[:show]:
        what = "passes" if id in asked else "was not compared"
        what = "nothing fails under it" if " " in id else what
        yield f"{id}: is listed as a known divergence but {what}"
    if report.scope.text:
        yield f"asked: {report.scope.text}"
    elif any(cause.complete for row in left.rows for cause in row.causes):
        yield f"asked: {report.judged} answers to the vectors; no other asked"
    yield from (f"note: {note}" for note in report.scope.notes)
    if report.profile is not None and report.verdict.startswith("conforms"):
        yield from _limit(report.profile)
    standard = compared_with_standard(report)
    if standard is not None:
        yield f"against the standard: {verdict_text(standard)}"


def compared_with_standard(report: Report) -> Report | None:
    """The report against the standard, if the target conforms to a profile that differs from it."""
    if report.profile is None or not report.verdict.startswith("conforms"):
        return None
    standard = against_standard(report)
    return None if standard.verdict == "conforms" else standard


def _limit(profile: Profile) -> Iterator[str]:
    """That the vectors miss steps of a profile whose arithmetic is not the standard's."""
    if {"amax", "scale", "divide", "element"} & {*profile.replaced}:
        yield (
            f"the vectors stand at the standard's steps, and {profile.name} has others as well: "
            f"`mxref fuzz --profile {profile.name}` looks for those"
        )


class _Causes:
    """The causes of a report's failures, each with its evidence; at most so many kinds of it."""

    def __init__(self, report: Report, show: int) -> None:
        self.report, self.show, self.left = report, show, 0
        self.total = len(report.unlisted)

    def lines(self) -> Iterator[str]:
        """The lines: ways of calling, what gives all answers, what is nearest, and the rest."""
        report = self.report
        for use in report.uses:
            yield f"{'known' if use.key in report.known else 'BUG'}: {use}"
        told = [one for one in report.findings if self._is_told(one)]
        found = [row for finding in told for row in self._rows(finding)]
        alone = [row for row in report.rows if self._unlisted(row) and row not in found]
        apart = [row for one in told if _is_apart(one) for row in self._rows(one)]
        kept = min(len(alone + apart), self.show // 2)  # so that each of them is shown once
        self.show -= kept
        for key, equal in groupby(sorted(told, key=_order), _order):
            yield from self._cause(key[0], list(equal))
        for (op, text), some in _by_description(alone).items():
            count = sum(len(self._unlisted(row)) for row in some)
            where = f"{op} {', '.join(row.format for row in some)}"
            head = "NARROW SUMS" if getattr(some[0].description, "sums", "") else "CAUSE UNKNOWN"
            yield f"{head} ({count} of {self.total}): {where}: {text}"
        # What is nearest is no help where the words are exact beside what was compared with.
        rest = [one for one in report.findings if one not in told]
        exact = [row for row in alone if _is_exact(row)]
        yield from (f"  {one}" for one in rest if not all(row in exact for row in self._rows(one)))
        self.show = max(self.show, 0) + kept
        yield from self._kinds(alone + apart)
        yield from self._missing([row for row in report.rows if row.missing and row not in alone])
        if self.left:
            yield f"... and {self.left} more kinds of failure (--show N, --json)"

    def _is_told(self, finding: Finding) -> bool:
        """Whether a cause is a help: it gives all answers, or is taken apart."""
        return finding.cause.complete or _is_apart(finding) or bool(self._left(finding))

    def _cause(self, rank: int, findings: Sequence[Finding]) -> Iterator[str]:
        """One cause, in all operations that share it."""
        cause = findings[0].cause
        rows = [row for finding in findings for row in self._rows(finding)]
        pairs = [pair for row in rows for pair in self._unlisted(row)]
        if not pairs:
            return
        left = [pair for finding in findings for pair in self._left(finding)]
        name = cause.text or (cause.name if cause.kind == "profile" else cause.policy)
        name = f"profile {name}" if rank and cause.kind == "profile" else name
        head = "NEAREST" if rank else _HEADS[cause.kind]
        if cause.kind == "stages":
            where = "; ".join(f"{one.op} {', '.join(one.formats)}" for one in findings)
            what = "what each stage does, given those before"
            what = what if rank else "these stages together give all answers"
            yield f"{'STAGES' if rank else head} ({len(pairs)} of {self.total}): {where}: {what}"
        else:
            guess = ", a guess from one wrong answer" * all(row.is_guess for row in rows)
            yield f"{head}: {name} ({len(pairs) - len(left)} of {self.total}{guess})"
            yield from (f"  {finding}" for finding in findings)
        yield from (f"  {stage}" for stage in summed([one.cause.stages for one in findings]))
        # A nearest policy or bug: what it leaves. A profile that gives all answers: how it differs
        # from the profile that was compared.
        it = "it" if rank or self.report.profile is None else f"profile {self.report.profile.name}"
        for (op, text), some in _by_description(rows).items():
            yield f"  {op} {', '.join(row.format for row in some)}, beside {it}: {text}"
        if not _is_apart(findings[0]):  # whose failures are shown among those without a cause
            yield from self._clauses(left if rank else pairs)

    def _clauses(self, pairs: Pairs) -> Iterator[str]:
        """Failures of one cause by clause, the most frequent ones first."""
        kinds: dict[str, list[tuple[VectorFile, Failure]]] = {}
        for pair in pairs:
            kinds.setdefault(_why(*pair), []).append(pair)
        for why, some in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
            if self._has_room():
                yield f"  {len(some)} x {why}; the first:"
                yield f"    {describe(*some[0])}"

    def _kinds(self, rows: Sequence[VerifyRow]) -> Iterator[str]:
        """Failures without a cause: one kind of each row, then one more, then all."""
        rank: Counter[tuple[str, str]] = Counter()
        order = []
        for places, why, failures in self._merged({(row.op, row.format) for row in rows}):
            rank[places[0]] += 1
            order.append((min(rank[places[0]], 3), places, why, failures))
        known = self.report.known
        flags_of = {(row.op, row.format): row.by_flag(known) for row in rows[::-1]}
        for _, places, why, failures in sorted(order, key=lambda item: item[0]):
            if not self._has_room():
                continue
            where = a_few([" ".join(place) for place in places], 3)
            by_flag = flags_of.pop(places[0], None)
            if by_flag:
                counts = (f"{flag} {bad} of {cases}" for flag, (bad, cases) in by_flag.items())
                yield f"{where}, wrong by flag: {', '.join(counts)}"
            flags = f" [{why[1]}]" if len(why) > 1 and why[1] else ""
            what = _why(*failures[0])
            yield f"{where}: {len(failures)} x {what}{flags}; the first:"
            yield f"  {describe(*failures[0])}"

    def _missing(self, rows: Sequence[VerifyRow]) -> Iterator[str]:
        """The cases that recorded answers lack, of rows whose answers are explained or right."""
        for row in rows:
            pairs = self._only_unlisted(
                (one.file, failure) for one in row.unanswered for failure in one.failures
            )
            if pairs:
                count, (_, first) = len(pairs), pairs[0]
                yield f"{row.op} {row.format}: {count} x {first.error}; the first: {first.case.id}"

    def _merged(
        self, here: Collection[tuple[str, str]]
    ) -> list[tuple[Places, tuple[str, ...], Pairs]]:
        """Failures by where they are, and clause and flags; by error wherever; largest first."""
        found: dict[
            tuple[str, ...], tuple[Places, tuple[str, ...], list[tuple[VectorFile, Failure]]]
        ] = {}
        for (op, format, *why), failures in self.report.groups.items():
            if (op, format) in here:
                raised = failures[0][1].got is None
                key = tuple(why) if raised else (op, format, *why)
                places, _, pairs = found.setdefault(key, ([], tuple(why), []))
                places.append((op, format))
                pairs += failures
        return sorted(found.values(), key=lambda kind: -len(kind[2]))

    def _has_room(self) -> bool:
        """Whether another kind may be shown; counts those that may not."""
        self.show -= 1
        self.left += self.show < 0
        return self.show >= 0

    def _rows(self, finding: Finding) -> list[VerifyRow]:
        return [row for row in self.report.rows if finding.is_of(row)]

    def _unlisted(self, row: VerifyRow) -> Pairs:
        return self._only_unlisted(row.wrong)

    def _left(self, finding: Finding) -> Pairs:
        """What is left of the failures beside the nearest policy or profile."""
        beside = [one for row in self._rows(finding) for one in row.beside]
        return self._only_unlisted((one.file, f) for one in beside for f in one.failures)

    def _only_unlisted(self, pairs: Iterable[tuple[VectorFile, Failure]]) -> Pairs:
        return [pair for pair in pairs if listed_as(*pair, self.report.known) is None]


def _is_apart(finding: Finding) -> bool:
    """Whether answers are taken apart into stages that do not give all of them."""
    return finding.cause.kind == "stages" and not finding.cause.complete


def _is_exact(row: VerifyRow) -> bool:
    """Whether a description says of every failure of a row where it is."""
    from mxref.conformance.verdict.describe.description import Description

    return isinstance(row.description, Description) and not row.description.vague


def _by_description(rows: Iterable[VerifyRow]) -> dict[tuple[str, str], list[VerifyRow]]:
    """Rows of an operation that are wrong in the same way, by what is said of them."""
    found: dict[tuple[str, str], list[VerifyRow]] = {}
    for row in rows:
        if row.description is not None:
            found.setdefault((row.op, row.description.text), []).append(row)
    return found


def _order(finding: Finding) -> tuple[int, str, str, str]:
    """What is complete first, then equal causes together; what is partly so is said of each."""
    cause = finding.cause
    if cause.complete:
        return 0, cause.kind, cause.name, cause.policy
    texts = "".join(one.text + one.rest for one in cause.stages)
    return 1, cause.kind, cause.name + texts, cause.policy


def _why(file: VectorFile, failure: Failure) -> str:
    """The clause of a failure with its title, or its error."""
    rule = failure.case.rule
    return failure.error if failure.got is None else f"{rule}, {known_rules(file.op)[rule]}"
