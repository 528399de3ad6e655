"""Operations of calls on two matrices and one that is added: what their three sides are."""

from __future__ import annotations

from collections.abc import Sequence

from mxref.operations.call_operation import CallOperation

__all__ = ["MatrixOperation"]


class MatrixOperation(CallOperation):
    """An operation of (m, k) and (k, n) numbers, and of (m, n) that are added and come out."""

    def units(self, format: str) -> dict[str, str]:
        """The three sides."""
        return {"m": "rows", "k": "products in a sum", "n": "columns"}

    def elements(self, sizes: Sequence[int]) -> int:
        """The numbers of all matrices."""
        m, k, n = sizes
        return m * k + k * n + 2 * m * n
