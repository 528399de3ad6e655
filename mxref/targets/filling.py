"""Arrays filled up behind their ends, and results cut to what was asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operands.returned import AnswerError

__all__ = ["cut", "repeated", "with_zeros"]

_Array = NDArray[Any]


def repeated(array: _Array, shape: tuple[int, ...]) -> _Array:
    """An array whose last items are repeated behind its ends.

    >>> repeated(np.array([[1, 2]]), (2, 3)).tolist()
    [[1, 2, 2], [1, 2, 2]]
    """
    if array.shape == shape or not array.size:
        return array
    wider = zip(array.shape, shape, strict=True)
    return np.pad(array, [(0, full - n) for n, full in wider], mode="edge")


def with_zeros(array: _Array, shape: tuple[int, ...], other: Any = 0) -> _Array:
    """An array with zeros, or another number, behind its ends; itself if it has that shape.

    >>> with_zeros(np.array([[1, 2]]), (2, 3)).tolist()
    [[1, 2, 0], [0, 0, 0]]
    """
    if array.shape == shape:
        return array
    found = np.full(shape, other, array.dtype)
    found[tuple(map(slice, array.shape))] = array
    return found


def cut(array: _Array, full: tuple[int, ...], shape: tuple[int, ...]) -> _Array:
    """The beginning of a result of a filled-up call along its first axes.

    Raises:
        AnswerError: a result of another shape.

    >>> cut(np.eye(3), (3, 3), (1, 2)).tolist()
    [[1.0, 0.0]]
    """
    if array.shape[: len(full)] != full:
        got = f"got {array.shape}"
        raise AnswerError(f"the result for {full} must have a shape that begins so, {got}")
    return array[tuple(map(slice, shape))]
