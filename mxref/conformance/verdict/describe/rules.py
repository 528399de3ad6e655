"""A few short rules that together are true of every failure and of no success.

A rule for some failures takes the narrowest literal of each feature that holds of all of them, and
of these a few that together exclude every success. If one rule is not enough, the largest group of
failures with something in common gets a rule, and the rest the next.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, LAYOUTS, Bool, FloatLayout
from mxref.conformance.verdict.describe.features import FEATURES, UNKNOWN, Table, adjacent
from mxref.support.distinct import distinct

Indices = NDArray[np.intp]
#: The limits of what a reader takes in: rules, and literals of each; sets of these tried at once.
_RULES, _LITERALS, _SETS = 4, 4, 40


@dataclass(frozen=True, slots=True)
class Literal:
    """A feature has one of some values, or lies between two ends, or is known."""

    feature: str  #: its name in FEATURES
    values: tuple[int, ...] = ()  #: of a class, or a single value
    low: int | None = None  #: the least value of an ordered feature, if there is one
    high: int | None = None  #: the greatest value
    above: bool = False  #: whether `low` itself is left out
    below: bool = False  #: whether `high` itself is left out

    def holds(self, found: I64) -> Bool:
        """Where the literal is true of the feature's values."""
        if self.values:
            return np.isin(found, self.values)
        low = -UNKNOWN - 1 if self.low is None else self.low + self.above
        high = UNKNOWN - 1 if self.high is None else self.high - self.below
        return (low <= found) & (found <= high)

    @property
    def text(self) -> str:
        """The literal in words.

        >>> Literal("sign", (1,)).text, Literal("remainder", (1, 2, 3)).text
        ('x is negative', 'x is not exact')
        >>> Literal("position", low=4, high=7).text, Literal("code", low=0x80).text
        ('the position in the block is at least 4 and at most 7', 'the code is at least 80')
        """
        feature = FEATURES[self.feature]
        if self.values and feature.names:
            return feature.show_classes(self.values)
        if self.values:
            return feature.phrase.format(" or ".join(map(feature.show, self.values)))
        ends = []
        if self.low is not None:
            ends.append(f"{'above' if self.above else 'at least'} {feature.show(self.low)}")
        if self.high is not None:
            ends.append(f"{'below' if self.below else 'at most'} {feature.show(self.high)}")
        return feature.phrase.format(" and ".join(ends) or "a number")

    def as_json(self) -> dict[str, Any]:
        """As plain data: `values`, or `low` and `high` and whether they are included."""
        plain = FEATURES[self.feature].plain
        if self.values:
            return {"feature": self.feature, "values": [plain(value) for value in self.values]}
        low, high = (None if end is None else plain(end) for end in (self.low, self.high))
        included = {"low_included": not self.above, "high_included": not self.below}
        return {"feature": self.feature, "low": low, "high": high, **included}

    def between(self, stops: I64) -> Literal:
        """As wide as no stop comes in: up to the nearest stops, which are left out."""
        if self.low is None or self.high is None:
            return self
        lower, upper = stops[stops < self.low], stops[stops > self.high]
        low = int(lower.max()) if lower.size else None
        high = int(upper.min()) if upper.size else None
        return Literal(self.feature, (), low, high, above=low is not None, below=high is not None)

    def told(self, failed: I64, asked: I64, layout: FloatLayout | None) -> Literal:
        """With the ends that are said: the least and the greatest of the values that failed.

        So of what was not asked nothing is said. An end with no stop behind it stays open. Where a
        value was asked and no float of the layout lies between it and the end, the shorter of the
        two is said.
        """
        if self.values:
            return self
        feature, low, high = FEATURES[self.feature], None, None
        layout = layout if feature.floats else None
        above = below = False
        if self.low is not None:
            low = int(failed.min())
            near = int(asked[asked < low].max())
            above = layout is not None and adjacent(near, low, layout)
            above &= len(feature.show(near)) < len(feature.show(low))
            low = near if above else low
        if self.high is not None:
            high = int(failed.max())
            near = int(asked[asked > high].min())
            below = layout is not None and adjacent(high, near, layout)
            below &= len(feature.show(near)) < len(feature.show(high))
            high = near if below else high
        return Literal(self.feature, (), low, high, above, below)


class FeatureRule(NamedTuple):
    """Literals that hold together, in the order of FEATURES, and the units of which they do."""

    literals: tuple[Literal, ...]
    holds: Bool


#: Units from which rules are made at once.
_MOST = 4000


