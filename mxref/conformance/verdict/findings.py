"""Causes in words, each once for all formats of an operation that share it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mxref.conformance.verdict.row import VerifyRow
from mxref.policy.policy import Policy

if TYPE_CHECKING:
    from mxref.conformance.verdict.cause.cause import Cause, Stage

__all__ = ["Finding", "findings", "summed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The cause of a target's answers to an operation on some formats.

    Args:
        op: the operation.
        formats: the formats.
        every: whether they are all that were compared, of several.
        cause: what gives the answers; its counts are those of all the formats.
        also: names of other causes that give the same answers.
        against: the profile that the answers were compared with, if it was one.
        missing: the number of cases that recorded answers lack.
    """

    op: str
    formats: tuple[str, ...]
    every: bool
    cause: Cause
    also: tuple[str, ...] = ()
    against: str | None = None
    missing: int = 0

    def is_of(self, row: VerifyRow) -> bool:
        """Whether it is the cause of a row's answers."""
        where = self.op, self.against
        return row.format in self.formats and (row.op, row.profile) == where

    def __str__(self) -> str:
        formats = f", all {len(self.formats)} formats" if self.every else f" {_list(self.formats)}"
        word = "equals" if self.cause.complete else "is nearest to"
        share = f"on {self.cause.same} of {self.cause.total} cases"
        if self.missing:
            share += f" with an answer; {self.missing} have none"
        also = f"; also {_list(self.also)}" if self.also else ""
        return f"{self.op}{formats}: your output {word} {self._what()} {share}{also}"

    def _what(self) -> str:
        """The cause in words."""
        cause = self.cause
        if cause.kind == "policy":
            return cause.policy
        if cause.kind == "profile":
            return f"profile {cause.name}"
        inside = f" of {cause.part}" if cause.part != self.op else ""
        if cause.kind == "order":
            name = f"{cause.policy} with codes{inside} in another order, {cause.name}"
        elif cause.kind == "stages":
            name = f"{cause.policy} with other stages"
        elif cause.kind == "shift":
            name = f"{cause.policy} with {cause.name}"
        else:
            over = "" if cause.policy == "ocp" else f"{cause.policy} with "
            name = f"{over}mutant {cause.name}{inside}, {cause.title}"
        seen = f" (seen in {_few(cause.seen)})" if cause.seen else ""
        floats = f" with {_list(cause.floats)} only," if cause.floats else ""
        return f"{name}: {cause.text}{seen},{floats}"

    def as_json(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "op": self.op,
            "formats": list(self.formats),
            "text": str(self),
            "cause": self.cause.as_json(),
            "also": list(self.also),
        }


def findings(rows: Sequence[VerifyRow]) -> tuple[Finding, ...]:
    """The findings on the causes of all rows, operation by operation."""
    ops = dict.fromkeys(row.op for row in rows)
    return tuple(found for op in ops for found in _of_one([row for row in rows if row.op == op]))


def _of_one(rows: Sequence[VerifyRow]) -> Iterator[Finding]:
    """The findings on the rows of one operation."""
    left = _under_one_policy(rows)
    while left:
        keys = [_key(cause) for causes in left.values() for cause in causes]
        common = max(dict.fromkeys(keys), key=keys.count)  # the first of the most frequent ones
        some = {format: causes for format, causes in left.items() if common in map(_key, causes)}
        left = {format: causes for format, causes in left.items() if format not in some}
        found = [next(c for c in causes if _key(c) == common) for causes in some.values()]
        shared = set.intersection(*({_key(c) for c in causes} for causes in some.values()))
        also = [c.name for c in next(iter(some.values())) if _key(c) in shared - {common}]
        same, total = sum(c.same for c in found), sum(c.total for c in found)
        stages = summed([one.stages for one in found])
        cause = dataclasses.replace(found[0], same=same, total=total, stages=stages)
        missing = sum(row.missing for row in rows if row.format in some)
        every = len(some) == len(rows) > 1
        yield Finding(rows[0].op, tuple(some), every, cause, tuple(also), rows[0].profile, missing)


def summed(every: Sequence[tuple[Stage, ...]]) -> tuple[Stage, ...]:
    """The stages of equal causes, each with the units of all of them."""
    found = []
    for number, stage in enumerate(every[0]):
        some = [one for stages in every for one in stages[number : number + 1]]
        counts = [(one.wrong, one.left, one.total) for one in some if one.name == stage.name]
        wrong, left, total = map(sum, zip(*counts, strict=True))
        found.append(dataclasses.replace(stage, wrong=wrong, left=left, total=total))
    return tuple(found)


def _under_one_policy(rows: Sequence[VerifyRow]) -> dict[str, tuple[Cause, ...]]:
    """Causes by format; one policy that explains all these formats replaces their own."""
    causes = {row.format: row.causes for row in rows if row.causes}
    some = [row for row in rows if row.causes and row.causes[0].kind == "policy"]
    some = [row for row in some if row.causes[0].complete]
    policies = [Policy.parse(row.causes[0].policy) for row in some]
    default = Policy().choices().items()
    changed = [dict(policy.choices().items() - default) for policy in policies]
    union = Policy().replace(**{name: c[name] for c in changed for name in c})
    for policy in (union, *policies) if len(set(policies)) > 1 else ():
        from mxref.conformance.verdict.cause.diagnose import answers_differ

        if not any(answers_differ(row.outcomes, policy) for row in some):
            name = str(policy)
            for row in some:
                one = dataclasses.replace(row.causes[0], name=name, policy=name)
                causes[row.format] = (one,)
            break
    return causes


def _key(cause: Cause) -> tuple[Any, ...]:
    """The key under which equal causes of several formats are collected."""
    about = cause.kind, cause.name, cause.text, cause.part, cause.policy, cause.floats
    return about if cause.complete else (*about, id(cause))  # what is partly so is said of each


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


def _few(names: Sequence[str]) -> str:
    """The first three of several names, and how many more there are."""
    return _list(names[:3]) + f" and {len(names) - 3} more" * (len(names) > 3)
