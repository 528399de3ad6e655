"""Dot products taken apart: the blocks of all cases, and the rows beside theirs in a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, wide
from mxref.bits.floats import F32, U8, Bool
from mxref.conformance.compare.compare import Outcome
from mxref.operands.word_rows import stripped
from mxref.operations.product_words import ONE, DotSide, operands, pair_formats
from mxref.operations.products import groups

Indices = NDArray[np.int64]
#: The row and the block that are read in place of a row and a block, of so many.
Move = Callable[[Indices, Indices, Indices, Indices], tuple[Indices, Indices]]
#: The rows of both sides of a call, and the row and column of some of its outputs.
OutputsAsked = tuple[Sequence[DotSide], Sequence[DotSide], Sequence[tuple[int, int]]]

#: The most places of one output in a call: of all of them the first that is wrong is meant.
_PLACES = 8


@dataclass(frozen=True, slots=True)
class BlockPlaces:
    """Where the blocks of dot products stand in their calls; the last axis is that of blocks.

    Args:
        base: where the first block of each block's call is.
        rows: of each side, each block's row in its call.
        count: the number of rows of its call.
        turned: whether the rows of the second side are asked in reverse.
        number: each block's number in its row.
        blocks: the number of blocks in a row.
        length: the elements of each block that are no filling.
        tensors: of each side, the scale of the tensor of each block, 1 if it has none.
    """

    base: Indices
    rows: Indices
    count: Indices
    turned: Bool
    number: Indices
    blocks: Indices
    length: Indices
    tensors: F64Array


@dataclass(frozen=True, slots=True)
class ProductCases:
    """The blocks of dot products, one after the other, and the calls in which they were asked.

    Args:
        scales: of each side, the scale codes of the blocks of all calls.
        codes: their element codes, filled up with zeros.
        at: where the blocks of products stand.
        start: the first block of each product; those of many blocks come first.
        case: the number of each product among the cases of all outcomes. An output of rows that
            stand in several places of the calls is a product in each.
    """

    scales: tuple[U8, ...]
    codes: tuple[U8, ...]
    at: BlockPlaces
    start: Indices
    case: Indices

    def places(self, side: int, of: int, move: Move | None) -> Indices:
        """Where the blocks stand that a side reads, those of side `of` after a move."""
        at, number = self.at, self.at.number
        row: Indices = at.rows[side]
        if move is not None:
            row, number = move(row, at.count, number, at.blocks)
        if of:
            row = np.where(at.turned, at.count - 1 - row, row)
        found: Indices = at.base + row * at.blocks + number
        return found

    def summed(self, terms: F64Array) -> F64Array:
        """The sums of the blocks' terms in each case."""
        found: F64Array = np.add.reduceat(terms, self.start)
        return found

    def least(self, numbers: F64Array) -> F64Array:
        """The least of the blocks' numbers in each case."""
        found: F64Array = np.minimum.reduceat(numbers, self.start)
        return found

    def in_turn(self) -> Iterator[tuple[slice, Indices]]:
        """For each number of a block, the products that have one, and where these blocks are."""
        counts = self.at.blocks[self.start]
        for block in range(int(counts.max())):
            count = int(np.searchsorted(-counts, -block, side="left"))
            yield slice(count), self.start[:count] + block

    def some(self, cases: Indices) -> ProductCases:
        """Some of the cases, by their numbers."""
        chosen = np.flatnonzero(np.isin(self.case, cases))
        counts = self.at.blocks[self.start[chosen]]
        start = np.cumsum(counts) - counts
        of = np.repeat(self.start[chosen] - start, counts) + np.arange(counts.sum())
        at = BlockPlaces(*(getattr(self.at, one.name)[..., of] for one in fields(self.at)))
        return replace(self, at=at, start=start, case=self.case[chosen])

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> ProductCases:
        """The cases of some outcomes: vectors as they are asked, and outputs of the same calls."""
        calls = _Calls(outcomes[0].file.format)
        first, others = 0, list[tuple[int, Outcome]]()
        for one in outcomes:
            if one.file.cases[0].model:
                for some, a, b in groups(one.inputs, one.file.format):
                    calls.ask((some + first).tolist(), a, b, one.file.float)
            else:
                others.append((first, one))
            first += len(one.inputs)
        for first, one in others:
            for i, row in enumerate(one.inputs, first):
                calls.find(i, *operands(stripped(row), one.file.format), one.file.float)
        return calls.cases()

    @classmethod
    def of_calls(cls, calls: Sequence[OutputsAsked], format: str) -> ProductCases:
        """Some outputs of calls with as many rows as columns, numbered one after the other."""
        found = _Calls(format)
        for a, b, places in calls:
            found.outputs(range(len(found.found), len(found.found) + len(places)), a, b, places)
        return found.cases()


