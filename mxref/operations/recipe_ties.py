"""Layers of which elements lie midway between two codes, so that each way to a quotient is seen.

Under a float32 scale with E4M3 an element over its scale is 448 e / A, A the largest magnitude. For
e = 3 A / 2**n that is 21 times a power of two, a midpoint; the roundings of a scale, of its
reciprocal or of 448 / A put it on either side, which depends on A.

Under powers of two an element that is subnormal has a bit less if the scale is twice as large.

Under the scale of a tensor whose largest magnitude is 21 times a power of two, blocks whose largest
magnitude is 6 times one have exact scales, and 5/6 of it is a midpoint of E2M1; after a Hadamard
transform such are the sums and the differences of two numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.formats.catalog import BlockFormat
from mxref.operands.draws import Draws
from mxref.operands.fields import Field

__all__ = ["tied_layers"]

#: The numbers of a matrix, by the name of a part and its place.
_Made = Callable[[str, int], NDArray[Any]]
#: Significands of A: bfloat16 holds three times each. Under 51 products with both reciprocals, of
#: the scale and 448 / A, are above the midpoint, and the quotient is on it; under 69 that with the
#: reciprocal of A / 448 alone; under 66 that with 448 / A is on it, and what its scale gives above.
_LARGEST = (51, 66, 69)
_SIDE, _GROUP = 4, 16
#: Rows whose numbers E4M3 has under a scale of 1 or of 3, so that they are stored as they are, and
#: columns whose elements are then 3 A / 2**n for an A of 13 times a power of two.
_STORED = ((448, 208, 208, 208), *[(1344, 156, 78, 39)] * 3)
#: E2M1's largest number, and midpoints below it.
_OF_E2M1 = (6, 5, 3.5, 2.5, 1.75, 1.25, 0.75, 0.25)


def tied_layers(
    fields: Sequence[Field], draws: Draws, formats: Sequence[BlockFormat | None]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The names and parts of layers with ties, or with elements of few bits under powers of two.

    Args:
        fields: the parts.
        draws: random numbers.
        formats: those of the operands, None if one is kept.
    """
    scaled = [one for one in formats if one is not None]
    in_tensor = any(one.tensor_scale for one in scaled)
    turns = any(field.name == "grad" for field in fields)  # x has a transform there alone
    made: Sequence[_Made]
    if in_tensor:
        made = [lambda name, place: _sums() if turns and name == "x" else _rows(draws)]
    elif any(one.scale.is_float32 for one in scaled):
        made = [partial(_ties, draws, number) for number in range(len(_LARGEST) + 1)]
    else:
        made = [lambda name, place: _small(draws)]
    count = _GROUP if in_tensor else _SIDE
    for number, matrix in enumerate(made):
        parts: dict[str, Any] = {"s": 1, "m": count, "k": count, "n": count}
        for place, field in enumerate(one for one in fields if one.name not in parts):
            shape = field.lengths(parts)
            if field.name.startswith("bits"):
                parts[field.name] = field.kind.drawn(draws, shape)
            else:
                parts[field.name] = _words(matrix(field.name, place)).reshape(shape)
        yield f"ties_{number}", parts


def _ties(draws: Draws, number: int, name: str, place: int) -> NDArray[Any]:
    """Elements that are 3 A / 2**n, in each row and column beside an A."""
    shape = (_SIDE, _SIDE)
    signs = 1 - 2 * draws.below(shape, 2)
    if name == "x" and number == len(_LARGEST):
        return np.array(_STORED) * signs
    powers = np.where(np.eye(_SIDE, dtype=bool), 0, draws.between(2, 7, shape))
    largest = _LARGEST[(number + place) % len(_LARGEST)]
    found: NDArray[Any] = np.where(powers, 3, 1) * largest * 2.0**-powers * signs
    return found


def _small(draws: Draws) -> NDArray[Any]:
    """Elements that are subnormal in E4M3, and have a bit more or less under another scale."""
    shape = (_SIDE, _SIDE)
    small = (1 + draws.below(shape, 128) / 128) * 2.0 ** -draws.between(14, 16, shape)
    found: NDArray[Any] = np.where(np.eye(_SIDE, dtype=bool), 1.25, small)
    return found


def _rows(draws: Draws) -> NDArray[Any]:
    """Rows of midpoints under largest numbers of 6 times a power, and one of 21 times a power."""
    shape = (_GROUP, _GROUP)
    numbers = np.array(_OF_E2M1)[draws.below(shape, len(_OF_E2M1))]
    numbers[:, 0] = _OF_E2M1[0]
    numbers *= 2.0 ** draws.between(-2, 2, (_GROUP, 1))
    numbers[0] = 0
    numbers[0, 0] = 84
    found: NDArray[Any] = numbers * (1 - 2 * draws.below(shape, 2))
    return found


def _sums() -> NDArray[Any]:
    """Columns of two numbers, whose sum is 6 and whose difference is 5 times a power of two."""
    numbers = np.zeros((_GROUP, _GROUP))
    powers = 2.0 ** (np.arange(_GROUP) % 4)
    numbers[0], numbers[1] = 5.5 * powers, 0.5 * powers
    numbers[:2, 0] = 84, 0
    return numbers


def _words(numbers: NDArray[Any]) -> NDArray[Any]:
    """The patterns of numbers that bfloat16 holds."""
    found: NDArray[Any] = numbers.astype(np.float32).view(np.uint32) >> 16
    return found.astype(np.int64)
