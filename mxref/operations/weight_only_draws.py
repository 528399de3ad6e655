"""Random inputs and scales of weight-only layers, and the sizes of their calls."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operands.draws import Draws, Ints
from mxref.operations.call_sizes import CallSizes

__all__ = ["GROUP_SIZES", "LAYER_SIZES", "drawn_layer", "exact_layer"]

Array = NDArray[np.float32]
#: Of layers with one scale for each row of weights, and with one for each group.
LAYER_SIZES = CallSizes(
    (
        (3, 5, 511), (2, 3, 1025), (7, 65, 333), (33, 129, 65), (300, 3, 31), (1, 1025, 7),
        (64, 64, 256), (7, 7, 33), (5, 5, 5), (9, 33, 33), (33, 9, 33), (300, 310, 64),
        (1, 512, 1024), (2, 1024, 1024), (64, 128, 128), (128, 256, 512), (256, 256, 64),
    ),
    empty=(0, 3, 5), telling=(1, 2),
)  # fmt: skip
GROUP_SIZES = CallSizes(
    (
        (3, 5, 7, 73), (2, 3, 8, 128), (7, 65, 9, 33), (33, 129, 2, 32), (7, 7, 3, 16),
        (5, 5, 5, 1), (300, 310, 2, 32), (1, 512, 32, 32), (2, 1024, 16, 64), (64, 128, 4, 32),
        (128, 256, 8, 64),
    ),
    longest=(300, 513, 1025, 2048, 4097), empty=(0, 3, 2, 5),
)  # fmt: skip
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


def drawn_layer(
    draws: Draws, shape: tuple[int, int], groups: tuple[int, int], number: int
) -> tuple[Ints, Ints]:
    """Patterns of scales and inputs: half are exact in every order, others any or cancelling.

    Args:
        draws: random numbers.
        shape: of the inputs.
        groups: the shape of the scales.
        number: of the question, by which kinds take turns.

    >>> [part.shape for part in drawn_layer(Draws("seed"), (2, 3), (4, 1), 1)]
    [(4, 1), (2, 3)]
    """
    m, k = shape
    scales, x = draws.between(1, 240, groups) << 23, draws.below(shape, 1 << 32)
    scales |= draws.below(groups, 1 << 23)
    if number % 2 == 0:  # units from 2**-149 to 2**103: the ends of float32 and all between
        unit, scale = int(draws.between(-80, 60)), int(draws.between(-69, 40))
        integers = draws.between(-15, 15, shape) << draws.between(0, 3, shape)
        x = np.ldexp(integers.astype(np.float64), unit).astype(np.float32).view(np.int32)
        scales = draws.between(0, 3, groups) + scale + 127 << 23
    elif number % 4 == 1:
        x = (x & ~(0xFF << 23)) | draws.between(120, 130, shape) << 23
        scales = (scales & 0x7FFFFF) | draws.between(110, 126, groups) << 23
        x[:, 1::2] = np.where(draws.one_in((m, k // 2), 2), x[:, : k - 1 : 2] ^ 1 << 31, x[:, 1::2])
    elif number % 16 != 3:  # without infinities and NaN
        x = np.where(x & 0x7F800000 == 0x7F800000, x ^ 1 << 30, x)
    return scales, x
