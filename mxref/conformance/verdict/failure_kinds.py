"""Kinds of failures: the names under which an xfail file lists what is in no vector file.

A kind has an operation, a format, and a clause with flags or an error: `encode e2m1 MX-5.3.3 tie`
covers every failure that has these, and more flags. One that goes on with a change covers only
failures changed so: `encode e2m1 MX-5.3.3 tie by +1 for 04..06` is one code too far from zero where
a magnitude from 04 to 06 is right, `by -9..-2` two to nine codes too near zero. Of blocks `scale by
+1 for 7f` is a change of the scale, and one of elements has the least and the greatest of a block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure
from mxref.formats.catalog import E8M0, CodeFormat, block_format
from mxref.targets.calls import code_format

__all__ = [
    "Change",
    "change_of",
    "kind_of",
    "kinds_covering",
    "listed_as",
    "narrow_kinds",
    "outermost",
]

_CODES = ("encode", "encode_scale", "encode_stochastic", "shared_scale")
_END = re.compile(
    r"(.*?)( scale)? by ([+-]\d+)(?:\.\.([+-]\d+))? for ([0-9a-f]+)(?:\.\.([0-9a-f]+))?"
)


@dataclass(frozen=True, slots=True)
class Change:
    """How far answers are from the right codes, and which magnitudes of codes are right there.

    Args:
        scale: whether it is of the scale of a block.
        by: the least and the greatest distance in codes; positive away from zero.
        right: the least and the greatest magnitude of the right codes.
    """

    scale: bool
    by: tuple[int, int]
    right: tuple[int, int]

    def __contains__(self, other: Change) -> bool:
        return self.scale == other.scale and all(
            ours[0] <= its[0] and its[1] <= ours[1]
            for ours, its in ((self.by, other.by), (self.right, other.right))
        )

    @property
    def alike(self) -> tuple[bool, int, int]:
        """Equal of changes that one kind lists: the ways, and whether it is one code or more.

        >>> Change(False, (1, 1), (4, 4)).alike, Change(False, (-7, 0), (2, 9)).alike
        ((False, 1, 1), (False, -2, 0))
        """
        return self.scale, max(-2, min(self.by[0], 2)), max(-2, min(self.by[1], 2))

    def __or__(self, other: Change) -> Change:
        by, right = (*self.by, *other.by), (*self.right, *other.right)
        return replace(self, by=(min(by), max(by)), right=(min(right), max(right)))

    def __str__(self) -> str:
        """Its words at the end of a kind.

        >>> str(Change(False, (1, 1), (4, 6))), str(Change(True, (-2, 0), (127, 127)))
        ('by +1 for 04..06', 'scale by -2..+0 for 7f')
        """
        by, right = (
            [f"{one:{to}}" for one in dict.fromkeys(ends)]
            for ends, to in ((self.by, "+d"), (self.right, "02x"))
        )
        return f"{'scale ' * self.scale}by {'..'.join(by)} for {'..'.join(right)}"


def kind_of(file: VectorFile, failure: Failure) -> str:
    """The kind of a failure without its change: its clause and flags, or its error."""
    case = failure.case
    why = (case.rule, *case.flags) if failure.got is not None else (failure.error,)
    return " ".join((file.op, file.format, *why))


def change_of(file: VectorFile, failure: Failure) -> Change | None:
    """The change from the right codes; None of answers that are no codes of numbers, and errors."""
    got, want = failure.got, failure.want
    if got is None or not got or len(got) != len(want):
        return None
    if file.row.blocks == "numbers":
        block = block_format(file.format)
        if got[0] != want[0]:
            return _change(block.scale, want[:1], got[:1], scale=True)
        return _change(block.element, want[1:], got[1:])
    if file.op in _CODES:
        return _change(E8M0 if file.op == "shared_scale" else code_format(file), want, got)
    return None


def _change(
    fmt: CodeFormat, want: Iterable[int], got: Iterable[int], *, scale: bool = False
) -> Change | None:
    by, right = [], []
    for one, other in zip(want, got, strict=True):
        if one != other:
            negative, magnitude = fmt.sign_and_magnitude(one)
            came = other, False  # a word that is no code
            if other < fmt.code_count:
                sign, size = fmt.sign_and_magnitude(other)
                came = size, sign != negative
            by.append((-came[0] if came[1] else came[0]) - magnitude)
            right.append(magnitude)
    return Change(scale, (min(by), max(by)), (min(right), max(right))) if by else None


def kinds_covering(file: VectorFile, failure: Failure, known: Collection[str]) -> Iterator[str]:
    """Which of some kinds cover a failure: its own, then those with fewer flags.

    Other questions have other combinations of flags than those of the vectors have; a listed kind
    covers every combination that has its flags. Errors have one kind, without a change.
    """
    case, change = failure.case, change_of(file, failure)
    narrow = [(key, *_parsed(key)) for key in known if " by " in key] if change else []
    flags = case.flags if failure.got is not None else ()
    fewer = (some for count in range(len(flags) - 1, -1, -1) for some in combinations(flags, count))
    names = (" ".join((file.op, file.format, case.rule, *some)) for some in fewer)
    for kind in (kind_of(file, failure), *names):
        if kind in known:
            yield kind
        for key, base, of in narrow:
            if base == kind and of and change and change in of:
                yield key


def _parsed(key: str) -> tuple[str, Change | None]:
    """A kind without its change, and the change."""
    found = _END.fullmatch(key)
    if found is None:
        return key, None
    kind, scale, low, high, first, last = found.groups()
    right = int(first, 16), int(last or first, 16)
    return kind, Change(scale is not None, (int(low), int(high or low)), right)


def listed_as(file: VectorFile, failure: Failure, known: Collection[str]) -> str | None:
    """What lists a failure among known divergences; None if nothing does.

    That is its case's id, or, if its case is in no vector file, a kind that covers it.
    """
    if failure.case.model:
        return failure.case.id if failure.case.id in known else None
    return next(kinds_covering(file, failure, known), None)


def narrow_kinds(pairs: Iterable[tuple[VectorFile, Failure]]) -> list[str]:
    """The narrowest kinds that cover failures, one for all changes that are alike."""
    found: dict[tuple[object, ...], tuple[str, Change | None]] = {}
    for file, failure in pairs:
        kind, change = kind_of(file, failure), change_of(file, failure)
        key = kind, change and change.alike
        before = found.get(key, (kind, change))[1]
        found[key] = kind, change | before if change and before else change
    return [f"{kind} {change}" if change else kind for kind, change in found.values()]


def outermost(changes: Sequence[tuple[int, Change | None]]) -> set[int]:
    """The numbers of those of some changes that are together as wide as all of them."""
    some = [(number, one) for number, one in changes if one is not None]
    ends: list[Callable[[tuple[int, Change]], int]] = [
        lambda pair: pair[1].by[0],
        lambda pair: -pair[1].by[1],
        lambda pair: pair[1].right[0],
        lambda pair: -pair[1].right[1],
    ]
    return {min(some, key=end)[0] for end in ends} if some else set()
