"""Targets with a bug each, of data/planted_bugs.toml: which file shows it, what is said of it."""

from __future__ import annotations

import dataclasses

from helpers import table
from verify_helpers import RIGHT


@dataclasses.dataclass(frozen=True)
class Case:
    """A case that a wrong target fails.

    Args:
        id: the case.
        want: the word that is right.
        got: the wrong word, or a pattern of the error.
        rule: the clause.
        verdict: the verdict on the target, where neither an error nor a violated clause is it.
        word: which word of the output differs first.
    """

    id: str
    want: int
    got: int | str
    rule: str
    verdict: str = ""
    word: int = 0


@dataclasses.dataclass(frozen=True)
class Bug:
    """A case, and the code that fails it: appended to the right target."""

    case: Case
    body: str

    @property
    def stem(self) -> str:
        """The vector file of the case."""
        op, rest = self.case.id.split(".", 1)
        return f"{op}/{rest.rpartition('.')[0]}"


BUGS = {
    name: Bug(body=bug.pop("body"), case=Case(**bug)) for name, bug in table("planted_bugs").items()
}


def line_of(name: str, text: str) -> int:
    """The line of a target with a bug that has a text."""
    lines = (RIGHT + BUGS[name].body).splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return number
