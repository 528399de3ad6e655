"""The record of a mutant: a small wrong variant of one operation, and the facts about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import MX_BLOCKS, MX_ELEMENTS, block_format
from mxref.mutants.sources import link

__all__ = [
    "Mutant",
    "Mutants",
    "Origins",
    "blocks_of",
    "moved_heading",
    "named",
    "origins",
    "wrong",
]

Function = Callable[..., Any]

FP8 = ("e5m2", "e4m3")
FP6_FP4 = ("e3m2", "e2m3", "e2m1")
FP = (*FP8, *FP6_FP4)
INT8 = ("int8",)
ELEMENTS = MX_ELEMENTS
BLOCKS = MX_BLOCKS
#: The block formats whose scales are powers of two: those of MX, and one in blocks of 16.
POWER_BLOCKS = (*BLOCKS, "fp4_e8m0")
E8M0 = ("e8m0",)
FLOATS = tuple(LAYOUTS)
#: Float types of the vectors of each operation on scales and blocks.
SHARED = ("f32", "f64")
QUANTIZED = FLOATS
DEQUANTIZED = ("f32", "bf16", "f16")
TENSORS_OF = ("f32", "bf16")
DECODED = ("f32",)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong implementation of one operation.

    Args:
        id: its class, a letter and a number; then letters, or a full stop and the number of a lane,
            that tell mutants of one class apart.
        name: a short name in words.
        text: what is wrong, in one sentence.
        op: the operation.
        run: the operation's function, with the signature of a target's
            (`mxref.targets.target`); None while no vectors test it.
        formats: the formats that it supports.
        floats: the float types that it supports.
        model: the coverage model that is expected to catch it.
        seen: where it was seen (`mxref.mutants.sources`).
        policy: the policy that it tries to follow.
        waiting: what the vectors lack to judge it; empty if nothing.
        lifted_from: the id of the mutant of `encode` that is its element step; empty if none is.
        spoil: its bug alone, as a change in place of right blocks under any policy
            (`mxref.mutants.infinity_mutants.InfiniteBlocks`); None if it has no such form.
        admits: whether it may give a result to a call, where results are sums in any order; None if
            it has one result.
    """

    id: str
    name: str
    text: str
    op: str
    run: Function | None
    formats: tuple[str, ...]
    floats: tuple[str, ...]
    model: str
    seen: tuple[str, ...] = ()
    policy: str = "ocp"
    waiting: str = ""
    lifted_from: str = ""
    spoil: Callable[[Any], None] | None = None
    admits: Callable[[Any, Any], bool] | None = None

    @property
    def group(self) -> str:
        """Its class: the letter and the number at the beginning of the id.

        >>> Mutant("A17b", "", "", "encode", None, (), (), "M14").group
        'A17'
        """
        match = re.match(r"[A-ILPS][0-9]+", self.id)
        if match is None:
            raise ValueError(f"id must be a class and a letter, got {self.id!r}")
        return match[0]

    @property
    def links(self) -> Iterator[str]:
        """The places where it was seen, as addresses."""
        return map(link, self.seen)


class Origins(NamedTuple):
    """Where mutants come from.

    Args:
        own: number of mutants with a bug of their own.
        seen: those of them that name where they were seen.
        lifted: encoders repeated inside blocks, tensors and NVFP4 blocks.
    """

    own: int
    seen: int
    lifted: int


def origins(mutants: Iterable[Mutant]) -> Origins:
    """Count mutants by their origin."""
    all_of_them = list(mutants)
    own = [mutant for mutant in all_of_them if not mutant.lifted_from]
    seen = sum(bool(mutant.seen) for mutant in own)
    return Origins(len(own), seen, len(all_of_them) - len(own))


def blocks_of(elements: tuple[str, ...], blocks: tuple[str, ...] = POWER_BLOCKS) -> tuple[str, ...]:
    """Those of some block formats that have some element formats."""
    return tuple(name for name in blocks if block_format(name).element.name in elements)


#: Heading, "ID name: text" -> a mutant; a pair is one mistake alone and inside blocks.
Mutants = Mapping[str, Mutant | tuple[Mutant, Mutant]]


def wrong(
    run: Function | None,
    *,
    op: str,
    formats: tuple[str, ...],
    floats: tuple[str, ...],
    model: str,
    policy: str = "ocp",
    waiting: str = "",
    spoil: Callable[[Any], None] | None = None,
) -> Mutant:
    """A mutant whose id, name and text `named` takes from its heading."""
    own = Mutant("", "", "", op, run, formats, floats, model, (), policy, waiting)
    return replace(own, spoil=spoil)


def moved_heading(heading: str, letter: str = "q", place: str = "blocks") -> str:
    """The heading of the same mistake in blocks, or in another place.

    >>> moved_heading("A1 ties_away: rounds a tie away from zero")
    'A1q ties_away_in_blocks: rounds a tie away from zero'
    >>> moved_heading("A1 ties_away: rounds a tie away from zero", "v", "nvfp4")
    'A1v ties_away_in_nvfp4: rounds a tie away from zero'
    """
    return re.sub(r"^(\w+) (\w+)", rf"\1{letter} \2_in_{place}", heading)


def named(table: Mutants) -> Iterator[Mutant]:
    """The mutants of a table, with the ids, names and texts of their headings."""
    for heading, entry in table.items():
        pair = entry if isinstance(entry, tuple) else (entry,)
        for head, mutant in zip((heading, moved_heading(heading)), pair, strict=False):
            id, name, text = re.split(" |: ", head, maxsplit=2)
            yield replace(mutant, id=id, name=name, text=text)
