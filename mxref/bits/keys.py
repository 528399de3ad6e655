"""Floats rounded to odd, as indices of lookup tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import Bits, to_odd
from mxref.support.scratch import scratch

__all__ = ["odd_keys"]


def odd_keys(bits: Bits, drop: int) -> NDArray[np.intp]:
    """`to_odd` of a chunk (n,) as indices, in memory of this thread that the next call takes."""
    index = scratch("index", bits.size, np.intp)
    if drop:
        bits = to_odd(bits, drop, scratch("key", bits.size, bits.dtype))
    # Whole indices, since narrower ones are slower to look up.
    np.copyto(index, bits, casting="same_kind" if bits.dtype.itemsize < 8 else "unsafe")
    return index
