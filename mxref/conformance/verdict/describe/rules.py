"""A few short rules that together are true of every failure and of no success.

A rule for some failures takes the narrowest literal of each feature that holds of all of them, and
of these a few that together exclude every success. If one rule is not enough, failures with a
common value, or between two successes, get a rule, and the rest the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, Bool
from mxref.conformance.verdict.describe.features import FEATURES, UNKNOWN, Feature, Table, simplest

__all__ = ["Literal", "Rule", "common", "cover"]

Indices = NDArray[np.intp]
#: The limits of what a reader takes in: rules, and literals of each.
_RULES, _LITERALS = 4, 5
#: Sets of literals extended at once, rules compared, first rules followed, how near to the largest
#: group another one must be.
_SETS, _COMPARED, _FOLLOWED, _NEAR = 200, 20, 3, 0.8


@dataclass(frozen=True, slots=True)
class Literal:
    """A feature has one of some values, or lies between two ends, or is known."""

    feature: str  #: its name in FEATURES
    values: tuple[int, ...] = ()  #: of a class
    low: int | None = None  #: the least value of an ordered feature, if there is one
    high: int | None = None  #: the greatest value
    above: bool = False  #: whether `low` itself is left out
    below: bool = False  #: whether `high` itself is left out

    @property
    def _about(self) -> Feature:
        return FEATURES[self.feature]

    def holds(self, found: I64) -> Bool:
        """Where the literal is true of the feature's values."""
        if self.values:  # a few comparisons are faster than isin
            one: Bool = np.any([found == value for value in self.values], axis=0)
            return one
        low = -UNKNOWN - 1 if self.low is None else self.low + self.above
        high = UNKNOWN - 1 if self.high is None else self.high - self.below
        return (low <= found) & (found <= high)

    @property
    def cost(self) -> float:
        """How hard it is to read."""
        if self.values:
            others = len(self._about.names) - len(self.values)
            return self._about.cost + 0.15 * (min(len(self.values), others or 5) - 1)
        ends = {self._about.show(end) for end in (self.low, self.high) if end is not None}
        return self._about.cost + (sum(0.1 + 0.02 * len(end) for end in ends) or 0.6)

    @property
    def text(self) -> str:
        """The literal in words.

        >>> Literal("sign", (1,)).text, Literal("remainder", (1, 2, 3)).text
        ('x is negative', 'x is not exact')
        >>> Literal("position", low=4, high=7).text, Literal("code", low=0x80).text
        ('the position in the block is from 4 to 7', 'the code is at least 80')
        """
        return self._about.phrase.format(self._one_of() if self.values else self._range())

    def _one_of(self) -> str:
        others = [n for i, n in enumerate(self._about.names) if i not in self.values]
        if len(others) == 1 < len(self.values):
            return f"not {others[0]}".removeprefix("not not ")
        *most, last = (self._about.names[value] for value in self.values)
        return " or ".join([", ".join(most), last] if most else [last])

    def _range(self) -> str:
        low, high = (None if e is None else self._about.show(e) for e in (self.low, self.high))
        if low == high:
            return low or "a number"
        if low is not None and high is not None:
            if self._about.kind == "real":
                return f"in {'[('[self.above]}{low}, {high}{'])'[self.below]}"
            if not self.above and not self.below:
                return f"from {low} to {high}"
        ends = [] if low is None else [f"{'above' if self.above else 'at least'} {low}"]
        ends += [] if high is None else [f"{'below' if self.below else 'at most'} {high}"]
        return " and ".join(ends)

    def as_json(self) -> dict[str, Any]:
        """As plain data: `values`, or `low` and `high` and whether they are included."""
        if self.values:
            return {"feature": self.feature, "values": [self._about.plain(v) for v in self.values]}
        low, high = (None if e is None else self._about.plain(e) for e in (self.low, self.high))
        included = {"low_included": not self.above, "high_included": not self.below}
        return {"feature": self.feature, "low": low, "high": high, **included}

    def widened(self, stops: I64) -> Literal:
        """With its ends moved to round numbers, but not beyond the nearest of the stops.

        An end with no stop behind it is dropped; a single value stays alone. A new end may be a
        stop, which then is left out.
        """
        if self.low is None or self.high is None or self.low == self.high:
            return self
        step = 0 if self._about.kind == "real" else 1

        def end(stop: int, own: int) -> int:
            """A round number from a stop to an end, without a gap of one value."""
            if abs(stop - own) == step:
                return own
            return simplest(min(stop, own), max(stop, own), up=stop < own)

        lower, upper = stops[stops < self.low], stops[stops > self.high]
        low = end(int(lower.max()), self.low) if lower.size else None
        high = end(int(upper.min()), self.high) if upper.size else None
        above, below = bool(np.any(lower == low)), bool(np.any(upper == high))
        below |= not step and high not in (None, self.high)
        return replace(self, low=low, high=high, above=above, below=below)


