"""Wrong answers of a target that is right where it was just loaded: other calls came before them.

The vectors of one format and float type are asked after those of others. What a kernel keeps from
these makes its answers wrong in every later call, so that no later call shows it; its file loaded
once more does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Answered, Outcome, asked
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.row import VerifyRow
from mxref.support.time_limit import limited
from mxref.targets.calls import quiet
from mxref.targets.target import PythonTarget, TargetError

__all__ = ["wrong_after_others"]

#: Targets loaded afresh that have to give the same answers.
_TIMES = 2


def wrong_after_others(
    target: PythonTarget, report: Report, uses: Sequence[CallDependence]
) -> Iterator[CallDependence]:
    """Rows whose wrong answers are right where nothing was asked before; of each after what.

    Of an operation the further rows are asked if the first one is such a row.

    Args:
        target: the implementation.
        report: its answers to the vectors.
        uses: what is known to depend on calls, which is not asked.
    """
    if target.load is None or target.own:  # what a file defines is known by name once
        return
    known = {(use.op, use.format) for use in uses}
    steady: set[str] = set()
    for row in report.rows:
        if row.op in steady or (row.op, row.format) in known or not _fails(row, report):
            continue
        wrong = next(one for one in row.outcomes if one.failures)
        before = _before(wrong, [one for one in report.rows if one.op == row.op])
        text = _text(target, wrong, before, report)
        if text:
            yield CallDependence(row.op, row.format, "state", text)
        else:
            steady.add(row.op)


def _fails(row: VerifyRow, report: Report) -> bool:
    """Whether answers are wrong that are not known to be."""
    return any(failure.case.id not in report.known for _, failure in row.failures)


def _before(wrong: Outcome, rows: Sequence[VerifyRow]) -> list[Outcome]:
    """The other files of an operation: those of the format, then those of the float type."""
    others = [one for row in rows for one in row.outcomes if one.file is not wrong.file]
    mine = wrong.file

    def distance(one: Outcome) -> int:
        return 2 * (one.file.format != mine.format) + (one.file.float != mine.float)

    return sorted(others, key=distance)


def _text(target: PythonTarget, wrong: Outcome, before: Sequence[Outcome], report: Report) -> str:
    """After which vectors those of a file are wrong; empty if nothing is known of that."""
    alone = [_asked(target, [], wrong, report) for _ in range(_TIMES)]
    if any(one.failures for one in alone):
        behind = _asked(target, [], wrong, report, ahead=1)
        return _other_answers(wrong, alone) or _other_answers(wrong, [behind])
    for some in (*([one.file] for one in before), [one.file for one in before]):
        if all(_same(_asked(target, some, wrong, report), wrong) for _ in range(_TIMES)):
            names = f"{some[0].format} ({some[0].float})" if len(some) == 1 else "other formats"
            first = wrong.failures[0]
            what = f"{first.case.id}: {difference(wrong.file, first)}"
            when = "right where nothing was called before, wrong after calls of"
            return f"not reproducible: {when} {wrong.file.op} {names}: {what}"
    return ""


def _other_answers(wrong: Outcome, alone: Sequence[Outcome]) -> str:
    """How answers differ from those after other first calls; empty if they do not."""
    others = [one for one in alone if _same(one, alone[0]) and not _same(one, wrong)]
    if len(others) < len(alone):
        return ""
    got = {failure.index: failure for failure in alone[0].failures}
    for failure in wrong.failures:
        other = got.get(failure.index)
        if other is None or other.got != failure.got:
            now = "right" if other is None else difference(wrong.file, other)
            what = f"{failure.case.id}: {difference(wrong.file, failure)}; then {now}"
            return f"not reproducible: other answers after another first call: {what}"
    return ""


def _asked(
    target: PythonTarget,
    before: Sequence[VectorFile],
    wrong: Outcome,
    report: Report,
    ahead: int = 0,
) -> Outcome:
    """The answers to a file of the target loaded afresh, after those to others.

    Args:
        target: the implementation.
        before: files that are asked before.
        wrong: the file's answers.
        report: all answers.
        ahead: how many cases of the file are asked before, in a call of their own.
    """
    assert target.load is not None
    try:
        with quiet(), limited("another import of the target"):
            fresh = target.load()
    except TargetError:
        return wrong
    for file in before:
        asked(fresh, file)
    file = wrong.file
    if ahead:
        fresh.ask(file, file.input_words()[:ahead])
    found = asked(fresh, file)
    choices = wrong.policy if file.row.own_choices else None
    profile = report.profile if wrong.profile else None
    policy = profile.policy if profile else report.policy
    return Answered(file, found.inputs, found.answers, choices).judged(policy, profile)


def _same(one: Outcome, other: Outcome) -> bool:
    """Whether the same answers are wrong in the same way."""
    failed = [[(failure.index, failure.got) for failure in some.failures] for some in (one, other)]
    return failed[0] == failed[1]
