"""The page of ``mxref verify --html``: verdict and causes, failing cases in bits, plots, rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.cases.records import VectorFile, words
from mxref.cases.words import FLAGS, known_rules
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.report_text import advice, report_lines
from mxref.operands.word_rows import padded
from mxref.reports.bit_fields import Kind, Word, of_word, sides
from mxref.reports.page import write_page
from mxref.reports.verify_plots import row_plots

__all__ = ["write_verify_page"]

#: Rows that have plots, and words that are shown of a case, at most.
_PLOTTED, _WORDS = 3, 16
#: Lines of the report that say what was asked, not what is wrong.
_SCOPE = ("asked: ", "note: ")
_HEADS = re.compile(r"(?P<head>BUG|POLICY|PROFILE|NEAREST|CAUSE UNKNOWN|known)\b:?(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the report: the kind of cause that it begins with, its text and its indentation."""

    head: str
    text: str
    depth: int


@dataclass(frozen=True, slots=True)
class _Case:
    """A failing case: its kind, its description, and its words in bits."""

    title: str
    id: str
    text: str
    why: str
    words: tuple[Word, ...]
    hex: tuple[tuple[str, str], ...]


def write_verify_page(path: Path, report: Report, show: int = 10, command: str = "") -> None:
    """Write the page of a report.

    Args:
        path: the file.
        report: the report.
        show: number of kinds of failure to show.
        command: the command that makes the page, for its last line.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: jinja2 or matplotlib is not installed, or the path is no regular file.
    """
    *lines, last = report_lines(report, show)
    word = "PASS" if report.passed else "FAIL"
    verdict = verdict_text(report) + advice(report)
    summary = last.removeprefix(f"{word} {report.target.name}: ").removesuffix(f": {verdict}")
    rows = []
    for row in report.rows:
        mark, unknown, known = report.marked(row)
        by = row.policy if row.profile is None else f"profile {row.profile}"
        flags = [(name, *counts, FLAGS.get(name, "")) for name, counts in row.by_flag().items()]
        rows.append((mark, row, by, unknown, known, flags))
    plotted = sorted(
        (row for _, row, _, unknown, _, _ in rows if unknown),
        key=lambda row: -len(row.failures),
    )
    plots: list[tuple[str, list[tuple[str, str]]]] = []
    for row in plotted:
        if len(plots) < _PLOTTED and (drawn := row_plots(row)):
            plots.append((f"{row.op} {row.format}", drawn))
    write_page(
        path,
        "verify",
        command=command,
        title=report.target.name,
        passed=report.passed,
        verdict=verdict,
        summary=summary,
        causes=[_line(text) for text in lines if not text.startswith(_SCOPE)],
        asked=[_line(text) for text in lines if text.startswith(_SCOPE)],
        by_flag=any(flags for *_, flags in rows),
        cases=_cases(report, show),
        plots=plots,
        rows=rows,
        policy=str(report.policy),
        profile=None if report.profile is None else report.profile.name,
        not_covered=report.not_covered,
    )


def _line(text: str) -> _Line:
    """A line of the report, split into its parts.

    >>> _line("    encode e2m1")
    _Line(head='', text='encode e2m1', depth=2)
    >>> _line("BUG: the sign (8 of 8)")
    _Line(head='BUG', text='the sign (8 of 8)', depth=0)
    """
    depth = (len(text) - len(text.lstrip(" "))) // 2
    found = _HEADS.match(text)
    head, rest = (found["head"], found["rest"]) if found else ("", text)
    return _Line(head, rest.strip(), depth)


def _cases(report: Report, show: int) -> list[_Case]:
    """The first failing case of each kind; at first only two kinds of each operation and format."""
    rank: Counter[tuple[str, ...]] = Counter()
    order = []
    for key, failures in report.groups.items():
        rank[key[:2]] += 1
        order.append((rank[key[:2]] > 2, failures))
    chosen = sorted(order, key=lambda item: item[0])[:show]
    return [_case(failures) for _, failures in chosen]


def _case(failures: Sequence[tuple[VectorFile, Failure]]) -> _Case:
    file, failure = failures[0]
    case = failure.case
    title = f"{file.op} {file.format}, {file.float}"
    why = f"{case.rule}, {known_rules(file.op)[case.rule]}"
    meanings = "; ".join(f"{flag}: {FLAGS[flag]}" for flag in case.flags)
    count = f"{len(failures)} wrong like this" if len(failures) > 1 else "1 wrong like this"
    shown = _in_bits(file, failure)
    plain: list[tuple[str, str]] = []
    if not shown:
        plain.append(("in", _hex(case.inputs, file.in_digits)))
        plain.append(("want", _hex(failure.want, file.out_digits)))
        if failure.got is not None:
            plain.append(("got", _hex(failure.got, file.out_digits)))
    return _Case(
        f"{title}: {count}",
        case.id,
        difference(file, failure),
        f"{why}{f' ({meanings})' if meanings else ''}",
        tuple(shown),
        tuple(plain),
    )


def _hex(some: tuple[int, ...], digits: int) -> str:
    more = f" … {len(some) - _WORDS} more" if len(some) > _WORDS else ""
    return (words(some[:_WORDS], digits) or "an error") + more


def _in_bits(file: VectorFile, failure: Failure) -> list[Word]:
    """The first wrong word in bits, with the words of the question that belong to it."""
    asked, answered = sides(file)
    want, got, inputs = failure.want, failure.got, failure.case.inputs
    if not asked or not want or got is None:
        return [of_word("input", inputs[0], asked[0])] if len(asked) == 1 else []
    arrays = np.array([want], np.uint64), np.array([got], np.uint64)
    wrong = int(np.argmin(same_answers(file, *arrays, padded([inputs]), bits=failure.bits)[0]))
    shown = []
    if file.row.blocks == "numbers":
        *tensor, number = asked
        shown += [of_word("tensor scale", inputs[0], kind) for kind in tensor]
        lanes = inputs[len(tensor) :]
        if wrong == 0 and isinstance(number, FloatLayout):
            top = number.sign_bit - 1
            shown.append(of_word("largest input", max(lanes, key=lambda x: x & top), number))
        else:
            shown.append(of_word(f"input, lane {wrong - 1}", lanes[wrong - 1], number))
            shown.append(of_word("scale", want[0], answered[0]))
    elif file.row.blocks:
        *before, code = asked
        names = ("tensor scale", "scale")[-len(before) :]
        shown += [of_word(*one) for one in zip(names, inputs, before, strict=False)]
        shown.append(of_word(f"code, lane {wrong}", inputs[len(before) + wrong], code))
    else:
        shown.append(of_word("input", inputs[0], asked[0]))
    kind: Kind = answered[min(wrong, len(answered) - 1)]
    shown.append(of_word("want", want[wrong], kind))
    if wrong < len(got):
        shown.append(of_word("got", got[wrong], kind, want[wrong]))
    return shown