class Rule(NamedTuple):
    """Literals that hold together, in the order of FEATURES, and the units of which they do."""

    literals: tuple[Literal, ...]
    holds: Bool

    @property
    def cost(self) -> float:
        """How hard it is to read; one more rule is worse than one more literal."""
        return 1.5 + sum(literal.cost for literal in self.literals)


def cover(table: Table, failed: Bool, effects: I64) -> list[Rule] | None:
    """Rules that together hold of every failure and of no success; None if it takes too many.

    Args:
        table: the features of all units.
        failed: which of them failed, at least one.
        effects: the number of each failure's effect: failures of one effect may make a rule.
    """
    search, failures = _Search(table, failed), np.flatnonzero(failed)
    whole = search.rule(failures)
    if whole is not None:
        return [whole]
    found = []
    for values in (effects, *(table[name] for name in search.classes)):
        kinds = np.unique(values[failures])
        if 1 < len(kinds) <= _RULES:
            each = [search.rule(failures[values[failures] == kind]) for kind in kinds]
            rules = [rule for rule in each if rule is not None]
            found += [search.needed(rules)] if len(rules) == len(kinds) else []
    for first in search.widest(failures):
        rules = [first]
        while (left := search.left(rules)).size and len(rules) < _RULES:
            last = search.rule(left)
            more = search.widest(left)[:1] if last is None else [last]
            if not more:
                break
            rules += more
        if not left.size:
            found.append(search.needed(rules))
    return min(found, key=lambda rules: sum(rule.cost for rule in rules), default=None)


def common(table: Table, failed: Bool) -> Rule:
    """The literal that holds of all failures and of the fewest successes, if less than half."""
    search, passed = _Search(table, failed), int((~failed).sum())
    inside = {one: int(one.holds(search.passed[one.feature]).sum()) for one in search.hulls(failed)}
    best = min(inside, key=lambda one: inside[one], default=None)
    return search.widened([] if best is None or 2 * inside[best] > passed else [best])


