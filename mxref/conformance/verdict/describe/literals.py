"""Statements about features, and rules made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mxref.bits.floats import I64, Bool
from mxref.conformance.verdict.describe.features import FEATURES, UNKNOWN, Table, simplest

__all__ = ["Literal", "Rule", "hull"]

#: What says only that a feature has some value is as hard to read as so many values.
_ANY = 5


@dataclass(frozen=True, slots=True)
class Literal:
    """A feature that has one of some values, or lies between two ends.

    Args:
        feature: its name in FEATURES.
        values: of a class.
        low: least value of an ordered one; None where there is no such end.
        high: greatest value.
        above: whether `low` itself is left out.
        below: whether `high` itself is left out.
    """

    feature: str
    values: tuple[int, ...] = ()
    low: int | None = None
    high: int | None = None
    above: bool = False
    below: bool = False

    def holds(self, found: I64) -> Bool:
        """Where it is true, from the feature's values."""
        if self.values:  # few of them: faster than isin
            one: Bool = np.any([found == value for value in self.values], axis=0)
            return one
        true: Bool = found != UNKNOWN
        if self.low is not None:
            true &= (found > self.low) if self.above else (found >= self.low)
        if self.high is not None:
            true &= (found < self.high) if self.below else (found <= self.high)
        return true

    @property
    def cost(self) -> float:
        """How hard it is to read."""
        feature = FEATURES[self.feature]
        if self.values:
            fewer = min(len(self.values), len(self._rest) or _ANY)
            return feature.cost + 0.15 * (fewer - 1)
        ends = {end for end in (self.low, self.high) if end is not None}
        if not ends:
            return feature.cost + 0.15 * _ANY
        return feature.cost + sum(0.1 + 0.02 * len(feature.show(end)) for end in ends)

    @property
    def _rest(self) -> list[str]:
        names = FEATURES[self.feature].names
        return [name for i, name in enumerate(names) if i not in self.values]

    @property
    def text(self) -> str:
        """In words.

        >>> Literal("sign", (1,)).text, Literal("remainder", (1, 2, 3)).text
        ('x is negative', 'x is not exact')
        >>> Literal("position", low=4, high=7).text, Literal("code", low=0x80).text
        ('the position in the block is from 4 to 7', 'the code is at least 80')
        """
        feature = FEATURES[self.feature]
        if not self.values:
            return feature.phrase.format(self._range())
        names = [feature.names[value] for value in self.values]
        if len(self._rest) == 1 < len(names):
            return feature.phrase.format(f"not {self._rest[0]}".removeprefix("not not "))
        listed = [", ".join(names[:-1])] if len(names) > 1 else []
        return feature.phrase.format(" or ".join([*listed, names[-1]]))

    def _range(self) -> str:
        feature = FEATURES[self.feature]
        low, high = (None if end is None else feature.show(end) for end in (self.low, self.high))
        if low is None and high is None:
            return "a number"
        if low == high:
            return f"{low}"
        if low is None:
            return f"{self._high} {high}"
        if high is None:
            return f"{self._low} {low}"
        if self._is_real:
            return f"in {'(' if self.above else '['}{low}, {high}{')' if self.below else ']'}"
        if self.above or self.below:
            return f"{self._low} {low} and {self._high} {high}"
        return f"from {low} to {high}"

    @property
    def _low(self) -> str:
        return "above" if self.above else "at least"

    @property
    def _high(self) -> str:
        return "below" if self.below else "at most"

    def as_json(self) -> dict[str, Any]:
        """As plain data: `values`, or `low` and `high` and whether they are included."""
        feature = FEATURES[self.feature]
        if self.values:
            return {"feature": self.feature, "values": [feature.plain(v) for v in self.values]}
        return {
            "feature": self.feature,
            "low": None if self.low is None else feature.plain(self.low),
            "high": None if self.high is None else feature.plain(self.high),
            "low_included": not self.above,
            "high_included": not self.below,
        }

    def widened(self, stops: I64) -> Literal:
        """With its ends moved to round numbers before the nearest of some values outside it.

        An end with no such value behind it is dropped, a single value stays alone. A new end may
        be such a value, which then is left out.
        """
        if self.low is None or self.high is None or self.low == self.high:
            return self
        lower, upper = stops[stops < self.low], stops[stops > self.high]
        low = high = None
        above = below = False
        if lower.size:
            stop = int(lower.max())
            low = self.low if self._beside(stop, self.low) else simplest(stop, self.low, up=True)
            above = low == stop
        if upper.size:
            stop = int(upper.min())
            near = self._beside(self.high, stop)
            high = self.high if near else simplest(self.high, stop, up=False)
            below = high != self.high and (high == stop or self._is_real)
        return replace(self, low=low, high=high, above=above, below=below)

    def _beside(self, one: int, other: int) -> bool:
        return not self._is_real and other - one == 1

    @property
    def _is_real(self) -> bool:
        return FEATURES[self.feature].kind == "real"


@dataclass(frozen=True, slots=True)
class Rule:
    """Literals that hold together.

    Args:
        literals: in the order of FEATURES.
        holds: of which units they all hold.
    """

    literals: tuple[Literal, ...]
    holds: Bool

    @classmethod
    def of(cls, literals: Sequence[Literal], table: Table, count: int) -> Rule:
        """The rule with these literals, on a table of so many units."""
        order = {name: i for i, name in enumerate(FEATURES)}
        literals = sorted(literals, key=lambda literal: order[literal.feature])
        holds = np.ones(count, bool)
        for literal in literals:
            holds &= literal.holds(table[literal.feature])
        return cls(tuple(literals), holds)

    @property
    def cost(self) -> float:
        """How hard it is to read; one more rule is worse than one more literal."""
        return 1.5 + sum(literal.cost for literal in self.literals)


def hull(feature: str, chosen: I64, occurring: frozenset[int]) -> Literal | None:
    """The narrowest literal that holds of some values of a feature; None where one is unknown.

    Args:
        feature: its name.
        chosen: the values.
        occurring: of a class, every value that occurs; if one only is left, the literal is that a
            unit does not have that one.
    """
    low, high = int(chosen.min()), int(chosen.max())
    if high == UNKNOWN:
        return None
    names = FEATURES[feature].names
    if not names:
        return Literal(feature, low=low, high=high)
    values = frozenset(np.unique(chosen).tolist())
    rest = occurring - values
    if len(rest) == 1 < len(values):
        values = frozenset(range(len(names))) - rest
    return Literal(feature, tuple(sorted(values)))
