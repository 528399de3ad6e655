"""Sets of policies, stored as products of small tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mxref.policy.policy import Policy

__all__ = ["Factor", "PolicySet", "simplest"]

#: Members of some choices, by the names of the choices.
Members = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Factor:
    """Choices that depend on one another, and the possible combinations of their members.

    Args:
        names: the choices.
        rows: the combinations of their members, in order.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def project(self, names: Collection[str]) -> Factor:
        """The different combinations of some of the choices."""
        kept = [i for i, name in enumerate(self.names) if name in names]
        rows = dict.fromkeys(tuple(row[i] for i in kept) for row in self.rows)
        return Factor(tuple(self.names[i] for i in kept), tuple(rows))

    def split(self) -> tuple[Factor, ...]:
        """Factors of the same product, with every independent choice in a factor of its own."""
        for name in self.names if len(self.names) > 1 else ():
            alone, rest = self.project((name,)), self.project([n for n in self.names if n != name])
            # A set is part of the product of its projections, and equal if of the same size.
            if len(alone.rows) * len(rest.rows) == len(self.rows):
                return (alone, *rest.split())
        return (self,)


@dataclass(frozen=True, slots=True)
class PolicySet:
    """A set of combinations of members: the product of its factors.

    >>> space = PolicySet.of({"rounding": ("to_odd", "toward_zero"), "clamp": ("before_rounding",)})
    >>> space.count, space.project(["rounding"])[1]
    (2, {'rounding': 'toward_zero'})
    """

    factors: tuple[Factor, ...]

    @staticmethod
    def of(members: Mapping[str, Sequence[str]]) -> PolicySet:
        """Every combination of the members of some choices."""
        return PolicySet(
            tuple(Factor((n,), tuple((m,) for m in some)) for n, some in members.items())
        )

    @property
    def count(self) -> int:
        """The number of combinations."""
        return math.prod(len(factor.rows) for factor in self.factors)

    def values(self, name: str) -> tuple[str, ...]:
        """The remaining members of a choice."""
        (factor,) = [factor for factor in self.factors if name in factor.names]
        return tuple(row[0] for row in factor.project((name,)).rows)

    def project(self, names: Collection[str]) -> list[dict[str, str]]:
        """The different combinations of some choices."""
        some = (factor for factor in self.factors if any(name in names for name in factor.names))
        return list(_combined(factor.project(names) for factor in some))

    def keep(self, names: Collection[str], kept: Iterable[Members]) -> PolicySet:
        """The combinations that agree, in these choices, with one of those kept."""
        touched = [factor for factor in self.factors if set(factor.names) & set(names)]
        others = tuple(factor for factor in self.factors if factor not in touched)
        joined: list[dict[str, str]] = []
        for some in kept:
            agreeing = [
                Factor(
                    factor.names, tuple(row for row in factor.rows if _agrees(factor, row, some))
                )
                for factor in touched
            ]
            joined += _combined(agreeing)
        order = tuple(name for factor in touched for name in factor.names)
        rows = dict.fromkeys(tuple(one[name] for name in order) for one in joined)
        whole = Factor(order, tuple(rows))
        return PolicySet((*others, *whole.split())) if order else self

    @property
    def open(self) -> list[str]:
        """The choices with several members left."""
        return [n for f in self.factors if len(f.rows) > 1 for n in f.names]

    def widen(self, name: str, groups: Mapping[str, Sequence[str]]) -> PolicySet:
        """The set with every member of a choice replaced by each member of its group."""
        factors = []
        for factor in self.factors:
            if name in factor.names:
                at = factor.names.index(name)
                rows = tuple(
                    (*row[:at], member, *row[at + 1 :])
                    for row in factor.rows
                    for member in groups[row[at]]
                )
                factor = Factor(factor.names, rows)
            factors.append(factor)
        return PolicySet(tuple(factors))

    def __contains__(self, members: Members) -> bool:
        return all(
            tuple(members[name] for name in factor.names) in factor.rows for factor in self.factors
        )

    def __iter__(self) -> Iterator[dict[str, str]]:
        return _combined(self.factors)


def _agrees(factor: Factor, row: tuple[str, ...], members: Members) -> bool:
    pairs = zip(factor.names, row, strict=True)
    return all(members.get(name, member) == member for name, member in pairs)


def _combined(factors: Iterable[Factor]) -> Iterator[dict[str, str]]:
    """Every combination of the rows of factors."""
    factors = list(factors)
    names = [name for factor in factors for name in factor.names]
    for rows in itertools.product(*(factor.rows for factor in factors)):
        yield dict(zip(names, itertools.chain(*rows), strict=True))


#: The members of `ocp`, by the choices.
_DEFAULT = Policy().choices()


def simplest(space: PolicySet) -> dict[str, str]:
    """The combination with the fewest choices that differ from `ocp`."""
    found: dict[str, str] = {}
    for factor in space.factors:
        row = min(
            factor.rows,
            key=lambda row: sum(_DEFAULT[n] != m for n, m in zip(factor.names, row, strict=True)),
        )
        found |= dict(zip(factor.names, row, strict=True))
    return found
