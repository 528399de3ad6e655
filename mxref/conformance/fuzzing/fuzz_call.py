"""Calls with many cases: the sizes that are tried, and how a few questions fill a call."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.formats.catalog import OTHER_BLOCK_FORMATS

__all__ = ["SIZES", "FuzzCall", "has_batches"]

Words = NDArray[np.uint64]
#: Numbers of cases in a call: those that kernels of some lanes, warps or tiles treat in their own
#: way, and their neighbours.
SIZES = (1, 2, 3, *(2**k + side for k in (3, 4, 5, 6, 7, 8, 10, 12) for side in (-1, 0, 1)))


@dataclass(frozen=True, slots=True)
class FuzzCall:
    """One call of a target: a few questions, or a batch that repeats them.

    Args:
        rows: words of the questions, one case a row.
        memory: memory order of a tensor, a number from 0 to 3.
        size: number of cases in the call; 0 for the questions as they are.
        permuted: whether the repeated questions stand in a permuted order, which is the same for
            every call of that size.
    """

    rows: Words
    memory: int = 0
    size: int = 0
    permuted: bool = False

    @property
    def count(self) -> int:
        """The number of cases in the call."""
        return self.size or len(self.rows)

    @property
    def order(self) -> NDArray[np.intp]:
        """The question in each place of the call.

        >>> FuzzCall(np.zeros((2, 1), np.uint64), size=5).order.tolist()
        [0, 1, 0, 1, 0]
        """
        places: NDArray[np.intp] = np.arange(self.count)
        if self.permuted:
            places = np.random.RandomState(self.count).permutation(self.count)
        return places % len(self.rows)

    def alone(self, place: int) -> FuzzCall:
        """The call with only the question in a place."""
        row = int(self.order[place])
        return FuzzCall(self.rows[row : row + 1], self.memory)

    def of(self, rows: Words) -> FuzzCall:
        """The same call with other questions."""
        return dataclasses.replace(self, rows=rows)


def has_batches(file: VectorFile) -> bool:
    """Whether an operation takes many cases in one call.

    >>> from mxref.targets.calls import without_cases
    >>> has_batches(without_cases("quantize", "mxint8", "f32"))
    True
    >>> has_batches(without_cases("quantize", "nvfp4", "f32"))
    False
    """
    block = OTHER_BLOCK_FORMATS.get(file.format)
    return not file.row.varied and not (block is not None and block.tensor_scale)
