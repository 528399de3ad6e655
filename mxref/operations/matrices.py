"""Operations of calls on two matrices and one that is added: what their three sides are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from mxref.operations.call_operation import CallOperation
from mxref.operations.call_sizes import CallSizes, Sizes

__all__ = ["LARGE", "MatrixOperation"]


#: The sides of larger products, such that each is the longest in one.
LARGE = (
    (3, 511, 5), (33, 33, 9), (9, 33, 33), (7, 33, 7), (33, 65, 129), (64, 256, 64),
)  # fmt: skip


class MatrixOperation(CallOperation):
    """An operation of (m, k) and (k, n) numbers, and of (m, n) that are added and come out."""

    multiples = "m", "n", "k"
    #: A product whose sums are long.
    long: ClassVar[Sizes]

    def asked_sizes(self, format: str) -> CallSizes:
        """Large products."""
        return CallSizes((*LARGE, self.long, (130, 64, 140)))

    def units(self, format: str) -> dict[str, str]:
        """The three sides."""
        return {"m": "rows", "k": "products in a sum", "n": "columns"}

    def elements(self, sizes: Sequence[int]) -> int:
        """The numbers of all matrices."""
        m, k, n = sizes
        return m * k + k * n + 2 * m * n
