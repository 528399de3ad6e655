"""Cases as rows of an array of words, where cases have different numbers of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_WORD", "padded", "same_width", "stripped"]

#: Padding of arrays whose cases have different numbers of words; never a word itself.
NO_WORD = (1 << 64) - 1


def padded(rows: Sequence[Sequence[int] | NDArray[Any]]) -> NDArray[np.uint64]:
    """Rows of words as an array, the shorter ones padded with NO_WORD.

    >>> padded([[1, 2], [3]]).tolist() == [[1, 2], [3, NO_WORD]]
    True
    """
    widths = set(map(len, rows))
    if len(widths) == 1:
        return np.array(rows, np.uint64)
    array = np.full((len(rows), max(widths, default=0)), NO_WORD, np.uint64)
    for row, words in zip(array, rows, strict=True):
        row[: len(words)] = words
    return array


def same_width(
    one: NDArray[np.uint64], other: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Two arrays of padded rows with the narrower one widened by NO_WORD."""
    missing = other.shape[-1] - one.shape[-1]
    if missing < 0:
        return same_width(other, one)[::-1]
    more = [(0, 0)] * (one.ndim - 1) + [(0, missing)]
    return (np.pad(one, more, constant_values=NO_WORD) if missing else one), other


def stripped(row: NDArray[np.uint64]) -> tuple[int, ...]:
    """The words of a padded row.

    >>> stripped(padded([[1, 2], [3]])[1])
    (3,)
    """
    return tuple(row[row != np.uint64(NO_WORD)].tolist())
