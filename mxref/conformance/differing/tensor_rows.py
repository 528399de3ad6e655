"""Blocks that are a part of a tensor each, of which one number more is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import bits_of

__all__ = ["alike", "extremes", "with_tensors"]


def extremes(values: NDArray[Any]) -> NDArray[Any]:
    """What the scale of a tensor depends on.

    Returns:
        The largest finite magnitude, then infinity and NaN if the tensor has them.

    >>> extremes(np.float32([[1.0, -3.0], [-np.inf, 2.0]])).tolist()
    [3.0, inf]
    """
    bits, layout = bits_of(values)
    magnitude = bits & layout.uint.type(layout.sign_bit - 1)
    top = layout.uint.type(layout.inf_bits)
    found = [int(magnitude.max(initial=0, where=magnitude < top))]
    found += [layout.inf_bits] * bool((magnitude == top).any())
    found += [layout.nan_bits] * bool((magnitude > top).any())
    return np.array(found, layout.uint).view(layout.dtype)


def alike(values: NDArray[Any]) -> Iterator[NDArray[np.intp]]:
    """The indices of rows that have the same extremes."""
    bits, layout = bits_of(values)
    magnitude = bits & layout.uint.type(layout.sign_bit - 1)
    finite = np.where(magnitude < layout.inf_bits, magnitude, 0).max(axis=1)
    specials = (magnitude == layout.inf_bits, magnitude > layout.inf_bits)
    keys = np.stack([finite, *(one.any(axis=1) for one in specials)])
    order = np.lexsort(keys)
    differ = (keys[:, order[1:]] != keys[:, order[:-1]]).any(axis=0)
    yield from np.split(order, np.flatnonzero(differ) + 1)


def with_tensors(values: NDArray[Any]) -> NDArray[Any]:
    """Tensors in which the first number of a row is behind the others, in a block of its own."""
    size = values.shape[1] - 1
    tensors = np.zeros((len(values), 2 * size), values.dtype)
    tensors[:, :size], tensors[:, size] = values[:, 1:], values[:, 0]
    return tensors
