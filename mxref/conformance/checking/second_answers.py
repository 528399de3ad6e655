"""A program's second answers to its questions, compared with its first ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mxref.cases.records import VectorFile
from mxref.conformance.checking.case_judge import answers_text, subject
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.operands.word_rows import padded
from mxref.targets.results import ResultsTarget

__all__ = ["second_answers"]


def second_answers(
    target: ResultsTarget, files: Sequence[VectorFile]
) -> tuple[CallDependence, ...]:
    """What is wrong with a program whose second answers are not its first ones."""
    found: dict[tuple[str, str], list[tuple[VectorFile, str]]] = {}
    asked: Counter[tuple[str, str]] = Counter()
    for file in files:
        asked[file.op, file.format] += len(file.cases)
        inputs = {case.id: case.inputs for case in file.cases}
        for id, other in target.again.get(file.stem, {}).items():
            first = target.answers[file.stem][id]
            before, now = padded([first.words, other.words])
            if first.unsupported != other.unsupported:
                text = f"{subject(file)} was `unsupported` once, and was answered"
            elif same_answers(file, before[None], now[None], padded([inputs[id]])).all():
                continue
            else:
                text = answers_text(file, before, now)
            found.setdefault((file.op, file.format), []).append((file, f"{text} ({id})"))
    uses = []
    for (op, format), some in found.items():
        counts = f"{len(some)} of {asked[op, format]} cases, asked again in another order"
        uses.append(
            CallDependence(op, format, "state", f"not reproducible: {some[0][1]}; {counts}")
        )
    return tuple(uses)
