"""A linear layer of a recipe, in which each operand is quantized in its own way.

Before it is quantized, an operand may be read back from how it was stored, and go through a
Hadamard transform.

Source: Transformer Engine nvfp4_tensor.py and hadamard_transform_cast_fusion.cu; arXiv 2412.19437
3.5.2; SPEC_NOTES N43, N44, N53.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from mxref.exact.arithmetic import product, quotient
from mxref.exact.format_table import FLOATS, FloatType, look_up
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
from mxref.exact.sums import fraction


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
    x: Words,
    w: Words,
    source: str,
    operands: Sequence[RecipeOperand],
    target: str = "f32",
    end: int = 0,
) -> list[list[int]]:
    """Return the bits of y = x w' of two operands, x and w, as `linear` does.

    end: -1 and 1 give the ends of the interval of float32 sums in any order, each addition rounded
    to nearest.
    """
    of_x, of_w = operands
    left, right = _along_rows(x, source, of_x), _along_rows(w, source, of_w)
    return _written(left, right, source, operands, target, end)


def gradients(
    x: Words,
    w: Words,
    grad: Words,
    source: str,
    operands: Sequence[RecipeOperand],
    target: str = "f32",
    draws: Sequence[Words | None] = (None, None),
    end: int = 0,
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the bits of dx = g w and dw = g' x of four operands: g and w, g and x.

    draws: the random bits of both g, if they are rounded stochastically. end: as in `output`.
    """
    for_dx, for_dw = operands[:2], operands[2:]
    left = _along_rows(grad, source, for_dx[0], draws[0])
    dx = _written(left, _along_columns(w, source, for_dx[1]), source, for_dx, target, end)
    left = _along_columns(grad, source, for_dw[0], draws[1])
    dw = _written(left, _along_columns(x, source, for_dw[1]), source, for_dw, target, end)
    return dx, dw


def _written(
    left: Matrix,
    right: Matrix,
    source: str,
    operands: Sequence[RecipeOperand],
    target: str,
    end: int,
) -> list[list[int]]:
    kind, under = look_up(FLOATS, "target", target), 1
    for one in operands:
        under *= 1 if one.format is None else divisor(How(source, one.format, one.choices))
    if not end:
        return [[write_float(n, kind) for n in row] for row in products(left, right, kind, under)]
    rounds = _roundings(operands)
    return [[_end([*map(product, a, b)], under, rounds, kind, end) for b in right] for a in left]


def _roundings(operands: Sequence[RecipeOperand]) -> int:
    """By how many times 2**-24 of the magnitudes float32 rounds beside once for each term.

    -1: products are exact, so that one addition less rounds. 0: an operand is kept, and its
    products round. 6: float32 scales of blocks or tensors multiply in up to five operations.
    """
    formats = [one.format for one in operands]
    if any(fmt is not None and (fmt.scale == "f32" or fmt.tensor) for fmt in formats):
        return 6
    return 0 if None in formats else -1


def _end(terms: list[Number], under: int, rounds: int, kind: FloatType, end: int) -> int:
    """An end of the interval of float32 sums of terms over a divisor, none of which overflows."""
    parts = [fraction(one) / under for one in terms if one[1]]
    size, count = sum(map(abs, parts), Fraction(0)), len(parts)
    radius = size * max(count + rounds, 0) / 2**24 + Fraction(count, 2**150)
    ratios = [(one * 2**149).as_integer_ratio() for one in parts]
    if rounds < 0 and all(d == 1 and size * 2**149 <= (n & -n) << 24 for n, d in ratios):
        radius = Fraction(0)  # every term is a multiple of what holds the magnitudes in 24 bits
    number = sum(parts, Fraction(0)) + end * radius
    top, bottom = (0, abs(number.numerator), 0), (0, number.denominator, 0)
    return write_float((int(number < 0), *quotient(top, bottom, kind)[1:]), kind)


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
