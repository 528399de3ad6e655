"""Random layers whose answers depend on how each operand is quantized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mxref.operands.draws import Draws
from mxref.operands.fields import Field
from mxref.operands.kinds import Integers
from mxref.products.recipe import OperandRecipe

__all__ = ["RandomBits", "drawn_layer"]

#: The exponent of 1 in bfloat16, and its mantissa bits.
_BIAS, _BITS = 127, 7


def drawn_layer(
    fields: Sequence[Field], draws: Draws, sizes: Mapping[str, int], reach: int
) -> dict[str, Any]:
    """The parts of a layer of these sizes, whose rows and columns have powers of two.

    Along the axis of each sum those of both operands are opposite: no term swamps the others.
    """
    s, m, k, n = (sizes[one] for one in "smkn")
    rows, inputs, outputs = (
        draws.between(-reach, reach, shape) for shape in ((s, m, 1), (k,), (n,))
    )
    powers = {"x": inputs - rows, "w": -outputs[:, np.newaxis] - inputs, "grad": rows + outputs}
    parts: dict[str, Any] = dict(sizes)
    for field in fields:
        shape = field.lengths(sizes)
        if field.name in powers:
            exponents = _BIAS + powers[field.name] + draws.between(-1, 1, shape)
            signs = draws.below(shape, 2) << 15
            parts[field.name] = signs | exponents << _BITS | draws.below(shape, 1 << _BITS)
        elif shape:
            parts[field.name] = field.kind.drawn(draws, shape)
    return parts


class RandomBits(Integers):
    """The random bits of an operand."""

    def __init__(self, how: OperandRecipe) -> None:
        width = how.random_width or 1
        dtype = f"uint{max(8, 1 << (width - 1).bit_length())}"
        super().__init__(dtype, 0, (1 << min(width, 31)) - 1)
