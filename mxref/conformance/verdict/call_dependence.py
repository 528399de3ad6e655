"""Findings about calls (their size, state and memory), and the list of what was asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mxref.support.text import a_few

__all__ = [
    "DEPENDENCES",
    "MIXING",
    "CallDependence",
    "OrdinaryScope",
    "Scope",
    "unsteady_rows",
    "uses_text",
]

#: Kinds of ordinary data of each sort that are named in a text.
_KINDS = 3
#: Verdicts on ways of calling that change answers.
DEPENDENCES = {
    "size": "depends on the size of the call",
    "options": "is wrong with some options of a call",
    "state": "is not reproducible",
    "company": "mixes cases of a call",
    "data": "treats ordinary calls otherwise",
    "memory": "depends on where its arrays lie in memory",
    "threads": "fails when called by two threads",
    "stream": "does not wait for the stream that it is called on",
    "effect": "changes more than its result",
    "empty": "answers an empty call wrongly",
    "numbers": "computes tensors wrongly",
}


#: Kinds that are seen where a block's answer depends on other blocks of the call.
MIXING = frozenset(("company", "size"))


@dataclass(frozen=True, slots=True)
class CallDependence:
    """A way of calling a target that changes its answers.

    Args:
        op: the operation.
        format: the format.
        kind: `size` of the call, `options` (other arguments than numbers, and types), `state` kept
            between calls, `company` (what else is in the call), `data` (what all numbers of a call
            have in common), `memory` (where an array lies),
            `threads`, `stream` (of a GPU, that the call is on), `effect` (what a call changes
            beside its result), `empty` (a call with no case), `numbers` (the numbers of a tensor,
            whatever its size).
        text: what is wrong, in one sentence; an example or an error stands behind a colon.
        beside: whether it is so beside a known bug, which gives the answers to the vectors.
    """

    op: str
    format: str
    kind: str
    text: str
    beside: bool = False

    @property
    def key(self) -> str:
        """Its name in an xfail file.

        >>> CallDependence("quantize", "mxfp4_e2m1", "size", "wrong only in calls with one row").key
        'quantize mxfp4_e2m1 size'
        """
        return f"{self.op} {self.format} {self.kind}"

    def of_mixed(self) -> CallDependence:
        """It where blocks of a call are mixed: sizes of calls are no reason then."""
        if self.kind != "size":
            return self
        return replace(self, kind="company", text="an answer depends on what else is in the call")

    @property
    def what(self) -> str:
        """What is wrong, without the example, and without what the verdict on its kind says.

        >>> CallDependence("encode", "e2m1", "size", "wrong only in one row: want 0f, got 07").what
        'encode e2m1: wrong only in one row'
        >>> CallDependence("encode", "e2m1", "state", "not reproducible: 00 and 07").what
        'encode e2m1'
        """
        text = self.text.partition(": ")[0]
        text = "" if text in DEPENDENCES[self.kind] else f": {text}"
        return f"{self.op} {self.format}{text}"

    def __str__(self) -> str:
        return f"{self.op} {self.format}: {self.text}"


@dataclass(frozen=True, slots=True)
class OrdinaryScope:
    """The calls of ordinary data of one operation and format.

    Args:
        op: the operation.
        format: the format.
        kinds: what all numbers, codes, scales or parameters of a call are, such as `codes sparse`.
        calls: the number of calls.
        elements: the number of elements in them.
        largest: that of the largest call.
    """

    op: str
    format: str
    kinds: tuple[str, ...]
    calls: int
    elements: int
    largest: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What a target was asked beside the cases of the vectors.

    Args:
        calls: number of calls with cases that were asked before.
        smallest: the least number of rows in a call; 0 if there was none.
        largest: the greatest number of rows in a call.
        elements: the largest number of elements that a call may have.
        following: number of calls whose place after others is what is asked.
        searched: number of questions of the search.
        searched_in: the operations and formats of which every question of the search was asked; of
            slow targets fewer are.
        unsearched: the operations and formats of which no question of the search was asked, with
            the reason; empty if there are none, or if no search was wanted.
        seed: the seed of the search.
        level: the level of the vectors that were asked.
        families: number of exhaustive families that were asked.
        family_cases: number of their cases.
        ordinary: whole calls drawn like tensors, by operation and format.
        notes: what was not asked or was refused, each with the reason.
    """

    calls: int = 0
    smallest: int = 0
    largest: int = 0
    elements: int = 0
    following: int = 0
    searched: int = 0
    searched_in: tuple[tuple[str, str], ...] = ()
    unsearched: str = ""
    seed: int = 0
    level: int = 1
    families: int = 0
    family_cases: int = 0
    ordinary: tuple[OrdinaryScope, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What was asked, in words; empty if it was the vectors alone."""
        parts = []
        if self.calls:
            rows = f"{self.smallest} to {self.largest:,} rows"
            parts.append(
                f"cases again, twice, in {self.calls:,} calls of {rows}, "
                f"at most {self.elements:,} elements each"
            )
        if self.following:
            parts.append(f"{self.following:,} calls that follow others")
        if self.families:
            parts.append(f"{self.families} exhaustive families of {self.family_cases:,} cases")
        if self.ordinary:
            parts.append(_ordinary(self.ordinary))
        if self.searched:
            parts.append(f"a search of {self.searched:,} questions (seed {self.seed})")
        if self.unsearched:
            parts.append(f"search: not asked, because {self.unsearched}")
        return "; ".join([f"the vectors (level {self.level})", *parts]) if parts else ""

    def as_json(self) -> dict[str, Any]:
        """The scope as plain data."""
        where = [list(pair) for pair in self.searched_in]
        ordinary = [asdict(one) | {"kinds": list(one.kinds)} for one in self.ordinary]
        lists = {"searched_in": where, "notes": list(self.notes), "ordinary": ordinary}
        return asdict(self) | lists


def _ordinary(scopes: Sequence[OrdinaryScope]) -> str:
    """Calls of ordinary data, in words, with the first kinds of each sort."""
    sorts: dict[str, dict[str, None]] = {}
    for one in scopes:
        for kind in (kind for kinds in one.kinds for kind in kinds.split(", ")):
            sort, _, name = kind.partition(" ")
            sorts.setdefault(sort, {})[name] = None
    kinds = "; ".join(f"{sort} {a_few([*names], _KINDS)}" for sort, names in sorts.items())
    calls, largest = sum(one.calls for one in scopes), max(one.largest for one in scopes)
    return f"{calls:,} calls drawn like tensors ({kinds}), of at most {largest:,} elements each"


def unsteady_rows(uses: Iterable[CallDependence]) -> set[tuple[str, str]]:
    """The operations and formats whose answers depend on how they are called.

    A tensor is cut into blocks, so that what is wrong with calls of blocks is wrong with tensors.
    Those are left out of which a known bug gives the answers to the vectors.
    """
    found = {(use.op, use.format) for use in uses if not use.beside}
    return found | {("quantize_tensor", format) for op, format in found if op == "quantize"}


def uses_text(uses: Sequence[CallDependence]) -> str:
    """The verdict on ways of calling: of each kind the first, and how many others there are.

    >>> size = CallDependence("encode", "e2m1", "size", "wrong only in one row: want 0f, got 07")
    >>> uses_text([size, size])
    'depends on the size of the call: encode e2m1: wrong only in one row (and 1 more)'
    """
    kinds: dict[str, list[CallDependence]] = {}
    for use in uses:
        kinds.setdefault(use.kind, []).append(use)
    return "; ".join(
        f"{DEPENDENCES[kind]}: {some[0].what}" + f" (and {len(some) - 1} more)" * (len(some) > 1)
        for kind, some in kinds.items()
    )
