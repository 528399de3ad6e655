"""Random inputs and scales of weight-only layers of which no order of additions rounds a sum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operands.draws import Draws

__all__ = ["exact_layer"]

Array = NDArray[np.float32]
#: Numbers of a call with as many bits as can be, and binades of the scales of a row.
_LONG, _BINADES = 4, 3


def exact_layer(
    draws: Draws, shape: tuple[int, int], groups: tuple[int, ...], reach: int
) -> tuple[Array, Array]:
    """Inputs and scales: integers times a power of two, and powers of two of either sign or zeros.

    Sums of `reach` times the magnitudes of a row, in units of the smallest, are at most 2**24, in
    whatever order the inputs of all rows are put, and also if all are as the one in the middle is.

    Args:
        draws: random numbers.
        shape: of the inputs.
        groups: the shape of the scales, of one axis or two.
        reach: the largest |w + 8| + 8 of a weight w.

    >>> x, scales = exact_layer(Draws("seed"), (2, 3), (4,), 143)
    >>> x.shape, scales.shape
    ((2, 3), (4,))
    """
    room = (1 << 24) // (reach << (_BINADES - 1) * (len(groups) - 1))
    short, long = max(room // (2 * max(shape[1], 1)), 1), room // (2 * _LONG)
    integers = draws.between(-short, short, shape)
    places = draws.below((_LONG,), max(integers.size, 1))
    places = places[places != integers.size // 2]
    signs: Any = 1 - 2 * draws.below(places.shape, 2)
    integers.flat[places] = signs * draws.between(long // 2, long, places.shape)
    x = np.ldexp(integers.astype(np.float32), int(draws.between(-20, 20)))
    exponents = draws.between(0, _BINADES - 1, groups) + int(draws.between(-9, 0))
    scales = np.ldexp(np.float32(1), exponents)
    scales = np.where(draws.one_in(groups, 4), -scales, scales)
    return x, np.where(draws.one_in(groups, 16), np.float32(0), scales)