class _Search:
    """Rules from those features of some units that are not the same in all of them."""

    def __init__(self, table: Table, failed: Bool) -> None:
        self.failed = failed
        names = [n for n in FEATURES if n in table and table[n].min() != table[n].max()]
        self.table = {name: table[name] for name in names}
        self.passed = {name: table[name][~failed] for name in names}
        self.orders = {n: np.argsort(self.passed[n]) for n in names if not FEATURES[n].names}
        self.sorted = {name: self.passed[name][order] for name, order in self.orders.items()}
        self.classes = {n: np.unique(table[n]).tolist() for n in names if FEATURES[n].names}

    def hulls(self, chosen: Indices | Bool) -> list[Literal]:
        """The narrowest literal of each feature that is known of all the chosen units."""
        found = []
        for name, column in self.table.items():
            values = column[chosen]
            low, high = int(values.min()), int(values.max())
            if high == UNKNOWN:
                continue
            if name in self.orders:
                found.append(Literal(name, low=low, high=high))
                continue
            has = set(np.unique(values).tolist())
            rest = {*self.classes[name]} - has - {UNKNOWN}
            if len(rest) == 1 < len(has):
                has = {*range(len(FEATURES[name].names))} - rest
            found.append(Literal(name, tuple(sorted(has))))
        return found

    def rule(self, chosen: Indices) -> Rule | None:
        """A short rule that holds of the chosen failures and of no success."""
        literals = self.hulls(chosen)
        misses = np.zeros(int((~self.failed).sum()), np.uint64)
        for i, one in enumerate(literals):
            misses |= (~one.holds(self.passed[one.feature])).astype(np.uint64) << np.uint64(i)
        found = _hitting(np.unique(misses), [literal.cost for literal in literals])
        rules = [self.widened([literals[i] for i in some]) for some in found]
        return min(rules, key=lambda rule: rule.cost, default=None)

    def widened(self, literals: list[Literal]) -> Rule:
        """The rule of literals with their ends moved as far as no success comes in."""
        for i, literal in enumerate(literals):
            stops = self.passed[literal.feature]
            outside = stops != UNKNOWN
            for other in literals[:i] + literals[i + 1 :]:
                outside &= other.holds(self.passed[other.feature])
            literals[i] = literal.widened(stops[outside])
        every = np.ones(len(self.failed), bool)
        holds = [literal.holds(self.table[literal.feature]) for literal in literals]
        return Rule(tuple(literals), np.all([every, *holds], axis=0))

    def left(self, rules: list[Rule]) -> Indices:
        """The failures of which no rule holds."""
        return np.flatnonzero(self.failed & ~np.any([rule.holds for rule in rules], axis=0))

    def needed(self, rules: list[Rule]) -> list[Rule]:
        """The rules without those that the others make superfluous."""
        for rule in sorted(rules, key=lambda rule: -rule.cost):
            others = [other for other in rules if other is not rule]
            rules = rules if not others or self.left(others).size else others
        return rules

    def widest(self, left: Indices) -> list[Rule]:
        """A few rules that each hold of many of these failures, the widest first."""
        rules: list[Rule] = []
        for some in sorted(self._groups(left), key=len, reverse=True):
            if len(rules) < _FOLLOWED and not any(rule.holds[some].all() for rule in rules):
                rule = self.rule(some)
                rules += [] if rule is None else [rule]
        return rules

    def _groups(self, left: Indices) -> Iterator[Indices]:
        """Large groups of these failures that are free of successes.

        They have values of at most two classes in common, and lie between two successes.
        """
        least = len(left) / _RULES
        pairs = [(np.ones(len(left), bool), np.ones(int((~self.failed).sum()), bool))]
        for name, values in self.classes.items():
            ours, others = self.table[name][left], self.passed[name]
            pairs += [(ours == value, others == value) for value in values]
        pairs = [pair for pair in pairs if pair[0].sum() >= least]
        pairs.sort(key=lambda pair: -int(pair[0].sum()))
        for one, other in combinations_with_replacement(pairs, 2):
            inside = one[0] & other[0]
            if inside.sum() < least:
                continue
            some, outside = left[inside], one[1] & other[1]
            pure = not outside.any()
            for group in [some] if pure else [self._stretch(n, some, outside) for n in self.orders]:
                if len(group) >= least:
                    yield group
                    least = max(least, _NEAR * len(group))

    def _stretch(self, name: str, some: Indices, outside: Bool) -> Indices:
        """The most of some failures between two neighbouring successes of an ordered feature."""
        order, found = self.orders[name], self.table[name][some]
        stops = self.sorted[name][outside[order]]
        places = np.searchsorted(stops, found)
        pure = (found != UNKNOWN) & (stops[np.minimum(places, len(stops) - 1)] != found)
        stretch: Indices = some[pure & (places == np.bincount(places[pure], minlength=1).argmax())]
        return stretch


def _hitting(kinds: NDArray[np.uint64], costs: list[float]) -> list[list[int]]:
    """Small sets of literals, the cheapest first, that have one of each mask."""
    kinds = kinds[np.argsort([bits.bit_count() for bits in kinds.tolist()], kind="stable")]
    sets = [frozenset[int]()]
    for _ in range(_LITERALS + 1):
        hit, longer = [], set()
        for some in sets:
            left = kinds[kinds & np.uint64(sum(1 << i for i in some)) == 0]
            if left.size:
                longer |= {some | {i} for i in range(len(costs)) if int(left[0]) >> i & 1}
            else:
                hit.append(sorted(some))
        if hit:
            return hit[:_COMPARED]
        sets = sorted(longer, key=lambda some: (sum(costs[i] for i in some), sorted(some)))[:_SETS]
    return []
