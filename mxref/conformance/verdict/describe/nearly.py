"""Rules that hold of most failures and of few successes, where no few rules are exact.

A kernel may be right by chance in some of the cases that it treats wrongly. So a few successes may
be among what a rule holds of; its counts say how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mxref.bits.floats import I64, Bool
from mxref.conformance.verdict.describe.features import FEATURES, UNKNOWN, Table
from mxref.conformance.verdict.describe.rules import FeatureRule, Literal, common, told_rule
from mxref.support.distinct import distinct

#: The limits of what a reader takes in: rules, and literals of each; sets of these tried at once.
_RULES, _LITERALS, _SETS = 3, 3, 30
#: A success among what a rule holds of weighs as much as so many failures; so does a literal, in
#: parts of all failures. A rule holds of so many failures that no other does, at least.
_WEIGHT, _SHARE, _LEAST = 4, 0.02, 3
#: The part of all failures that rules hold of; else they say too little.
_MOST = 0.75
#: Values of an ordered feature that are tried as ends, and units from which rules are made.
_ENDS, _UNITS = 12, 4000


def nearly(table: Table, failed: Bool) -> list[FeatureRule] | None:
    """Rules that together hold of all failures, those of most each of few successes; None if none.

    The last one is what the rest have in common, if there is a rest.

    Args:
        table: the features of all units.
        failed: which units are wrong.
    """
    chosen = np.zeros(failed.size, bool)
    for units in (np.flatnonzero(failed), np.flatnonzero(~failed)):
        chosen[units[:: max(1, 2 * units.size // _UNITS)]] = True
    every = [*(n for n in FEATURES if n in table), *(n for n in table if n not in FEATURES)]
    names = [n for n in every if table[n].min() != table[n].max()]
    search = _Search({name: table[name][chosen] for name in names}, failed[chosen])
    found = [told_rule(literals, table, failed) for literals in search.rules()]
    rules = [rule for rule in found if _score(rule.holds, failed) > 0]
    held = np.any([np.zeros(failed.size, bool), *(rule.holds for rule in rules)], axis=0)
    left = failed & ~held
    if not rules or left.sum() > (1 - _MOST) * failed.sum():
        return None
    if left.any():
        others = {name: table[name][left | ~failed] for name in table}
        rest = common(others, left[left | ~failed])
        rules.append(told_rule(rest.literals, table, left))
    return rules


def _score(holds: Bool, failed: Bool) -> int:
    """How many failures a rule holds of, less its successes by their weight."""
    return int((holds & failed).sum()) - _WEIGHT * int((holds & ~failed).sum())


class _Search:
    """Sets of literals, one rule after the other, from some units."""

    def __init__(self, table: Table, failed: Bool) -> None:
        self.table, self.failed = table, failed
        found = [*self._literals()]
        self.literals = [literal for literal, _ in found]
        self.holds = np.array([holds for _, holds in found])

    def rules(self) -> Iterator[list[Literal]]:
        """The literals of each rule, that of most failures first."""
        left = self.failed.copy()
        for _ in range(_RULES if self.literals else 0):
            found = self._best(left)
            if found is None:
                return
            yield _merged([self.literals[i] for i in sorted(found)])
            left &= ~self.holds[list(found)].all(axis=0)

    def _best(self, left: Bool) -> frozenset[int] | None:
        """The set of literals with the best score on the failures that are left; None if none."""
        least = max(_LEAST, int(_SHARE * left.sum()))
        cost = max(1, int(_SHARE * self.failed.sum()))
        sets: dict[frozenset[int], Bool] = {frozenset(): np.ones(left.size, bool)}
        best, most = None, 0
        numbers = self.holds.T.astype(np.float32)
        for _ in range(_LITERALS):
            longer: dict[frozenset[int], tuple[int, Bool]] = {}
            inside_of = np.array([*sets.values()], bool).reshape(-1, left.size)
            rights = (left & inside_of).astype(np.float32) @ numbers
            wrongs = (~self.failed & inside_of).astype(np.float32) @ numbers
            for (some, inside), right, wrong in zip(sets.items(), rights, wrongs, strict=True):
                scores = (right - _WEIGHT * wrong).astype(np.int64)
                for i in np.argsort(-scores, kind="stable")[:_SETS].tolist():
                    if i not in some and right[i] >= least:
                        longer.setdefault(some | {i}, (int(scores[i]), inside & self.holds[i]))
            order = sorted(longer.items(), key=lambda one: -one[1][0])[:_SETS]
            for some, (score, _) in order:
                value = score - cost * (len(some) - 1)
                if value > most:
                    best, most = some, value
            sets = {some: inside for some, (_, inside) in order}
        return best

    def _literals(self) -> Iterator[tuple[Literal, Bool]]:
        """Every literal that is tried: values, all classes but one, and ends of ranges."""
        for name, column in self.table.items():
            known = column != UNKNOWN
            ours = distinct(column[self.failed & known])
            for literal in _of_values(name, ours, distinct(column[known])):
                holds = literal.holds(column) & known
                if holds.any() and not holds.all():
                    yield literal, holds


def _of_values(name: str, ours: I64, values: I64) -> Iterator[Literal]:
    """The literals of a feature, from its values of failures and all its values."""
    if not ours.size:
        return
    if FEATURES[name].names:
        yield from (Literal(name, (value,)) for value in ours.tolist())
        if values.size > 2:
            for value in values.tolist():
                yield Literal(name, tuple(other for other in values.tolist() if other != value))
        return
    yield Literal(name)  # it is known
    places = np.searchsorted(values, ours)
    yield from (Literal(name, (value,)) for value in _some(ours))
    lows = ours[(places > 0) & ~np.isin(values[places - 1], ours)]
    yield from (Literal(name, (), low=value) for value in _some(lows))
    above = np.minimum(places + 1, values.size - 1)
    highs = ours[(places < values.size - 1) & ~np.isin(values[above], ours)]
    yield from (Literal(name, (), high=value) for value in _some(highs))


def _some(values: I64) -> list[int]:
    """Not more values than are tried, evenly from all."""
    count = min(values.size, _ENDS)
    places = np.linspace(0, values.size - 1, count).astype(np.int64)
    return [int(value) for value in values[places]]


def _has(literal: Literal, value: int) -> bool:
    return bool(literal.holds(np.array([value]))[0])


def _merged(literals: Sequence[Literal]) -> list[Literal]:
    """One literal for each feature that holds where all of the feature's do.

    >>> few = Literal("code", (), low=3), Literal("sign", (1,)), Literal("code", (), high=9)
    >>> [one.text for one in _merged(few)]
    ['the code is at least 03 and at most 09', 'x is negative']
    """
    found: dict[str, Literal] = {}
    for one in literals:
        other = found.get(one.feature, one)
        if one.values or other.values:
            values = [v for v in one.values or other.values if _has(one, v) and _has(other, v)]
            found[one.feature] = Literal(one.feature, tuple(values))
            continue
        lows = [end for end in (one.low, other.low) if end is not None]
        highs = [end for end in (one.high, other.high) if end is not None]
        low, high = max(lows, default=None), min(highs, default=None)
        found[one.feature] = Literal(one.feature, (), low, high)
    return list(found.values())
