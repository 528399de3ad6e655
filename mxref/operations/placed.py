"""How the blocks of many cases lie in the arrays of one call: one in a row, or tiles in a grid."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.formats.catalog import BlockFormat

__all__ = ["Placed"]

#: Tiles beside each other of an odd number, or below each other of an even one, where there are so
#: many: neither 1 nor a power of two.
_SHORT = 3


class Placed(NamedTuple):
    """The blocks of a call.

    Args:
        blocks: how many there are; zeros fill the last row of tiles up.
        grid: rows and columns of blocks.
        block: rows and columns of a block.
    """

    blocks: int
    grid: tuple[int, int]
    block: tuple[int, int]

    @classmethod
    def of(cls, fmt: BlockFormat, count: int) -> Placed:
        """The place of so many blocks of a format.

        >>> from mxref.formats.catalog import block_format
        >>> Placed.of(block_format("nvfp4"), 5).shape, Placed.of(block_format("nvfp4"), 5).of_scale
        ((5, 16), (5,))
        >>> tiles = Placed.of(block_format("nvfp4_16x16"), 5)
        >>> tiles.shape, tiles.of_scale
        ((32, 48), (2, 3))
        >>> Placed.of(block_format("nvfp4_16x16"), 12).shape
        (48, 64)
        """
        if not fmt.is_tiled:
            return cls(count, (count, 1), (1, fmt.elements_per_block))
        rows, columns = fmt.block_shape
        across = min(max(count, 1), _SHORT) if count % 2 else max(-(-count // _SHORT), 1)
        return cls(count, (-(-count // across), across), (rows, columns))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the elements."""
        return self.grid[0] * self.block[0], self.grid[1] * self.block[1]

    @property
    def of_scale(self) -> tuple[int, ...]:
        """The shape of the scales: of blocks in rows one axis, of tiles two."""
        return self.grid if self.block[0] > 1 else self.grid[:1]

    def elements(self, cases: NDArray[Any]) -> NDArray[Any]:
        """The elements of each case, a row of all of its block, in the shape of the call."""
        parts = _filled(cases, self.grid).reshape(*self.grid, *self.block)
        return np.ascontiguousarray(parts.swapaxes(1, 2)).reshape(self.shape)

    def cases(self, elements: NDArray[Any]) -> NDArray[Any]:
        """The elements of a call as rows, one for each case."""
        (rows, columns), (high, wide) = self.grid, self.block
        parts = elements.reshape(rows, high, columns, wide).swapaxes(1, 2)
        return parts.reshape(rows * columns, high * wide)[: self.blocks]

    def scales(self, cases: NDArray[Any]) -> NDArray[Any]:
        """One scale for each case in the shape of the call."""
        return _filled(cases, self.grid).reshape(self.of_scale)

    def case_scales(self, scales: NDArray[Any]) -> NDArray[Any]:
        """The scales of a call as a column, one for each case."""
        return scales.reshape(-1, 1)[: self.blocks]


def _filled(cases: NDArray[Any], grid: tuple[int, int]) -> NDArray[Any]:
    missing = grid[0] * grid[1] - len(cases)
    if not missing:
        return cases
    return np.concatenate([cases, np.zeros((missing, *cases.shape[1:]), cases.dtype)])
