"""Wrong products of the vectors once more, each in calls of other numbers of rows and columns.

The vectors ask products of one length in one call, so that a product is beside as many others as
happen to have its length. A kernel with a path of its own for few rows is wrong in some of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mxref.cases.records import VectorFile
from mxref.conformance.checking.call_rules import Features, alike, rule_of
from mxref.conformance.checking.product_outputs import narrow_words
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.compare.product_intervals import inside_all, tolerated
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.conformance.verdict.report import Report
from mxref.operands.word_rows import stripped
from mxref.operations.product_words import operands
from mxref.operations.registry import DOT_OPERATIONS
from mxref.targets.calls import is_fault, quiet
from mxref.targets.target import PythonTarget

__all__ = ["wrong_by_shape"]

#: Rows and columns of the calls.
_SIZES = (1, 2, 3, 4, 8, 9, 16, 17, 33, 64, 65)
_SHAPES = tuple(
    dict.fromkeys(
        shape for size in _SIZES for shape in ((size, size), (1, size), (size, 1), (2, size))
    )
)
#: The wrong products of a file that are asked.
_CASES = 6


@dataclass(frozen=True, slots=True)
class _Call:
    """A product whose rows are all one, and so its columns: whether an output is wrong, and one."""

    case: int
    shape: tuple[int, int]
    bad: bool
    got: int

    @property
    def features(self) -> Features:
        sizes = {"rows": self.shape[0], "columns": self.shape[1]}
        return {**sizes, "sides": alike(sizes, "rows", "columns")}


def wrong_by_shape(
    target: PythonTarget, report: Report, uses: Sequence[CallDependence]
) -> Iterator[CallDependence]:
    """The pairs of formats whose wrong products are wrong in calls of some shapes alone.

    Args:
        target: the implementation.
        report: its answers to the vectors.
        uses: what is known to depend on calls, of which nothing is asked.
    """
    known = {(use.op, use.format) for use in uses}
    if not tolerated(report.policy):
        return
    for row in report.rows:
        is_known = (row.op, row.format) in known or any(one.complete for one in row.causes)
        wrong = [one for one in row.outcomes if one.failures and not one.errors]
        if row.op in DOT_OPERATIONS and wrong and not is_known:
            text = _text(target, wrong[0])
            if text:
                yield CallDependence(row.op, row.format, "size", text)


def _text(target: PythonTarget, outcome: Outcome) -> str:
    """In which products a file's wrong answers are wrong, in words; empty if nothing tells."""
    failures = {failure.index: failure for failure in outcome.failures[:_CASES]}
    calls = [call for case in failures for call in _calls(target, outcome, case)]
    bad = [call for call in calls if call.bad]
    rule = rule_of([call.features for call in calls], [call.bad for call in calls])
    if rule is None:
        return ""
    counts, file = rule.counts([call.bad for call in calls]), outcome.file
    failure = replace(failures[bad[0].case], got=(bad[0].got,))
    rows, columns = bad[0].shape
    first = f"with {rows:,} x {columns:,} outputs, {failure.case.id}: {difference(file, failure)}"
    how = f"{rule.text} ({counts}){_precision(file, calls)}"
    return f"wrong only in products with {how}: {first}"


def _calls(target: PythonTarget, outcome: Outcome, case: int) -> Iterator[_Call]:
    """The product of a case in calls of every shape, those aside that raise."""
    file, function = outcome.file, target.operations[outcome.file.op]
    a, b = operands(stripped(outcome.inputs[case]), file.format)
    for rows, columns in _SHAPES:
        sides = [a] * rows, [b] * columns
        try:
            with quiet():
                asked = DOT_OPERATIONS[file.op].call(file.format, file.float, *sides)
                got = asked.read(function(*asked.arguments.values()))
        except BaseException as error:
            if not is_fault(error):
                raise
            continue
        right = inside_all(file, *sides, got, "any")
        places = np.argwhere(~right)
        row, column = places[0].tolist() if len(places) else (0, 0)
        yield _Call(case, (rows, columns), bool(len(places)), int(got[row, column]))


def _precision(file: VectorFile, calls: Sequence[_Call]) -> str:
    """Of which narrower floats wrong outputs are values, where right ones are not; else nothing."""
    right, wrong = (
        narrow_words(np.array([one.got for one in calls if one.bad is bad], np.uint64), file.float)
        for bad in (False, True)
    )
    return "".join(f", {text}" for text in wrong[:1] if text not in right)
