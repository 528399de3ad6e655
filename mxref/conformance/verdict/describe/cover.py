"""The shortest list of rules that is true of every failure and of no success."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, Bool
from mxref.conformance.verdict.describe.features import FEATURES, UNKNOWN, Table
from mxref.conformance.verdict.describe.literals import Literal, Rule, hull

__all__ = ["common", "cover"]

#: At most so many rules, each of at most so many literals, describe failures.
_RULES, _LITERALS = 4, 5
#: How many of the shortest rules are compared in full, and how many first rules are followed.
_COMPARED, _FOLLOWED = 40, 3
#: Where no rule says all: at most so many literals, each leaving at most this part of successes.
_IN_COMMON, _FEWER = 2, 0.6
#: How many sets of literals are followed at once.
_OPEN = 5000
#: How much more a rule must cover for one more literal.
_WEIGHT = 0.9

Indices = NDArray[np.intp]


def cover(table: Table, failed: Bool, effects: I64) -> list[Rule] | None:
    """The shortest list of rules found that together hold of every failure and of no success.

    Args:
        table: the features of all units.
        failed: which of them failed, at least one.
        effects: what became of a failure, as a number: those of one kind are tried as one part.

    Returns:
        The rules, or None where more are needed than anybody would read.
    """
    search = _Search.of(table, failed)
    failures = np.flatnonzero(failed)
    whole = search.shortest(failures)
    if whole is not None:
        return [whole]
    found = list(search.partitions(effects))
    found += [
        rules for first in search.widest(failures, _RULES) if (rules := search.continued([first]))
    ]
    return min(found, key=lambda rules: sum(rule.cost for rule in rules), default=None)


def common(table: Table, failed: Bool) -> Rule:
    """What all failures have in common and many successes have not, where no rule says all."""
    search = _Search.of(table, failed)
    literals = search.hulls(np.flatnonzero(failed))
    left = np.ones(int((~failed).sum()), bool)
    found: list[Literal] = []
    while literals and len(found) < _IN_COMMON:
        inside = [literal.holds(search.passed[literal.feature]) & left for literal in literals]
        best = min(range(len(literals)), key=lambda i: int(inside[i].sum()))
        if inside[best].sum() > _FEWER * left.sum():
            break
        found.append(literals.pop(best))
        left = inside[best]
    return search.widened(found)


@dataclass(frozen=True, slots=True)
class _Search:
    """The features of failures and of successes, those that are always the same left out.

    Args:
        table: of all units.
        failed: which of them failed.
        passed: the features of successes.
        orders: what sorts each of them.
        ordered: the names of the features that are no classes.
        occurring: the values of each class that occur.
    """

    table: Table
    failed: Bool
    passed: Table
    orders: dict[str, Indices]
    ordered: tuple[str, ...]
    occurring: dict[str, frozenset[int]]

    @classmethod
    def of(cls, table: Table, failed: Bool) -> _Search:
        names = [n for n in FEATURES if n in table and table[n].min() != table[n].max()]
        passed = {name: table[name][~failed] for name in names}
        ordered = tuple(name for name in names if not FEATURES[name].names)
        orders = {name: np.argsort(passed[name], kind="stable") for name in ordered}
        occurring = {
            name: frozenset() if name in ordered else frozenset(np.unique(table[name]).tolist())
            for name in names
        }
        occurring = {name: values - {UNKNOWN} for name, values in occurring.items()}
        return cls(table, failed, passed, orders, ordered, occurring)

    def shortest(self, chosen: Indices) -> Rule | None:
        """The shortest rule that holds of the chosen failures and of no success."""
        if self.failed.all():
            return Rule((), self.failed)
        literals = self.hulls(chosen)
        misses = np.zeros(int((~self.failed).sum()), np.uint64)
        for i, literal in enumerate(literals):
            holds = literal.holds(self.passed[literal.feature])
            misses |= np.where(holds, np.uint64(0), np.uint64(1 << i))
        rules = (self.widened([literals[i] for i in some]) for some in _hitting(misses, literals))
        return min(rules, key=lambda rule: rule.cost, default=None)

    def hulls(self, chosen: Indices) -> list[Literal]:
        """The narrowest literal of each feature that holds of the chosen units."""
        found = (hull(n, self.table[n][chosen], self.occurring[n]) for n in self.passed)
        return [literal for literal in found if literal is not None]

    def widened(self, literals: list[Literal]) -> Rule:
        """The rule of literals with their ends moved as far as no success comes in."""
        for i, literal in enumerate(literals):
            stops = self.passed[literal.feature]
            outside = stops != UNKNOWN
            for other in literals[:i] + literals[i + 1 :]:
                outside &= other.holds(self.passed[other.feature])
            literals[i] = literal.widened(stops[outside])
        return Rule.of(literals, self.table, len(self.failed))

    def partitions(self, effects: I64) -> Iterator[list[Rule]]:
        """One rule for each value of a class, or for each effect, where that is enough."""
        failures = np.flatnonzero(self.failed)
        classes = (self.table[name] for name in self.passed if name not in self.ordered)
        for values in (effects, *classes):
            kinds = np.unique(values[failures])
            if 1 < len(kinds) <= _RULES:
                parts = [self.shortest(failures[values[failures] == kind]) for kind in kinds]
                rules = [rule for rule in parts if rule is not None]
                if len(rules) == len(kinds):
                    yield self._needed(rules)

    def _needed(self, rules: list[Rule]) -> list[Rule]:
        """The rules without those that the others make superfluous."""
        for rule in sorted(rules, key=lambda rule: -rule.cost):
            others = [other for other in rules if other is not rule]
            if not self._left(others).size:
                rules = others
        return rules

    def _left(self, rules: list[Rule]) -> Indices:
        """The failures of which no rule holds."""
        left = self.failed.copy()
        for rule in rules:
            left &= ~rule.holds
        return np.flatnonzero(left)

    def continued(self, rules: list[Rule]) -> list[Rule] | None:
        """These rules and as few more as hold of the other failures."""
        while (left := self._left(rules)).size:
            if len(rules) == _RULES:
                return None
            last = self.shortest(left)
            more = self.widest(left, _RULES - len(rules)) if last is None else [last]
            if not more:
                return None
            rules = [*rules, more[0]]
        return self._needed(rules)

    def widest(self, failures: Indices, rules_left: int) -> list[Rule]:
        """A few rules that hold of many of these failures, those of the most first.

        Tried are at most two values of classes, alone and with the stretch of an ordered feature
        that has the most failures between two successes. Where so many rules are enough, one of
        them holds of its share of the failures, so others are left out.
        """
        share = len(failures) / rules_left
        columns = {name: self.table[name][failures] for name in self.passed}
        found: list[tuple[float, Indices]] = []
        best = 0.0
        for weight, inside, outside in self._conjunctions(columns):
            count = int(inside.sum())
            possible = weight * count
            if possible <= best or count < share:
                continue
            if not outside.any():
                found.append((possible, failures[inside]))
                best = possible
                continue
            for name in self.ordered:
                some = self._stretch(name, columns[name], inside, outside)
                score = _WEIGHT * weight * len(some)
                if len(some) >= share and score > best / 2:
                    found.append((score, failures[some]))
                    best = max(best, score)
        rules: list[Rule] = []
        for _, chosen in sorted(found, key=lambda one: -one[0]):
            if not any(rule.holds[chosen].all() for rule in rules):
                rule = self.shortest(chosen)
                rules += [] if rule is None else [rule]
            if len(rules) == _FOLLOWED:
                break
        return rules

    def _conjunctions(self, columns: Table) -> Iterator[tuple[float, Bool, Bool]]:
        """At most two values of classes: a weight, which failures and which successes have them."""
        singles = []
        for name in self.passed:
            if name in self.ordered:
                continue
            for value in np.unique(columns[name]).tolist():
                if value != UNKNOWN:
                    both = columns[name] == value, self.passed[name] == value
                    singles.append((name, *both))
        count = len(next(iter(columns.values()), ()))
        yield 1.0, np.ones(count, bool), np.ones(int((~self.failed).sum()), bool)
        singles.sort(key=lambda single: -int(single[1].sum()))
        for _, inside, outside in singles:
            yield _WEIGHT, inside, outside
        for one, other in itertools.combinations(singles, 2):
            if one[0] != other[0]:
                yield _WEIGHT**2, one[1] & other[1], one[2] & other[2]

    def _stretch(self, name: str, column: I64, inside: Bool, outside: Bool) -> Indices:
        """The failures between two neighbouring successes of an ordered feature: the most."""
        order = self.orders[name]
        stops = self.passed[name][order][outside[order]]
        some = np.flatnonzero(inside & (column != UNKNOWN))
        places = np.searchsorted(stops, column[some])
        pure = stops[np.minimum(places, len(stops) - 1)] != column[some]
        counts = np.bincount(places[pure])
        return some[pure & (places == counts.argmax())] if counts.size else some[:0]


def _hitting(misses: NDArray[np.uint64], literals: list[Literal]) -> list[list[int]]:
    """Sets of literals of which each success misses one: the smallest, and those of one more.

    Args:
        misses: for each success the literals that do not hold of it, as bits.
        literals: the literals; cheap sets come first.
    """
    kinds = np.unique(misses)
    kinds = kinds[np.argsort([bits.bit_count() for bits in kinds.tolist()], kind="stable")]
    for i, kind in enumerate(kinds):  # a success that misses more is missed, too
        if i < len(kinds):
            kinds = np.append(kinds[: i + 1], kinds[i + 1 :][kinds[i + 1 :] & kind != kind])
    found: set[frozenset[int]] = set()
    for size in range(1, _LITERALS + 1):
        if found and min(map(len, found)) < size - 1:
            break
        found |= {one for one in _sets(kinds, size) if not any(less < one for less in found)}
    costs = [literal.cost for literal in literals]
    ordered = sorted(found, key=lambda some: (sum(costs[i] for i in some), sorted(some)))
    return [sorted(some) for some in ordered[:_COMPARED]]


def _sets(kinds: NDArray[np.uint64], size: int) -> Iterator[frozenset[int]]:
    """Sets of at most so many bits that have one of each of some masks, the first mask's first."""
    open_sets: dict[frozenset[int], NDArray[np.uint64]] = {frozenset(): kinds}
    for _ in range(size):
        longer: dict[frozenset[int], NDArray[np.uint64]] = {}
        for some, left in open_sets.items():
            first = int(left[0])
            for bit in range(first.bit_length()):
                if first >> bit & 1 and (more := some | {bit}) not in longer:
                    rest = left[left >> np.uint64(bit) & np.uint64(1) == 0]
                    if rest.size:
                        longer[more] = rest
                    else:
                        yield more
        open_sets = dict(itertools.islice(longer.items(), _OPEN))
