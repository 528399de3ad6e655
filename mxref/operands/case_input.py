"""The input of a case, before its answers are known."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OWN", "CaseInput", "spelled"]

#: The coverage model, and the clause, of what an operation from outside of mxref brings.
OWN = "own"


@dataclass(frozen=True, slots=True)
class CaseInput:
    """The input of a case, before its answers are known.

    Args:
        name: the last part of the case's id.
        inputs: the words.
        model: the coverage model that they come from.
        flags: what the case exercises, where that does not depend on the answer.
        rule: the clause that decides the answer, if not the file's.
    """

    name: str
    inputs: tuple[int, ...]
    model: str
    flags: tuple[str, ...] = ()
    rule: str = ""


def spelled(number: int) -> str:
    """A number as part of a case's name.

    >>> spelled(5), spelled(-5)
    ('5', 'minus_5')
    """
    return f"minus_{-number}" if number < 0 else str(number)
