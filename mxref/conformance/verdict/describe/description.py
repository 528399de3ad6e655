"""A short description of where a target differs, when no policy and no known bug explains it.

It is true of every failure and of no success among the compared cases; of other inputs nothing is
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.describe.effects import effect_kinds, effect_of
from mxref.conformance.verdict.describe.rules import Literal, common, cover
from mxref.conformance.verdict.describe.units import Units, units_of
from mxref.policy.policy import Policy

__all__ = ["Description", "Part", "describe_failures"]

#: The number of cases that are named where no pattern is found.
_NAMED = 3
#: The words for the units of each kind.
_KINDS = {
    "answer": ("", "cases"),
    "scale": ("scales ", "scales"),
    "element": ("elements ", "elements"),
    "word": ("words ", "words"),
    "count": ("numbers of words ", "cases"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Some failing units and their common properties.

    Without a pattern the literals hold of all failing units, and of some right ones, too.
    """

    kind: str  #: of its units: see `Units`
    literals: tuple[Literal, ...]  #: hold together of these units and of no right one
    failing: int  #: the number of these units
    units: int  #: the number of units that the literals hold of
    effect: str  #: how all of these units are wrong; empty if they differ in that
    cases: tuple[str, ...] = ()  #: the failing units by name, where no pattern was found


@dataclass(frozen=True, slots=True)
class Description:
    """Where a target differs: its parts hold of every wrong unit and of no right one."""

    parts: tuple[Part, ...]  #: by kind, the largest first
    failing: dict[str, int]  #: the number of failing units by kind
    compared: dict[str, int]  #: the number of all units by kind

    @property
    def text(self) -> str:
        """A short sentence for each kind of unit."""
        return "; ".join(self._sentence(kind) for kind in self.failing)

    def _sentence(self, kind: str) -> str:
        subject, units = _KINDS[kind]
        places = []
        for part in self.parts:
            if part.kind != kind:
                continue
            texts = [literal.text for literal in part.literals]
            where = " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))
            effect = f": {part.effect}" if part.effect else ""
            if part.cases:
                named = ", ".join(part.cases[:_NAMED]) + ", ..." * (len(part.cases) > _NAMED)
                of = f"{part.failing} of {part.units} {units}{where and f' where {where}'}"
                return f"{subject}wrong in {of}, without a pattern ({named}){effect}"
            if not where:
                return f"{subject}wrong in all {part.failing} {units}{effect}"
            places.append(f"{where} ({part.failing} of {self.failing[kind]}){effect}")
        return f"{subject}wrong exactly where {'; or where '.join(places)}"

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        record: dict[str, Any] = {"text": self.text, "failing": self.failing}
        record |= {"compared": self.compared, "parts": []}
        for part in self.parts:
            one: dict[str, Any] = {"kind": part.kind}
            one |= {"literals": [literal.as_json() for literal in part.literals]}
            one |= {name: getattr(part, name) for name in ("failing", "units", "effect")}
            record["parts"].append(one | ({"cases": list(part.cases)} if part.cases else {}))
        return record


def describe_failures(outcomes: Sequence[Outcome], policy: Policy) -> Description | None:
    """A description of where the answers are wrong; None if nothing failed but with errors.

    Cases that raised an error are no part of it, nor are the elements of blocks whose scale is
    wrong.

    Args:
        outcomes: those of one operation and format, over float types.
        policy: the policy that they were compared with.
    """
    found = [units for units in units_of(outcomes, policy) if units.failed.any()]
    if not found:
        return None
    return Description(
        tuple(part for units in found for part in _parts(units)),
        {units.kind: int(units.failed.sum()) for units in found},
        {units.kind: len(units.failed) for units in found},
    )


def _parts(units: Units) -> list[Part]:
    """The parts that describe the failures of one kind of unit."""
    names: tuple[str, ...] = ()
    rules = cover(units.table, units.failed, effect_kinds(units))
    if rules is None:
        rules = [common(units.table, units.failed)]
        names = tuple(units.name(i) for i in np.flatnonzero(units.failed).tolist())
    parts = []
    for rule in sorted(rules, key=lambda rule: -int(rule.holds.sum())):
        wrong = rule.holds & units.failed
        counts = int(wrong.sum()), int(rule.holds.sum())
        parts.append(Part(units.kind, rule.literals, *counts, effect_of(units.only(wrong)), names))
    return parts
