"""Floats rounded to odd: as indices of lookup tables, and as halves of patterns."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import Bits, to_odd
from mxref.support.scratch import scratch


def odd_keys(bits: Bits, drop: int) -> NDArray[np.intp]:
    """`to_odd` of a chunk (n,) as indices, in scratch memory that the next call overwrites."""
    index = scratch("index", bits.size, np.intp)
    if drop:
        bits = to_odd(bits, drop, scratch("key", bits.size, bits.dtype))
    # intp, since NumPy looks up narrower indices more slowly.
    np.copyto(index, bits, casting="same_kind")
    return index


def halves(bits: Bits, spare: Bits, upper: Bits, rest: Bits) -> None:
    """The upper halves of patterns, and 1 where the lower half is not 0, else 0.

    With them the steps of rounding to odd are taken on arrays of halves, which are quicker: an
    upper half and its `rest` joined by OR are `to_odd` of the pattern to the upper half. With one
    bit more it is twice the upper half joined with `rest`: of the bits in the lower half the first
    is kept, and is set if it or a lower one is.

    Args:
        bits: the patterns.
        spare: memory for as many patterns.
        upper: where the upper halves go.
        rest: where the ones and zeros go.
    """
    np.copyto(rest, bits, casting="same_kind")
    np.minimum(rest, ones(rest.size, rest.dtype).reshape(rest.shape), out=rest)
    np.right_shift(bits, one_number(8 * upper.itemsize, bits.dtype), out=spare)
    np.copyto(upper, spare, casting="same_kind")


@functools.lru_cache(maxsize=64)
def one_number(value: int, dtype: np.dtype[Any]) -> Bits:
    """A number as an array without axes, which short calls of NumPy take more quickly."""
    return np.array(value, dtype)


@functools.lru_cache(maxsize=8)
def ones(size: int, dtype: np.dtype[Any]) -> Bits:
    """An array of ones: `minimum` takes four times as long with a single number."""
    return np.ones(size, dtype)
