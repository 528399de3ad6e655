"""Questions with their names, and the cases that they become with their answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mxref.cases.records import Case

__all__ = ["CaseInput", "Why", "Words", "cases_of"]

Words = tuple[int, ...]
#: Whether the standard requires the answer, the clause that decides, and flags.
Why = tuple[bool, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CaseInput:
    """The question of a case.

    Args:
        name: the case's own part of its id.
        inputs: its words.
        model: the coverage model that they come from.
        flags: why there is such a case, where that does not depend on the answer.
        rule: the clause that decides, where it is not that of the file.
    """

    name: str
    inputs: Words
    model: str
    flags: tuple[str, ...] = ()
    rule: str = ""


def cases_of(
    stem: str, entries: Sequence[CaseInput], answered: Sequence[Sequence[Words]], why: Iterable[Why]
) -> tuple[Case, ...]:
    """Cases with each different answer once.

    Args:
        stem: the ids' first part.
        entries: the questions.
        answered: for each policy column the answers to all of them.
        why: of each case.
    """
    cases = []
    columns = zip(*answered, strict=True)
    for entry, each, (required, rule, flags) in zip(entries, columns, why, strict=True):
        answers = tuple(dict.fromkeys(each))
        by = tuple(answers.index(answer) for answer in each) if len(answers) > 1 else ()
        id = f"{stem}.{entry.name}"
        cases.append(Case(id, entry.inputs, answers, by, required, rule, entry.model, flags))
    return tuple(cases)
