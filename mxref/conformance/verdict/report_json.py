"""A report as plain data, for `--json`."""

from __future__ import annotations

from typing import Any

from mxref.cases.records import words
from mxref.conformance.compare.failure_text import describe
from mxref.conformance.verdict.failure_kinds import listed_as
from mxref.conformance.verdict.one_sentence import one_sentence, verdict_text
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.report_text import compared_with_standard

__all__ = ["report_json"]


def report_json(report: Report) -> dict[str, Any]:
    """The report as JSON has it; rows of which one sentence says all are left out, as in text."""
    sentence, left = one_sentence(report)
    standard = compared_with_standard(report)
    return {
        "target": report.target.name,
        "policy": str(report.policy),
        "profile": None if report.profile is None else report.profile.name,
        "outside_profile": list(report.outside),
        "verdict": verdict_text(report),
        "against_standard": None if standard is None else verdict_text(standard),
        "must_offer_besides": list(report.besides),
        "passed": report.passed,
        "compared": report.compared,
        "in_short": sentence or None,
        "rows": [
            {
                "op": row.op,
                "format": row.format,
                "policy": row.policy,
                "profile": row.profile,
                "compared": row.compared,
                "failed": len(row.failures),
                "known": sum(listed_as(*f, report.known) is not None for f in row.failures),
                "flags": {
                    flag: {"failed": failed, "cases": cases}
                    for flag, (failed, cases) in row.by_flag().items()
                },
                "beside": row.causes[0].name if row.beside else None,
                "causes": [cause.as_json() for cause in row.causes],
                "description": None if row.description is None else row.description.as_json(),
            }
            for row in left.rows
        ],
        "findings": [finding.as_json() for finding in left.findings],
        "failures": [
            {
                "id": failure.case.id,
                "text": describe(file, failure),
                "in": words(failure.case.inputs, file.in_digits),
                "want": words(failure.want, file.out_digits),
                "got": None if failure.got is None else words(failure.got, file.out_digits),
                "error": failure.error,
                "rule": failure.case.rule,
                "flags": failure.case.flags,
                "known": report.known.get(listed_as(file, failure, report.known) or ""),
            }
            for file, failure in left.failures
        ],
        "uses": [
            {
                "op": use.op,
                "format": use.format,
                "kind": use.kind,
                "text": use.text,
                "known": report.known.get(use.key),
            }
            for use in left.uses
        ],
        "asked": report.scope.as_json(),
        "stale": report.stale,
        "not_covered": list(report.not_covered),
    }
