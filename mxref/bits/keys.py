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


def odd_halves(
    bits: NDArray[Any], spare: NDArray[Any], low: NDArray[Any], out: NDArray[Any]
) -> NDArray[Any]:
    """`to_odd` where the upper halves of patterns are kept, most of it on arrays of halves.

    The last bit of an upper half is set if the lower half is not 0.

    Args:
        bits: the patterns.
        spare: memory for as many patterns.
        low: memory for as many halves.
        out: where the upper halves go.
    """
    np.copyto(low, bits, casting="same_kind")
    np.minimum(low, ones(low.size, low.dtype).reshape(low.shape), out=low)
    np.right_shift(bits, bits.dtype.type(8 * low.itemsize), out=spare)
    np.copyto(out, spare, casting="same_kind")
    np.bitwise_or(out, low, out=out)
    return out


@functools.lru_cache(maxsize=8)
def ones(size: int, dtype: np.dtype[Any]) -> Bits:
    """An array of ones: `minimum` takes four times as long with a single number."""
    return np.ones(size, dtype)
