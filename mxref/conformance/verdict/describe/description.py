"""A short description of where a target differs, when no policy and no known bug explains it.

It is true of every failure and of no success among the compared cases; of other inputs nothing is
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.describe.effects import effect_kinds, effect_of
from mxref.conformance.verdict.describe.rules import Literal, common, cover
from mxref.conformance.verdict.describe.units import units_of
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
        parts = []
        for part in self.parts:
            record = {field.name: getattr(part, field.name) for field in fields(part)}
            record["literals"] = [literal.as_json() for literal in part.literals]
            record["cases"] = list(part.cases)
            parts.append({name: record[name] for name in record if name != "cases" or part.cases})
        counts = {"failing": self.failing, "compared": self.compared}
        return {"text": self.text, **counts, "parts": parts}


def describe_failures(outcomes: Sequence[Outcome], policy: Policy) -> Description | None:
    """A description of where the answers are wrong; None if nothing failed but with errors.

    Cases that raised an error are no part of it, nor are the elements of blocks whose scale is
    wrong.

    Args:
        outcomes: those of one operation and format, over float types.
        policy: the policy that they were compared with.
    """
    parts: list[Part] = []
    found = [units for units in units_of(outcomes, policy) if units.failed.any()]
    for units in found:
        names: tuple[str, ...] = ()
        rules = cover(units.table, units.failed, effect_kinds(units))
        if rules is None:
            rules = [common(units.table, units.failed)]
            names = tuple(units.name(i) for i in np.flatnonzero(units.failed).tolist())
        for rule in sorted(rules, key=lambda rule: -int(rule.holds.sum())):
            wrong = rule.holds & units.failed
            counts, effect = (int(wrong.sum()), int(rule.holds.sum())), effect_of(units, wrong)
            parts.append(Part(units.kind, rule.literals, *counts, effect, names))
    failing = {units.kind: int(units.failed.sum()) for units in found}
    compared = {units.kind: len(units.failed) for units in found}
    return Description(tuple(parts), failing, compared) if parts else None
