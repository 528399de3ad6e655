"""A failure in words: the input, the wanted and the given answer, and the distance between them."""

from __future__ import annotations

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.operands.word_rows import padded
from mxref.operations.wrong_answer import WrongAnswer

__all__ = ["describe", "difference"]


def describe(file: VectorFile, failure: Failure) -> str:
    """One line: id, input, want and got, distance, clause and flags."""
    case = failure.case
    flags = f" [{' '.join(case.flags)}]" if case.flags else ""
    return f"{case.id}: {difference(file, failure)}; {case.rule}{flags}"


def difference(file: VectorFile, failure: Failure) -> str:
    """The first wrong word, with the input that belongs to it; or the error."""
    if failure.got is None:
        return failure.error
    operation, words = file.row, failure.case.inputs
    if failure.refused:
        return operation.not_refused(file.format, file.float, words, failure.got)
    sides = (padded([side]) for side in (failure.want, failure.got, words))
    differs = ~same_answers(file, *sides, bits=failure.bits)[0]
    columns = (c for i, c in enumerate(file.columns) if failure.case.output(i) == failure.want)
    wrong = WrongAnswer(
        format=file.format,
        slot=file.float,
        words=words,
        want=failure.want,
        got=failure.got,
        differs=differs,
        policy=next(columns, None),
        default=file.columns[0],
    )
    return operation.difference(wrong)
