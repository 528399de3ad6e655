"""The smallest description of where a target differs, when no policy and no known bug explains it.

What is said is true of every failure and of no success among the compared cases; of other inputs
nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.describe.cover import common, cover
from mxref.conformance.verdict.describe.effects import effect_kinds, effect_of
from mxref.conformance.verdict.describe.literals import Literal
from mxref.conformance.verdict.describe.units import Units, units_of
from mxref.policy.policy import Policy

__all__ = ["Description", "Part", "describe_failures"]

#: How many cases are named where no pattern is found.
_NAMED = 3
#: What the units of each kind are called.
_KINDS = {
    "answer": ("", "cases"),
    "scale": ("scales ", "scales"),
    "element": ("elements ", "elements"),
    "word": ("words ", "words"),
    "count": ("numbers of words ", "cases"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Some failing units and what they have in common.

    Args:
        kind: what the units are: `answer` (whole cases), `scale` and `element` of a block, `word`
            of an answer, or `count`, the number of its words.
        literals: what holds of all of them, together, and of no unit that is right; empty where
            every unit is wrong. Where no pattern was found, of some right ones, too.
        failing: how many there are.
        units: how many units the literals hold of.
        effect: what became of all of them; empty if nothing can be said.
        cases: the failing ones by name, where no pattern was found.
    """

    kind: str
    literals: tuple[Literal, ...]
    failing: int
    units: int
    effect: str
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """Where a target differs: together the parts hold of every wrong unit and of no right one.

    Args:
        parts: by kind, the largest first.
        failing: how many units of each kind failed.
        compared: how many there were.
    """

    parts: tuple[Part, ...]
    failing: dict[str, int]
    compared: dict[str, int]

    @property
    def text(self) -> str:
        """A short sentence for each kind of unit."""
        return "; ".join(self._sentence(kind) for kind in self.failing)

    def _sentence(self, kind: str) -> str:
        subject, units = _KINDS[kind]
        parts, places = [part for part in self.parts if part.kind == kind], []
        for part in parts:
            *most, last = (literal.text for literal in part.literals) if part.literals else ("",)
            where = " and ".join([*([", ".join(most)] if most else []), last])
            effect = f": {part.effect}" if part.effect else ""
            if part.cases:
                named = ", ".join(part.cases[:_NAMED]) + ", ..." * (len(part.cases) > _NAMED)
                of = f"{part.failing} of {part.units} {units}{f' where {where}' if where else ''}"
                return f"{subject}wrong in {of}, without a pattern ({named}){effect}"
            if not where:
                return f"{subject}wrong in all {part.failing} {units}{effect}"
            places.append(f"{where} ({part.failing} of {self.failing[kind]}){effect}")
        return f"{subject}wrong exactly where {'; or where '.join(places)}"

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "text": self.text,
            "failing": self.failing,
            "compared": self.compared,
            "parts": [
                {
                    "kind": part.kind,
                    "literals": [literal.as_json() for literal in part.literals],
                    "failing": part.failing,
                    "units": part.units,
                    "effect": part.effect,
                    **({"cases": list(part.cases)} if part.cases else {}),
                }
                for part in self.parts
            ],
        }


def describe_failures(outcomes: Sequence[Outcome], policy: Policy) -> Description | None:
    """The shortest description found of where the answers are wrong.

    Args:
        outcomes: those of one operation and format, over float types.
        policy: what they were compared with.

    Returns:
        The description; None if nothing failed but with errors. Cases that raised an error are no
        part of it, nor are the elements of blocks whose scale is wrong.
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
    rules = cover(units.table, units.failed, effect_kinds(units))
    if rules is None:
        rule = common(units.table, units.failed)
        names = tuple(units.name(i) for i in np.flatnonzero(units.failed).tolist())
        effect = effect_of(units.only(units.failed))
        holds = int(rule.holds.sum())
        return [Part(units.kind, rule.literals, len(names), holds, effect, names)]
    rules.sort(key=lambda rule: -int(rule.holds.sum()))
    return [
        Part(
            units.kind,
            rule.literals,
            int(rule.holds.sum()),
            int(rule.holds.sum()),
            effect_of(units.only(rule.holds)),
        )
        for rule in rules
    ]