class _Calls:
    """The calls of products, and where each case stands in them."""

    def __init__(self, format: str) -> None:
        self.size = pair_formats(format)[0].elements_per_block
        self.sides: tuple[list[DotSide], list[DotSide]] = ([], [])
        self.before = 0  # blocks
        #: Number, base, both rows, rows, whether turned, blocks, length and both tensors' scales.
        self.found: list[tuple[int, ...]] = []
        self.known: list[dict[tuple[DotSide, str], list[tuple[int, int, int]]]] = [{}, {}]

    def ask(
        self, numbers: Sequence[int], a: Sequence[DotSide], b: Sequence[DotSide], float: str
    ) -> None:
        """A call of vectors: every row of one side with every row of the other in reverse."""
        count = len(a)
        for known, rows in zip(self.known, (a, b), strict=True):
            for i, row in enumerate(rows):
                known.setdefault((row, float), []).append((self.before, i, count))
        places = [(i, count - 1 - i) for i in range(count)]
        self.outputs(numbers, a, b, places, turned=True)

    def outputs(
        self,
        numbers: Sequence[int],
        a: Sequence[DotSide],
        b: Sequence[DotSide],
        places: Sequence[tuple[int, int]],
        *,
        turned: bool = False,
    ) -> None:
        """Outputs of a call with as many rows on both sides, by row and column."""
        shape, count = _shape(a[0], b[0]), len(a)
        for number, (i, j) in zip(numbers, places, strict=True):
            self.found.append((number, self.before, i, j, count, turned, *shape))
        self.sides[0].extend(a)
        self.sides[1].extend(b)
        self.before += count * shape[0]

    def find(self, number: int, a: DotSide, b: DotSide, float: str) -> None:
        """An output of a call; of rows that stand in no call with each other a call of its own."""
        shape = _shape(a, b)
        places = [
            (number, base, row, column, count, 0, *shape)
            for base, row, count in self.known[0].get((a, float), ())
            for other, column, _ in self.known[1].get((b, float), ())
            if base == other
        ]
        if not places:
            self.ask([number], [a], [b], float)
        for base in {place[1] for place in places}:
            self.found += [one for one in places if one[1] == base][:_PLACES]

    def cases(self) -> ProductCases:
        """All of them, those of many blocks first."""
        found = np.array(sorted(self.found, key=lambda one: (-one[6], one[0])), np.int64).T
        start = np.cumsum(found[6]) - found[6]
        base, left, right, count, turned, blocks, length, *tensors = np.repeat(
            found[1:], found[6], axis=1
        )
        number = np.arange(len(base)) - np.repeat(start, found[6])
        length = np.minimum(length - self.size * number, self.size)
        scales, codes = zip(*(_stored(rows, self.size) for rows in self.sides), strict=True)
        numbers = wide(np.array(tensors).astype(np.uint32), F32)
        rows = np.array([left, right])
        at = BlockPlaces(base, rows, count, turned == 1, number, blocks, length, numbers)
        return ProductCases(scales, codes, at, start, found[0])


def _shape(a: DotSide, b: DotSide) -> tuple[int, int, int, int]:
    """Blocks and elements of a row, and the scales of both tensors as patterns."""
    one, other = (ONE if side.tensor is None else side.tensor for side in (a, b))
    return len(a.scales), len(a.codes), one, other


def _stored(rows: Sequence[DotSide], size: int) -> tuple[U8, U8]:
    """Scale codes and codes of the blocks of some rows, one after the other."""
    scales = np.array([scale for row in rows for scale in row.scales], np.uint8)
    filled = bytearray()
    for row in rows:
        filled += bytes(row.codes).ljust(size * len(row.scales), b"\0")
    return scales, np.frombuffer(bytes(filled), np.uint8).reshape(-1, size)
