"""Why a matrix unit is wrong: how it adds, read off its answers where no known bug gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mxref.bits.floats import Floats
from mxref.conformance.adders.identify_adder import IdentifiedAdder
from mxref.conformance.adders.target_units import LENGTH, identify_units
from mxref.conformance.compare.compare import Outcome, same_answers
from mxref.conformance.verdict.call_dependence import CallDependence, unsteady_rows
from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.row import VerifyRow
from mxref.operations.matrix_units import unit_numbers
from mxref.targets.calls import call_function
from mxref.targets.target import Target

__all__ = ["with_adders"]

_OP = "mma"


def with_adders(
    report: Report, target: Target, uses: Sequence[CallDependence]
) -> tuple[Report, list[str]]:
    """The report with the adders of wrong matrix units that have no cause and answer steadily.

    An adder is a cause if it gives all answers to the vectors, too, which it was not read off.
    A tree of sums that was read at one K is told as a note: it says nothing about another K.
    """
    unsteady = unsteady_rows(uses)
    rows, notes = [], []
    for row in report.rows:
        steady = (row.op, row.format) not in unsteady
        if row.op == _OP and row.wrong and not row.causes and steady:
            (unit,) = identify_units(target, formats=(row.format,))
            found = unit.found
            if found is not None and found.confirmed and not unit.as_named:
                if all(_gives(found, outcome) for outcome in row.outcomes):
                    rows.append(_caused(row, found))
                    continue
                notes.append(f"{_OP} {row.format} at K = {LENGTH}: {found.sentence}")
        rows.append(row)
    return replace(report, rows=tuple(rows)), notes


def _caused(row: VerifyRow, found: IdentifiedAdder) -> VerifyRow:
    """The row with an adder as its cause."""
    text = f"adds as {found.names[0]} does: {found.sentence}" if found.names else found.sentence
    total = sum(len(outcome.inputs) for outcome in row.outcomes)
    wrong = sum(len(outcome.failures) for outcome in row.outcomes)
    stage = Stage("adder", text, wrong, 0, total, "calls", "N47")
    about = "stages", "adder", "", text, _OP, (), "ocp", (), total, total
    return replace(row, causes=(Cause(*about, stages=(stage,)),))


def _gives(found: IdentifiedAdder, outcome: Outcome) -> bool:
    """Whether an adder gives all answers to a vector file."""

    def mma(a: Any, b: Any, c: Any, adder: str, *names: str) -> Floats:
        return found(unit_numbers(a, names[0]), unit_numbers(b, names[1]), c)

    if found.adder is None:  # a tree of one K
        return False
    answers = call_function(mma, outcome.file, outcome.inputs)
    if answers.errors or outcome.errors or answers.words.shape != outcome.answers.shape:
        return False
    return bool(same_answers(outcome.file, answers.words, outcome.answers).all())
