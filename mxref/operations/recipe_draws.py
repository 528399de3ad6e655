"""Random layers whose answers depend on how each operand is quantized."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operands.draws import Draws
from mxref.operands.fields import Field
from mxref.operands.kinds import Floats, Integers
from mxref.products.recipe import OperandRecipe

__all__ = ["KINDS", "SHORT", "TILES", "Ordinary", "RandomBits", "drawn_layer", "drawn_sizes"]

#: The exponent of 1 in bfloat16, its mantissa bits, and how far exponents of cases are from it.
_BIAS, _BITS, _REACH = 127, 7, 60
#: Kinds of sizes of layers, the one with tiles along both axes, and the length of a short block.
KINDS, TILES, SHORT = 7, 6, 32
_FAINT = 40  # how much smaller faint numbers are


def drawn_layer(
    fields: Sequence[Field],
    draws: Draws,
    sizes: Mapping[str, int],
    *,
    reach: int,
    tile: int,
    half: int = 0,
    faint: bool = False,
) -> dict[str, Any]:
    """The parts of a layer of these sizes, whose rows and columns have powers of two.

    Along the axis of each sum those of both operands are opposite: no term swamps the others.
    Neighbouring tiles of the weight have different magnitudes.

    Args:
        fields: the parts.
        draws: random numbers.
        sizes: of the layer.
        reach: of the exponents of rows and columns.
        tile: the side of a tile of the weight.
        half: of a block: along an axis that is longer than two, numbers of the first half are
            large, of the second one small, of the next block between both, so that blocks of other
            lengths lose other bits; 0: none.
        faint: whether x and grad are below the floors of amax, and their first rows zeros.
    """
    s, m, k, n = (sizes[one] for one in "smkn")
    rows, inputs, outputs = (
        _by_halves(shape, half, reach)
        if half and math.prod(shape) > 2 * half
        else draws.between(-reach, reach, shape)
        for shape in ((s, m, 1), (k,), (n,))
    )
    powers = {"x": inputs - rows, "w": -outputs[:, np.newaxis] - inputs, "grad": rows + outputs}
    down, across = np.arange(n)[:, np.newaxis] // tile, np.arange(k) // tile
    powers["w"] = powers["w"] - (3 * down + 5 * across) % 7
    parts: dict[str, Any] = dict(sizes)
    for field in fields:
        shape = field.lengths(sizes)
        if field.name in powers:
            is_faint = faint and field.name != "w"
            exponents = _BIAS + powers[field.name] + draws.between(-1, 1, shape)
            exponents -= _FAINT * is_faint
            signs = draws.below(shape, 2) << 15
            words = signs | exponents << _BITS | draws.below(shape, 1 << _BITS)
            if is_faint:
                words[:, 0] = 0
            if field.name == "w" and min(n, k) > tile:  # several tiles along both axes, few numbers
                words[np.arange(n) % 8 > 0] = 0
                words[:, np.arange(k) % 4 > 0] = 0
            parts[field.name] = words
        elif shape:
            parts[field.name] = field.kind.drawn(draws, shape)
    return parts


def drawn_sizes(length: int, number: int, draws: Draws) -> dict[str, int]:
    """Small sizes of a kind, of which one is longer than one block, or two, or two are.

    Args:
        length: of the longest block.
        number: of the kind, below `KINDS`.
        draws: random numbers.
    """
    length *= number // 3 + 1
    few = 1 if length > 2 * SHORT else 2
    found = {"s": 1, "m": 1, "k": few, "n": few}
    if number == TILES:  # two tiles of the weight along both of its axes
        return found | {"k": length // 3 + 3, "n": length // 3 + 2}
    found["mkn"[number % 3]] = length + int(draws.between(4, 8))
    return found if number % 3 else found | {"s": 2, "m": length // 2 + 8}


def _by_halves(shape: tuple[int, ...], half: int, reach: int) -> NDArray[np.int64]:
    """Powers of halves of blocks: large, small and, in the second block, between both."""
    place = np.arange(math.prod(shape)).reshape(shape) // half % 4
    found: NDArray[np.int64] = 2 * reach * np.array([1, -1, 0, 0])[place]
    return found


class Ordinary(Floats):
    """Zeros, and numbers of bfloat16 from 2**-60 to 2**61: stages of a profile differ beyond."""

    def __init__(self) -> None:
        super().__init__("bf16")

    def is_legal(self, word: int) -> bool:
        """Whether it is one."""
        exponent = (word >> _BITS & 0xFF) - _BIAS
        return super().is_legal(word) and (not word & 0x7FFF or abs(exponent) <= _REACH)

    def simpler(self, word: int) -> Iterator[int]:
        """Simpler ones."""
        return (one for one in super().simpler(word) if self.is_legal(one))


class RandomBits(Integers):
    """The random bits of an operand."""

    def __init__(self, how: OperandRecipe) -> None:
        width = how.random_width or 1
        dtype = f"uint{max(8, 1 << (width - 1).bit_length())}"
        super().__init__(dtype, 0, (1 << min(width, 31)) - 1)
