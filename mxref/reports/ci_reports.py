"""Reports for continuous integration: JUnit, GitHub, and a badge."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.failure_text import describe
from mxref.conformance.verdict.failure_kinds import listed_as
from mxref.conformance.verdict.one_sentence import one_sentence, verdict_text
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.report_text import report_lines
from mxref.conformance.verdict.row import VerifyRow
from mxref.support.text import printable

__all__ = ["badge", "junit", "step_summary", "workflow_commands", "write_step_summary"]

#: Failing cases that are listed of a row; characters of a badge's message.
_CASES, _BADGE = 5, 60


def junit(report: Report) -> bytes:
    """A report as a JUnit file: a test for each row, and one for each finding beside the rows.

    A test fails where `Report.passed` would be False because of it, so that there are failures if
    and only if the report does not pass. Known divergences are skipped tests.
    """
    suite = ElementTree.Element("testsuite", name=printable(f"mxref verify {report.target.name}"))
    for row in report.rows:
        case = _test(suite, row.op, _title(row))
        case.set("assertions", str(row.compared))
        wrong = _unlisted(report, row)
        if wrong:
            text = "\n".join(printable(describe(*pair)) for pair in wrong[:_CASES])
            message = f"{len(wrong)} of {row.compared} cases are wrong"
            ElementTree.SubElement(case, "failure", message=message).text = text
        elif row.failures:
            message = f"{len(row.failures)} known divergences"
            ElementTree.SubElement(case, "skipped", message=message)
    for use in report.uses:
        case = _test(suite, use.op, f"{use.format}: {use.kind}")
        kind = "skipped" if use.key in report.known else "failure"
        ElementTree.SubElement(case, kind, message=printable(str(use)))
    for key in report.stale:
        case = _test(suite, "xfail", printable(key))
        ElementTree.SubElement(case, "failure", message="listed as a known divergence, but is none")
    if not report.judged:
        case = _test(suite, "verify", "nothing compared")
        ElementTree.SubElement(case, "failure", message="no answer was compared")
    for name, kind in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"*/{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("errors", "0")
    found = ElementTree.SubElement(suite, "system-out")
    found.text = printable(verdict_text(report))
    ElementTree.indent(suite)
    tree: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return tree + b"\n"


def _test(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"mxref.{group}", name=name)


def _title(row: VerifyRow) -> str:
    by = row.policy if row.profile is None else f"profile {row.profile}"
    return f"{row.op} {row.format} ({by})"


def _unlisted(report: Report, row: VerifyRow) -> list[tuple[VectorFile, Failure]]:
    return [pair for pair in row.failures if listed_as(*pair, report.known) is None]


def workflow_commands(report: Report, show: int) -> Iterator[str]:
    """Workflow commands of GitHub Actions: the verdict, ways of calling, a case of each kind.

    Args:
        report: the report.
        show: number of ways of calling, and of kinds of failure.
    """
    name = report.target.name.partition(":")[0]
    file = {"file": name} if Path(name).is_file() else {}
    level = "notice" if report.passed else "error"
    title = f"mxref: {'PASS' if report.passed else 'FAIL'}"
    yield _command(level, printable(verdict_text(report)), {**file, "title": title})
    _, left = one_sentence(report)
    for use in left.unlisted_uses[:show]:
        title = f"mxref: {use.op} {use.format}, {use.kind}"
        yield _command("error", printable(use.text), {**file, "title": title})
    for failures in [*left.groups.values()][:show]:
        vectors, failure = failures[0]
        title = f"mxref: {vectors.op} {vectors.format}, {len(failures)} wrong"
        text = printable(describe(vectors, failure))
        yield _command("error", text, {**file, "title": title})


def _command(level: str, text: str, properties: dict[str, str]) -> str:
    """A workflow command.

    >>> _command("error", "100% wrong", {"file": "a,b.py", "title": "x: y"})
    '::error file=a%2Cb.py,title=x%3A y::100%25 wrong'
    """
    pairs = (f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{level} {','.join(pairs)}::{_escaped(text)}"


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)


def step_summary(report: Report, show: int) -> str:
    """The report in GitHub's Markdown, for the file in GITHUB_STEP_SUMMARY."""
    word = "PASS" if report.passed else "FAIL"
    lines = [f"## {word} <code>{escape(printable(report.target.name))}</code>", ""]
    lines += [f"**{escape(printable(verdict_text(report)))}**", ""]
    lines += ["| | operation, format | cases | failed | known |", "|---|---|---:|---:|---:|"]
    for row in report.rows:
        mark, wrong, known = report.marked(row)
        lines.append(f"| {mark} | {_title(row)} | {row.compared} | {wrong} | {known} |")
    told = "\n".join(escape(printable(line)) for line in report_lines(report, show))
    lines += ["", f"<details><summary>Report</summary><pre>{told}</pre></details>", ""]
    return "\n".join(lines)


def write_step_summary(report: Report, show: int) -> None:
    """Append `step_summary` to the file in GITHUB_STEP_SUMMARY, if that is set.

    Raises:
        OSError: the file cannot be written.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as file:  # other steps may have written to it
            file.write(step_summary(report, show))


def badge(report: Report) -> bytes:
    """The verdict as JSON for an endpoint badge of shields.io."""
    text = verdict_text(report)
    listed = report.passed and (report.failures or report.uses)
    if listed and not text.startswith("conforms"):
        text = f"known: {text}"
    short = text
    if len(text) > _BADGE:  # cut before a word or a choice
        end = max(text.rfind(" ", 0, _BADGE), text.rfind("+", 0, _BADGE))
        short = f"{text[: end if end > 0 else _BADGE - 1].rstrip(' ,;:')}…"
    colour = "red"
    if report.passed:
        colour = "yellow" if report.failures or report.uses else "brightgreen"
    record = {"schemaVersion": 1, "label": "OCP MX", "message": printable(short), "color": colour}
    return (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode("utf-8")