def cover(table: Table, failed: Bool, changes: NDArray[np.generic]) -> list[FeatureRule] | None:
    """Rules that together hold of every failure and of no success; None if it takes too many.

    Failures with equal changes may make a rule. Of very many units rules are made from some, until
    they hold of the others, too.
    """
    if failed.size <= _MOST:
        return _cover(table, failed, changes)
    chosen = np.zeros(failed.size, bool)
    for units in (np.flatnonzero(failed), np.flatnonzero(~failed)):
        chosen[units[:: max(1, 4 * units.size // _MOST)]] = True
    while chosen.sum() <= failed.size // 2:
        part = {name: column[chosen] for name, column in table.items()}
        found = _cover(part, failed[chosen], changes[chosen])
        if found is None:
            return None
        rules = [FeatureRule(rule.literals, _holds(rule.literals, table)) for rule in found]
        wrong = np.flatnonzero(np.any([rule.holds for rule in rules], axis=0) != failed)
        if not wrong.size:
            return [told_rule(rule.literals, table, failed) for rule in rules]
        chosen[wrong[:: max(1, wrong.size // 200)]] = True
    return _cover(table, failed, changes)


def _holds(literals: Sequence[Literal], table: Table) -> Bool:
    """The units of which some literals hold together."""
    every = np.ones(len(next(iter(table.values()))), bool)
    found: Bool = np.all([every, *(one.holds(table[one.feature]) for one in literals)], axis=0)
    return found


def told_rule(
    literals: Sequence[Literal], table: Table, failed: Bool, layout: FloatLayout | None = None
) -> FeatureRule:
    """The rule of literals with the ends that are said."""
    layout = layout or _widest(table)
    inside = failed & _holds(literals, table)
    columns = [table[one.feature] for one in literals]
    told = [
        one.told(column[inside], column, layout)
        for one, column in zip(literals, columns, strict=True)
    ]
    return FeatureRule(tuple(told), _holds(told, table))


def _widest(table: Table) -> FloatLayout | None:
    """The layout of most fraction bits among the units, if they have float types."""
    numbers = distinct(table.get("float type", np.zeros(0, np.int64)))
    layouts = [list(LAYOUTS.values())[number] for number in numbers]
    return max(layouts, key=lambda layout: layout.mantissa_bits, default=None)


def _cover(table: Table, failed: Bool, changes: NDArray[np.generic]) -> list[FeatureRule] | None:
    """`cover` for all units at once."""
    search = _Search(table, failed)
    rules: list[FeatureRule] = []
    left = np.flatnonzero(failed)
    while left.size:
        rule = search.rule(left) or search.widest(left, changes[left])
        if rule is None or len(rules) == _RULES:
            return None
        rules.append(rule)
        left = search.left(rules)
    for rule in rules[:-1]:  # a later rule may hold of all that an earlier one does
        others = [other for other in rules if other is not rule]
        rules = rules if search.left(others).size else others
    return rules


def common(table: Table, failed: Bool) -> FeatureRule:
    """The literal that holds of all failures and of the fewest successes.

    A value that all failures share is said beside it, if that excludes most of the successes.
    """
    search = _Search(table, failed)
    hulls = search.hulls(failed)
    rules = [search.widened([]), *(search.widened([one]) for one in hulls)]
    best = min(rules, key=lambda rule: int(rule.holds.sum()))
    named = {one.feature for one in best.literals}
    pairs = [
        search.widened([*best.literals, one])
        for one in hulls
        if len(one.values) == 1 and one.feature not in named
    ]
    both = min(pairs, key=lambda rule: int(rule.holds.sum()), default=best)
    right = [int((rule.holds & ~failed).sum()) for rule in (best, both)]
    return both if 2 * right[1] <= right[0] > 0 else best


def _effort(rule: FeatureRule) -> tuple[int, int, int]:
    """How little a rule says, then its letters, then its ranges.

    A literal of all classes but one, other than the first (zero, exact), may be true by accident.
    """
    found = ((one.values, len(FEATURES[one.feature].names)) for one in rule.literals)
    vague = sum(len(values) == count - 1 > 1 and 0 in values for values, count in found)
    letters = sum(len(one.text) for one in rule.literals)
    return vague, letters, sum(not one.values for one in rule.literals)


class _Search:
    """Rules from those features of some units that are not the same in all of them."""

    def __init__(self, table: Table, failed: Bool) -> None:
        self.failed = failed
        known = [name for name in FEATURES if name in table]
        every = [*known, *(name for name in table if name not in FEATURES)]
        names = [n for n in every if table[n].min() != table[n].max()]
        self.table = {name: table[name] for name in names}
        self.layout = _widest(table)
        self.passed = {name: table[name][~failed] for name in names}
        self.classes = {n: distinct(table[n]).tolist() for n in names if FEATURES[n].names}

    def hulls(self, chosen: Indices | Bool) -> list[Literal]:
        """The narrowest literal of each feature that is known of all the chosen units."""
        found = []
        for name, column in self.table.items():
            values = column[chosen]
            low, high = int(values.min()), int(values.max())
            if name in self.classes:
                literal = Literal(name, tuple(distinct(values).tolist()))
            else:
                literal = Literal(name, (low,)) if low == high else Literal(name, (), low, high)
            found += [literal] if high != UNKNOWN else []
        return found

    def rule(self, chosen: Indices) -> FeatureRule | None:
        """A short rule that holds of the chosen failures and of no success."""
        literals = self.hulls(chosen)
        inside = [literal.holds(self.passed[literal.feature]) for literal in literals]
        if np.all([~self.failed[~self.failed], *inside], axis=0).any():
            return None  # all literals together let some in
        sets = {frozenset[int](): np.ones(int((~self.failed).sum()), bool)}  # successes let in
        for _ in range(_LITERALS + 1):
            found = [some for some, left in sets.items() if not left.any()]
            if found:
                rules = [self.widened([literals[i] for i in sorted(some)]) for some in found]
                return min(rules, key=_effort)
            longer = {
                some | {i}: left & one
                for some, left in sets.items()
                for i, one in enumerate(inside)
            }
            order = sorted(longer.items(), key=lambda one: np.count_nonzero(one[1]))
            sets = dict(order[:_SETS])
        return None

    def widened(self, literals: list[Literal]) -> FeatureRule:
        """The rule of literals for all failures to which they reach before a success comes in."""
        for i, literal in enumerate(literals):
            stops = self.passed[literal.feature]
            outside = stops != UNKNOWN
            for other in literals[:i] + literals[i + 1 :]:
                outside &= other.holds(self.passed[other.feature])
            literals[i] = literal.between(stops[outside])
        if not literals:
            return FeatureRule((), np.ones(len(self.failed), bool))
        return told_rule(literals, self.table, self.failed, self.layout)

    def left(self, rules: list[FeatureRule]) -> Indices:
        """The failures of which no rule holds."""
        return np.flatnonzero(self.failed & ~np.any([rule.holds for rule in rules], axis=0))

    def widest(self, left: Indices, changes: NDArray[np.generic]) -> FeatureRule | None:
        """A rule for the failures with the most frequent change, or for the most between successes.

        The latter share values of at most two classes, and a gap of an ordered feature.
        """
        pairs = [(np.ones(len(left), bool), np.ones(int((~self.failed).sum()), bool))]
        for name, values in self.classes.items():
            ours, others = self.table[name][left], self.passed[name]
            pairs += [(ours == value, others == value) for value in values]
        pairs.sort(key=lambda pair: -int(pair[0].sum()))
        most = left[:0]
        for one, other in combinations_with_replacement(pairs, 2):
            some, outside = left[one[0] & other[0]], one[1] & other[1]
            if len(some) > max(len(most), len(left) // _RULES):
                most = max(most, self._stretch(some, outside) if outside.any() else some, key=len)
        kinds, counts = np.unique(changes, return_counts=True)
        groups = [most, left[changes == kinds[counts.argmax()]]]
        rules = map(self.rule, sorted(filter(len, groups), key=len, reverse=True))
        return next(filter(None, rules), None)

    @functools.cached_property
    def _places(self) -> tuple[I64, Bool, Bool]:
        """Of ordered features, a row each: the place of each unit among the values of successes.

        Places are counted on from one feature to the next. With them: which units are known, and
        which have the very value of a success.
        """
        names = [name for name in self.table if name not in self.classes]
        places = np.zeros((len(names), self.failed.size), np.int64)
        known, same, count = places > 0, places > 0, 0
        for i, name in enumerate(names):
            stops, found = distinct(self.passed[name]), self.table[name]
            where = np.searchsorted(stops, found)
            places[i], count = where + count, count + len(stops) + 1
            known[i] = found != UNKNOWN
            same[i] = stops[np.minimum(where, len(stops) - 1)] == found
        return places, known, same

    def _stretch(self, some: Indices, outside: Bool) -> Indices:
        """The most of some failures between two neighbouring successes of an ordered feature."""
        places, known, same = self._places
        stops = np.zeros(int(places.max(initial=0)) + 1, bool)
        stops[places[:, np.flatnonzero(~self.failed)[outside]]] = True
        below = np.cumsum(stops) - stops
        found = places[:, some]
        pure = known[:, some] & ~(same[:, some] & stops[found])
        gaps = below[found] + np.arange(len(found))[:, np.newaxis]
        best = np.bincount(gaps[pure], minlength=1).argmax()
        return np.asarray(some[(pure & (gaps == best)).any(axis=0)])
