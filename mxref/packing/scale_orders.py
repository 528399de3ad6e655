"""The orders of scales in memory: how a matrix is padded, split into parts and permuted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from mxref.bits.floats import U8
from mxref.policy.choices import ScaleLayout

__all__ = ["SCALE_ORDERS", "Part", "ScaleOrder"]


class Part(NamedTuple):
    """A part of a row or column number, and how far apart its values lie in memory."""

    of_row: bool
    divisor: int  #: the part is ``number // divisor % size``
    size: int
    stride: int
    first: bool  #: whether it is the first, for which ``% size`` changes nothing

    def of(self, row: int, column: int) -> int:
        """What the part adds to the byte of a scale."""
        return (row if self.of_row else column) // self.divisor % self.size * self.stride


@dataclass(frozen=True, slots=True)
class ScaleOrder:
    """An order of scales in memory: row and column numbers are split, and their parts permuted.

    Args:
        rows: rows are filled up with 00 to a multiple of this.
        columns: columns are filled up with 00 to a multiple of this.
        down: the lengths of the parts that a row number is split into, after the first.
        across: the same for a column number.
        axes: the order in memory of the parts of the row number and then of the column number.
    """

    rows: int
    columns: int
    down: tuple[int, ...]
    across: tuple[int, ...]
    axes: tuple[int, ...]

    def filled(self, rows: int, columns: int) -> tuple[int, int]:
        """Rows and columns of a matrix that is filled up.

        >>> SCALE_ORDERS[ScaleLayout.TILES_128X4].filled(129, 5)
        (256, 8)
        """
        return -(-rows // self.rows) * self.rows, -(-columns // self.columns) * self.columns

    def size(self, rows: int, columns: int) -> int:
        """The number of bytes of a matrix."""
        return math.prod(self.filled(rows, columns))

    def parts(self, rows: int, columns: int) -> list[Part]:
        """The parts of row and column numbers in a matrix, in their order in memory.

        The byte of a scale is the sum of what they add.

        >>> parts = SCALE_ORDERS[ScaleLayout.TILES_128X4].parts(128, 8)
        >>> sum(part.of(1, 0) for part in parts), sum(part.of(127, 7) for part in parts)
        (16, 1023)
        """
        numbers = zip(
            (True, False), self.filled(rows, columns), (self.down, self.across), strict=True
        )
        split: list[tuple[bool, int, int, bool]] = []
        for of_row, length, rest in numbers:
            counts = (length // math.prod(rest), *rest)
            split += [
                (of_row, math.prod(counts[i + 1 :]), count, not i) for i, count in enumerate(counts)
            ]
        found, stride = [], 1
        for axis in reversed(self.axes):
            of_row, divisor, count, first = split[axis]
            found.append(Part(of_row, divisor, count, stride, first))
            stride *= count
        return found[::-1]

    def in_order_of_scales(self, packed: U8, rows: int, columns: int) -> U8:
        """A view of bytes (..., size) of padded matrices, row after row.

        Its axes are the matrix, the parts of the row number and the parts of the column number.
        """
        first, second = rows // math.prod(self.down), columns // math.prod(self.across)
        parts = (first, *self.down, second, *self.across)
        stored = packed.reshape(math.prod(packed.shape[:-1]), *(parts[axis] for axis in self.axes))
        return stored.transpose(0, *(1 + int(axis) for axis in np.argsort(self.axes)))


#: Source: SPEC_NOTES N32.
SCALE_ORDERS: Final[Mapping[ScaleLayout, ScaleOrder]] = {
    ScaleLayout.ROW_MAJOR: ScaleOrder(1, 1, (), (), (0, 1)),
    ScaleLayout.TILES_128X4: ScaleOrder(128, 4, (4, 32), (4,), (0, 3, 2, 1, 4)),
    ScaleLayout.TILES_8X4: ScaleOrder(8, 4, (8,), (4,), (0, 2, 1, 3)),
    ScaleLayout.MN_MAJOR_WORDS: ScaleOrder(4, 4, (), (4,), (1, 0, 2)),
    ScaleLayout.TILES_GFX950: ScaleOrder(256, 8, (2, 16), (2, 4), (0, 3, 5, 2, 4, 1)),
    ScaleLayout.TILES_32X8: ScaleOrder(32, 8, (2, 16), (2, 4), (0, 3, 5, 2, 4, 1)),
    ScaleLayout.TILES_HOPPER_4: ScaleOrder(128, 2, (2, 4, 2, 8), (2,), (0, 2, 5, 1, 4, 6, 3)),
    ScaleLayout.TILES_HOPPER_8: ScaleOrder(256, 2, (2, 8, 2, 8), (2,), (0, 2, 5, 1, 4, 6, 3)),
    ScaleLayout.TILES_16X16: ScaleOrder(16, 16, (16,), (16,), (0, 2, 1, 3)),
}
