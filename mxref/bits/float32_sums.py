"""Sums of float32 numbers times integers and scales, in float32 and in one order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64
from mxref.bits.single import single
from mxref.bits.weighted_sums import one_nan

Array = NDArray[Any]


def float32_sums(
    bits: Array, weights: I64, scales: NDArray[np.float64], *, scales_last: bool, offset: int = 0
) -> NDArray[np.float32]:
    """Sums in ascending order from +0, each product and each sum rounded to float32.

    Args:
        bits: float32 patterns (M, K); the result is (M, N), with one pattern for NaN.
        weights: (N, K).
        scales: (N, G), numbers that float32 holds, one for K / G weights.
        scales_last: whether scales multiply the sum of each group; else they multiply the weights.
        offset: added to each weight; offset times the sum of the inputs is subtracted from each
            group.

    >>> pi, tenth = np.uint32([[0x40490FDB]]), np.float32([[0.1]]).astype(np.float64)
    >>> for last in (False, True):
    ...     sums = float32_sums(pi, np.array([[3]]), tenth, scales_last=last)
    ...     print(hex(sums.view(np.uint32).item()))
    0x3f71463b
    0x3f71463a
    """
    s = single()
    x, factors = s.read(bits), s.of(scales.T)
    columns = s.of((weights + offset).T.astype(np.float64))
    groups = len(factors) if scales_last else 1
    size = len(columns) // groups
    result = np.zeros((len(x), len(weights)), s.dtype)
    with np.errstate(all="ignore"):
        if not scales_last:
            columns = s.fl(columns * np.repeat(factors, size // len(factors), 0))
        for group in range(groups):
            total, inputs = np.zeros_like(result), np.zeros((len(x), 1), s.dtype)
            for k in range(group * size, group * size + size):
                total = s.fl(total + s.fl(x[:, k, np.newaxis] * columns[k]))
                if offset:
                    inputs = s.fl(inputs + x[:, k, np.newaxis])
            if offset:
                total = s.fl(total - s.fl(inputs * offset))
            total[total == 0] = 0  # it is -0 where the processor rounds downward
            if scales_last:
                total = s.fl(total * factors[group])
            result = s.fl(result + total) if groups > 1 else total
    if groups > 1:
        result[result == 0] = 0
    return one_nan(s.write(result).view(np.float32))
