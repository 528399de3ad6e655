"""Dot products taken apart: the blocks of all cases, and the rows beside theirs in a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
class ProductCases:
    """The blocks of dot products, one after the other, and the calls in which they were asked.

    Args:
        scales: of each side, the scale codes of the blocks of all calls.
        codes: their element codes, filled up with zeros.
        base: where the first block of each block's call is.
        rows: of each side, each block's row in its call.
        count: the number of rows of its call.
        turned: whether the rows of the second side are asked in reverse.
        number: each block's number in its row.
        blocks: the number of blocks in a row.
        length: the elements of each block that are no filling.
        start: the first block of each product; those of many blocks come first.
        tensors: of each side, the scale of the tensor of each block, 1 if it has none.
        case: the number of each product among the cases of all outcomes. An output of rows that
            stand in several places of the calls is a product in each.
    """

    scales: tuple[U8, U8]
    codes: tuple[U8, U8]
    base: Indices
    rows: tuple[Indices, Indices]
    count: Indices
    turned: Bool
    number: Indices
    blocks: Indices
    length: Indices
    start: Indices
    case: Indices
    tensors: tuple[F64Array, F64Array]

    @property
    def has_tensors(self) -> bool:
        """Whether scales of tensors multiply sums."""
        return any((one != 1).any() for one in self.tensors)

    def places(self, side: int, of: int, move: Move | None) -> Indices:
        """Where the blocks stand that a side reads, those of side `of` after a move."""
        row, number = self.rows[side], self.number
        if move is not None:
            row, number = move(row, self.count, number, self.blocks)
        if of:
            row = np.where(self.turned, self.count - 1 - row, row)
        return self.base + row * self.blocks + number

    def summed(self, terms: F64Array) -> F64Array:
        """The sums of the blocks' terms in each case."""
        found: F64Array = np.add.reduceat(terms, self.start)
        return found

    def least(self, numbers: F64Array) -> F64Array:
        """The least of the blocks' numbers in each case."""
        found: F64Array = np.minimum.reduceat(numbers, self.start)
        return found

    def some(self, cases: Indices) -> ProductCases:
        """Some of the cases, by their numbers."""
        chosen = np.flatnonzero(np.isin(self.case, cases))
        counts = self.blocks[self.start[chosen]]
        start = np.cumsum(counts) - counts
        of = np.repeat(self.start[chosen] - start, counts) + np.arange(counts.sum())
        parts = {
            name: getattr(self, name)[of]
            for name in ("base", "count", "turned", "number", "blocks", "length")
        }
        rows = self.rows[0][of], self.rows[1][of]
        tensors = self.tensors[0][of], self.tensors[1][of]
        case = self.case[chosen]
        return replace(self, rows=rows, start=start, case=case, tensors=tensors, **parts)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> ProductCases:
        """The cases of some outcomes: vectors as they are asked, and outputs of the same calls."""
        calls = _Calls(outcomes[0].file.format)
        first = 0
        for one in outcomes:
            if one.file.cases[0].model:
                for some, a, b in groups(one.inputs, one.file.format):
                    calls.ask((some + first).tolist(), a, b, one.file.float)
            first += len(one.inputs)
        first = 0
        for one in outcomes:
            if not one.file.cases[0].model:
                for i, row in enumerate(one.inputs):
                    calls.find(i + first, *operands(stripped(row), one.file.format), one.file.float)
            first += len(one.inputs)
        return calls.cases()

    @classmethod
    def of_calls(cls, calls: Sequence[OutputsAsked], format: str) -> ProductCases:
        """Some outputs of calls with as many rows as columns, numbered one after the other."""
        found = _Calls(format)
        for a, b, places in calls:
            found.outputs(a, b, places)
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
        shape, count = _shape(a[0], b[0]), len(a)
        for i, number in enumerate(numbers):
            self.found.append((number, self.before, i, count - 1 - i, count, 1, *shape))
        for side, rows in enumerate((a, b)):
            self.sides[side].extend(rows)
            for i, row in enumerate(rows):
                place = self.before, i, count
                self.known[side].setdefault((row, float), []).append(place)
        self.before += count * shape[0]

    def outputs(
        self, a: Sequence[DotSide], b: Sequence[DotSide], places: Sequence[tuple[int, int]]
    ) -> None:
        """Outputs of a call with as many rows on both sides, by row and column."""
        base, shape, count = self.before, _shape(a[0], b[0]), len(a)
        for side, rows in enumerate((a, b)):
            self.sides[side].extend(rows)
        first = len(self.found)
        for number, (i, j) in enumerate(places, first):
            self.found.append((number, base, i, j, count, 0, *shape))
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
        found = np.array(sorted(self.found, key=lambda one: (-one[6], one[0])), np.int64)
        case, base, left, right, count, turned, blocks, length, *tensors = found.T
        start = np.cumsum(blocks) - blocks
        number = np.arange(int(blocks.sum())) - np.repeat(start, blocks)
        base, left, right, count, turned, many, length = (
            np.repeat(one, blocks) for one in (base, left, right, count, turned, blocks, length)
        )
        one, other = (np.repeat(_numbers(bits), blocks) for bits in tensors)
        scales, codes = zip(*(_stored(rows, self.size) for rows in self.sides), strict=True)
        return ProductCases(
            (scales[0], scales[1]),
            (codes[0], codes[1]),
            base,
            (left, right),
            count,
            turned == 1,
            number,
            many,
            np.minimum(length - self.size * number, self.size),
            start,
            case,
            (one, other),
        )


def _shape(a: DotSide, b: DotSide) -> tuple[int, int, int, int]:
    """Blocks and elements of a row, and the scales of both tensors as patterns."""
    one, other = (ONE if side.tensor is None else side.tensor for side in (a, b))
    return len(a.scales), len(a.codes), one, other


def _numbers(bits: Indices) -> F64Array:
    """Float32 patterns as numbers."""
    return wide(bits.astype(np.uint32), F32)


def _stored(rows: Sequence[DotSide], size: int) -> tuple[U8, U8]:
    """Scale codes and codes of the blocks of some rows, one after the other."""
    scales = np.array([scale for row in rows for scale in row.scales], np.uint8)
    filled = bytearray()
    for row in rows:
        filled += bytes(row.codes).ljust(size * len(row.scales), b"\0")
    return scales, np.frombuffer(bytes(filled), np.uint8).reshape(-1, size)
