"""A linear layer of a recipe, in which each operand is quantized in its own way.

Before it is quantized, an operand may be read back from how it was stored, and go through a
Hadamard transform.

Source: Transformer Engine nvfp4_tensor.py and hadamard_transform_cast_fusion.cu; arXiv 2412.19437
3.5.2; SPEC_NOTES N53.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mxref.exact.format_table import FLOATS, look_up
from mxref.exact.integers import Number
from mxref.exact.linear import (
    BlockFormat,
    How,
    Matrix,
    Words,
    divisor,
    numbers_of,
    products,
    quantized_rows,
    total,
    turned,
)
from mxref.exact.patterns import write_float


class RecipeOperand(NamedTuple):
    """How an operand is quantized.

    format: of blocks along the summed axis, or of tiles as they lie in the tensor; None: it is
    kept. choices: as in `How`. signs: those of a Hadamard transform, or none. rounded: the float
    type of what is transformed. stored: how it was quantized before, along its last axis, and then
    read in the type of the source. width: of the random bits of a stochastic rounding.
    """

    format: BlockFormat | None = None
    choices: Mapping[str, Any] = {}
    signs: tuple[int, ...] = ()
    rounded: str = "bf16"
    stored: RecipeOperand | None = None
    width: int = 0


def output(
    x: Words, w: Words, source: str, operands: Sequence[RecipeOperand], target: str = "f32"
) -> list[list[int]]:
    """Return the bits of y = x w' of two operands, x and w, as `linear` does."""
    of_x, of_w = operands
    left, right = _along_rows(x, source, of_x), _along_rows(w, source, of_w)
    return _written(left, right, source, operands, target)


def gradients(
    x: Words,
    w: Words,
    grad: Words,
    source: str,
    operands: Sequence[RecipeOperand],
    target: str = "f32",
    draws: Sequence[Words | None] = (None, None),
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the bits of dx = g w and dw = g' x of four operands: g and w, g and x.

    draws: the random bits of both g, if they are rounded stochastically.
    """
    for_dx, for_dw = operands[:2], operands[2:]
    left = _along_rows(grad, source, for_dx[0], draws[0])
    dx = _written(left, _along_columns(w, source, for_dx[1]), source, for_dx, target)
    left = _along_columns(grad, source, for_dw[0], draws[1])
    dw = _written(left, _along_columns(x, source, for_dw[1]), source, for_dw, target)
    return dx, dw


def _written(
    left: Matrix, right: Matrix, source: str, operands: Sequence[RecipeOperand], target: str
) -> list[list[int]]:
    kind, under = look_up(FLOATS, "target", target), 1
    for one in operands:
        under *= 1 if one.format is None else divisor(How(source, one.format, one.choices))
    return [[write_float(n, kind) for n in row] for row in products(left, right, kind, under)]


def _along_rows(
    words: Words, source: str, how: RecipeOperand, draws: Words | None = None
) -> Matrix:
    """The numbers of an operand whose rows are summed over."""
    return _quantized(_read_back(words, source, how), source, how, draws)


def _along_columns(
    words: Words, source: str, how: RecipeOperand, draws: Words | None = None
) -> Matrix:
    """The numbers of the columns of an operand, each of which is summed over."""
    width = len(words[0])
    across = None if draws is None else turned(draws, width)
    if how.format is not None and isinstance(how.format.along, tuple):
        how = how._replace(format=how.format._replace(along=how.format.along[::-1]))
    return _quantized(turned(_read_back(words, source, how), width), source, how, across)


def _read_back(words: Words, source: str, how: RecipeOperand) -> Words:
    if how.stored is None:
        return words
    kind = look_up(FLOATS, "source", source)
    numbers = _along_rows(words, source, how.stored)
    return [[write_float(number, kind) for number in row] for row in numbers]


def _quantized(words: Words, source: str, how: RecipeOperand, draws: Words | None) -> Matrix:
    if how.signs:
        words, source = [_transformed(row, source, how) for row in words], how.rounded
    if how.format is None:
        return numbers_of(words, source)
    return quantized_rows(words, How(source, how.format, how.choices, how.width), draws=draws)


def _transformed(row: Sequence[int], source: str, how: RecipeOperand) -> list[int]:
    """The bits of a row after the transform of each n numbers; 4**m of them give sums over 2**m."""
    n, kind = len(how.signs), look_up(FLOATS, "rounded", how.rounded)
    halvings = (n.bit_length() - 1) // 2
    numbers = numbers_of([row], source)[0]
    found = []
    for start in range(0, len(row), n):
        for column in range(n):
            terms: list[Number] = []
            for place, (sign, count, exponent) in enumerate(numbers[start : start + n]):
                flips = how.signs[place] * _hadamard(place, column) < 0
                terms.append((sign ^ flips, count, exponent - halvings))
            found.append(write_float(total(terms), kind))
    return found


def _hadamard(row: int, column: int) -> int:
    """An entry of Sylvester's matrix, [[H, H], [H, -H]] from [[1]] on.

    >>> [[_hadamard(i, j) for j in range(4)] for i in range(4)]
    [[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]
    """
    if not row and not column:
        return 1
    return _hadamard(row // 2, column // 2) * (-1 if row % 2 and column % 2 else 1)
