"""Floats rounded to odd, as indices of lookup tables."""

from __future__ import annotations

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
