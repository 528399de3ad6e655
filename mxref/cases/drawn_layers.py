"""Random linear layers, the same on every machine: shapes with tails, rows of different sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.operands.splitmix import splitmix64

__all__ = ["SHAPES", "Shape", "layer_words"]

#: Sequences, rows of each, inputs and outputs.
Shape = tuple[int, int, int, int]
#: Shapes of the search: tails of blocks on each axis, several sequences, one of everything.
SHAPES: tuple[Shape, ...] = (
    (1, 1, 1, 1),
    (1, 3, 32, 2),
    (1, 2, 40, 17),
    (2, 20, 5, 3),
    (1, 33, 33, 2),
    (3, 2, 7, 33),
    (1, 1, 64, 1),
    (2, 16, 3, 16),
    (1, 40, 2, 5),
    (3, 11, 31, 2),
    (1, 5, 96, 3),
    (3, 20, 96, 2),
)


def layer_words(
    op: str, format: str, float: str, shape: Sequence[int], seed: int
) -> tuple[int, ...]:
    """The words of a layer: numbers of up to 12 bits, of which some are zeros.

    Rows and columns are multiplied by powers of two, so that every axis of blocks gives other
    numbers; products have about one size.

    Args:
        op: `linear` or `linear_gradients`.
        format: the block format.
        float: the float type.
        shape: sequences, rows of each, inputs and outputs.
        seed: another seed gives other numbers; `linear` has a bias if it is odd.

    >>> len(layer_words("linear", "mxint8", "f32", (1, 2, 3, 4), 1)), 5 + 6 + 12 + 4
    (27, 27)
    """
    sequences, rows, inputs, outputs = shape
    layout = LAYOUTS[float]
    reach = 3 if layout.exponent_bits < 8 else 14 if "e5m2" in format else 7
    spare = max(11 - layout.mantissa_bits, 0)

    def powers(count: int, which: int) -> NDArray[np.int64]:
        words = splitmix64(8 * seed + which, count)
        return (words % np.uint64(2 * reach + 1)).astype(np.int64) - reach

    def bits(count: int, which: int, *by: NDArray[np.int64]) -> list[int]:
        words = splitmix64(8 * seed + which, count)
        numbers = (words & np.uint64(0x7FF) | np.uint64(0x800)) >> np.uint64(spare)
        power = (words >> np.uint64(32)).astype(np.int64) % 4 - 12 + spare
        if by:
            power += np.add.outer(by[0], by[1]).reshape(-1)
        signs = np.where(words >> np.uint64(63), -1.0, 1.0)
        zero = (words >> np.uint64(40)) % np.uint64(16) == np.uint64(0)
        values = np.where(zero, 0.0, np.ldexp(signs * numbers.astype(np.float64), power))
        found: list[int] = values.astype(layout.dtype).view(layout.uint).reshape(-1).tolist()
        return found

    of_row, of_input, of_output = (
        powers(n, i) for i, n in enumerate((sequences * rows, inputs, outputs))
    )
    x = bits(sequences * rows * inputs, 3, of_row, of_input)
    w = bits(outputs * inputs, 4, of_output, -of_input)
    if op == "linear":
        has_bias = seed % 2
        return (*shape, has_bias, *x, *w, *(bits(outputs, 5) if has_bias else ()))
    return (*shape, *x, *w, *bits(sequences * rows * outputs, 6, -of_row, -of_output))
