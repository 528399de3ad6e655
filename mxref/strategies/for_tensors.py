"""Strategies of tensors whose sides are no multiples of the block size, in every memory order."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mxref.strategies.for_floats import layout_named, patterns, ranges, rows
from mxref.support.text import refuse_unknown

__all__ = ["tensors"]


def tensors(
    float: str = "f32",
    *,
    dims: int | None = None,
    orders: Collection[str] = ("C", "F", "strided", "reversed"),
    bits: st.SearchStrategy[int] | None = None,
) -> st.SearchStrategy[tuple[NDArray[Any], int]]:
    """A tensor and the axis along which its blocks run.

    Sides have lengths of 1 to 5; the side along the block axis may also be next to a multiple of
    32. The elements are zeros but for a few numbers at some place, or these numbers repeated.

    Args:
        float: `f32`, `f16`, `bf16` or `f64`.
        dims: number of axes; 1 to 3 if None.
        orders: memory orders: `C`, `F` (first axis fastest), `strided` (every other element of a
            larger array) and `reversed` (from the end backwards).
        bits: a strategy of patterns; `patterns(float)` if None.

    Raises:
        ValueError: unknown float type or memory order.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> find(tensors("bf16"), lambda found: found[0].shape[found[1]] % 32 == 1, settings=quiet)
    (array([0], dtype=bfloat16), 0)
    """
    layout = layout_named(float)
    refuse_unknown("orders", orders, _ORDERS)
    order = st.sampled_from([name for name in _ORDERS if name in orders])
    words = st.lists(patterns(float) if bits is None else bits, max_size=8)
    count = st.integers(1, 3) if dims is None else st.just(dims)
    small = st.integers(1, 5)
    long = ranges((1, 70), (1, 5), (31, 33), (63, 65))

    @st.composite
    def tensor(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[NDArray[Any], int]:
        number = draw(count)
        axis = draw(st.integers(0, number - 1))
        shape = tuple(draw(long if place == axis else small) for place in range(number))
        elements = np.array(draw(rows(words, math.prod(shape))), layout.uint).reshape(shape)
        return _in_order(elements, draw(order), layout.nan_bits).view(layout.dtype), axis

    return tensor()


_ORDERS = ("C", "F", "strided", "reversed")


def _in_order(array: NDArray[Any], order: str, filler: int) -> NDArray[Any]:
    """An array of the same elements in a memory order."""
    if order == "F":
        return array.T.copy().T
    if order == "reversed":
        backwards = (slice(None, None, -1),) * array.ndim
        return array[backwards].copy()[backwards]
    if order == "strided":
        larger = np.full([2 * side for side in array.shape], filler, array.dtype)
        every_other = (slice(None, None, 2),) * array.ndim
        larger[every_other] = array
        return larger[every_other]
    return array
