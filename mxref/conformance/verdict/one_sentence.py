"""The verdict in one sentence, which every output of a report carries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from mxref.cases.answers import reads
from mxref.conformance.verdict.call_dependence import uses_text
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.row import VerifyRow
from mxref.formats.catalog import ELEMENT_FORMATS, block_format
from mxref.formats.scale_kinds import has_power_scales
from mxref.policy.policy import Policy
from mxref.targets.target import PythonTarget

__all__ = ["one_sentence", "verdict_text"]

#: So many element formats are asked of a target that does not say which it has.
_MANY = 4


def verdict_text(report: Report) -> str:
    """The verdict on a report with its causes: the same in text, pages, JSON, badges and CI.

    It also says what a profile is a model of, the standing of choices that differs by format, and
    the choices that must be offered as well.
    """
    sentence, left = one_sentence(report)
    if sentence:
        return "; ".join([sentence, *([uses_text(left.uses)] if left.uses else [])])
    verdict = report.verdict
    if report.profile is not None:
        name = f"profile {report.profile.name}"
        from mxref.profiles.registry import BUILT_IN

        whose = "mxref's" if report.profile.name in BUILT_IN else "your"
        verdict = verdict.replace(name, f"{name} ({whose} model of {report.profile.about})", 1)
    chosen, default = Policy.parse(report.equals or "ocp").choices(), Policy().choices()
    for name, value in chosen.items():
        (member,) = (one for one in Policy.members(name) if one.value == value)
        if value != default[name] and member.standings != member.standing.value:
            formats = {row.format for row in report.rows if name in reads(row.op, row.format)}
            here = {member.standing_in(format).value for format in formats}
            only = f"{next(iter(here))} for {', '.join(sorted(formats))}" if len(here) == 1 else ""
            verdict += f" ({name}={value}: {only or member.standings})"
    if report.besides and not verdict.startswith("lacks"):
        verdict += f"; {', '.join(report.besides)} (required) must be offered as well"
    return verdict


def one_sentence(report: Report) -> tuple[str, Report]:
    """A sentence on rows that fail in one way, and the report of the rows that it leaves.

    It is about a target without any answer, or about formats that it was asked for because it has
    no `FORMATS`. The sentence is empty, and the report whole, where neither is so or where some
    failures are known.
    """
    if report.known or len(report.rows) < 2:
        return "", report
    return _unanswered(report) or _unnamed_formats(report) or ("", report)


def _unanswered(report: Report) -> tuple[str, Report] | None:
    """The error of a target that has no answer to any question, if it is one error."""
    if any(len(o.errors) < len(o.file.cases) for row in report.rows for o in row.every):
        return None
    errors = Counter(failure.error for _, failure in report.failures)
    error, count = errors.most_common(1)[0] if errors else ("", 0)
    if not count or 10 * count < 9 * errors.total():  # a program is asked again a few times
        return None
    return f"no question was answered: {error}", replace(report, rows=(), findings=())


def _unnamed_formats(report: Report) -> tuple[str, Report] | None:
    """What to write in `FORMATS` of a target without it that is right in one format alone."""
    target = report.target
    if not isinstance(target, PythonTarget) or target.claims_formats or report.profile is not None:
        return None
    rows: dict[str, list[VerifyRow]] = {}
    for row in report.rows:
        for element in _elements(row):
            rows.setdefault(element, []).append(row)
    right = [one for one, some in rows.items() if not any(row.failures for row in some)]
    right_alone = len(right) == 1 and len(rows) >= _MANY
    if not right_alone or not all(_mostly_wrong(rows[one]) for one in rows if one not in right):
        return None
    names = dict.fromkeys(name for row in rows[right[0]] for name in row.format.split("-"))
    listed = "".join(f'"{name}", ' for name in names).strip()
    text = (
        "FORMATS is missing: without it all formats are asked, and the answers are right in "
        f"{right[0]} alone; write FORMATS = ({listed.rstrip(',') if len(names) > 1 else listed}), "
        "or name the others as well to see what is wrong there"
    )
    kept = tuple(row for row in report.rows if not _elements(row) - {right[0]})
    findings = tuple(one for one in report.findings if any(one.is_of(row) for row in kept))
    asked = {(row.op, row.format) for row in kept}
    uses = tuple(use for use in report.uses if (use.op, use.format) in asked)
    return text, replace(report, rows=kept, findings=findings, uses=uses)


def _elements(row: VerifyRow) -> set[str]:
    """The element formats that a row is about; none of scales, integers and others."""
    if row.operation.own_choices:
        return set()
    names = row.format.split("-")
    blocks = {block_format(name).element.name for name in names if has_power_scales(name)}
    return blocks | {name for name in names if name in ELEMENT_FORMATS}


def _mostly_wrong(rows: list[VerifyRow]) -> bool:
    """Whether half of the answers of a row are wrong: where another format's were given, most."""
    return any(2 * len(row.failures) >= row.compared for row in rows)
