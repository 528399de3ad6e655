"""Inputs of cases with their names, and the cases that they make with their answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mxref.cases.records import Case
from mxref.operands.case_input import CaseInput, spelled

__all__ = ["CaseInput", "Why", "Words", "cases_of", "spelled"]

Words = tuple[int, ...]
#: Whether the standard requires the answer, the clause that decides it, and the case's flags.
Why = tuple[bool, str, tuple[str, ...]]


def cases_of(
    stem: str, entries: Sequence[CaseInput], answered: Sequence[Sequence[Words]], why: Iterable[Why]
) -> tuple[Case, ...]:
    """Cases, each with its different answers.

    Args:
        stem: the first part of the ids.
        entries: the inputs.
        answered: for each policy column the answers to all inputs.
        why: requirement, clause and flags of each case.
    """
    cases = []
    columns = zip(*answered, strict=True)
    for entry, each, (required, rule, flags) in zip(entries, columns, why, strict=True):
        answers = tuple(dict.fromkeys(each))
        by = tuple(answers.index(answer) for answer in each) if len(answers) > 1 else ()
        id = f"{stem}.{entry.name}"
        cases.append(Case(id, entry.inputs, answers, by, required, rule, entry.model, flags))
    return tuple(cases)
