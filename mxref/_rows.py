"""Blocks as rows: an axis cut into blocks, one a row, and back."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._bits import CHUNK


def axis_index(axis: int, ndim: int) -> int:
    """The axis as a non-negative index."""
    if ndim == 0:
        raise ValueError("a tensor must have at least one axis, got a scalar: reshape it to (1,)")
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis must be an integer, got {type(axis).__name__}") from None
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis must be in [{-ndim}, {ndim - 1}] for {ndim} axes, got {axis}")
    return axis % ndim


def as_rows(array: NDArray[Any], axis: int, block_size: int) -> tuple[NDArray[Any], list[int]]:
    """Blocks as rows, the tail filled up with zero bits, and the shape of the array of blocks."""
    moved = np.moveaxis(array, axis, -1)
    *lead, length = moved.shape
    count = -(-length // block_size)
    if count * block_size != length:
        moved = np.pad(moved, [(0, 0)] * len(lead) + [(0, count * block_size - length)])
    return np.ascontiguousarray(moved).reshape(-1, block_size), [*lead, count]


def from_rows(rows: NDArray[Any], shape: list[int], axis: int) -> NDArray[Any]:
    """The inverse of `as_rows` for one row of any length per block; the padding stays."""
    *lead, count = shape
    return np.ascontiguousarray(np.moveaxis(rows.reshape(*lead, count * rows.shape[1]), -1, axis))


def cut(array: NDArray[Any], axis: int, length: int) -> NDArray[Any]:
    """The array without what lies beyond a length of an axis."""
    index = [slice(None)] * array.ndim
    index[axis] = slice(length)
    return np.ascontiguousarray(array[tuple(index)])


def row_chunks(rows: int, block_size: int) -> Iterator[slice]:
    step = max(1, CHUNK // block_size)
    return (slice(start, start + step) for start in range(0, rows, step))
