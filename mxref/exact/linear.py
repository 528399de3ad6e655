"""A linear layer on quantized operands: its output and its gradients, one number at a time.

An operand is quantized along the axis that its product sums over, unless a choice says otherwise.
Sums are exact and rounded once. Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N44.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from typing import Any, NamedTuple

from mxref.exact.arithmetic import F32, product, quotient
from mxref.exact.e8m0_scale import scale_number
from mxref.exact.float_scale import quantize_float_scaled
from mxref.exact.format_table import (
    ELEMENTS,
    FLOATS,
    UNSIGNED_SCALES,
    FloatType,
    look_up,
    magnitude,
    read_code,
)
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.one_block import quantize
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.small_float_scale import quantize_scaled
from mxref.exact.sources import SOURCES

Words = Sequence[Sequence[int]]
Matrix = list[list[Number]]


class BlockFormat(NamedTuple):
    """A format of blocks: of `along` numbers in a row, or tiles of (rows, columns).

    scale: e8m0, the name of a small float, or f32. tensor: whether the tensor has a scale, too.
    """

    element: str
    scale: str = "e8m0"
    along: int | tuple[int, int] = 32
    tensor: bool = False


class How(NamedTuple):
    """How an operand is quantized; an element format alone has blocks of 32 under E8M0.

    choices: as in `quantize`, and `arithmetic` of scales that are small floats. width: of the
    random bits that a stochastic rounding reads.
    """

    source: str
    format: str | BlockFormat
    choices: Mapping[str, Any]
    width: int = 0

    @property
    def blocks(self) -> BlockFormat:
        """The format of its blocks."""
        return self.format if isinstance(self.format, BlockFormat) else BlockFormat(self.format)


def linear(
    x: Words,
    w: Words,
    source: str,
    format: str | BlockFormat,
    target: str = "f32",
    *,
    weight_format: str | BlockFormat | None = None,
    bias: Sequence[int] | None = None,
    weight_axis: str = "in",
    activations: str = "quantized",
    **choices: Any,
) -> list[list[int]]:
    """Return the bits of y = x w' + bias, a row for each row of x, a column for each row of w.

    x, w, bias: bits of the type `source`. format: an element format, or that of blocks, of x, and
    of w without weight_format. target: f16, bf16, f32 or f64, to which the product and the bias are
    rounded, and then their sum.
    weight_axis: in, out (blocks of w run across its rows). activations: quantized, kept (x is not
    quantized). choices: as in `quantize`.
    Special values: NaN if a term is NaN (Inf times zero, all under scale FF) or Inf comes with both
    signs; Inf if a term is Inf. A sum that is zero is +0, but that of -0 and the bias -0.

    >>> linear([[0x3F800000, 0x40000000]], [[0x3F800000, 0x3F800000]], "f32", "e2m1", "f16")
    [[16896]]
    """
    kind, how = look_up(FLOATS, "target", target), How(source, format, choices)
    of_w = How(source, weight_format or format, choices)
    left = numbers_of(x, source) if activations == "kept" else quantized_rows(x, how)
    across = weight_axis == "out" and w
    right = (
        turned(quantized_columns(w, len(w[0]), of_w), len(w)) if across else quantized_rows(w, of_w)
    )
    y = products(left, right, kind)
    if bias is not None:
        added = [converted(number, kind) for number in numbers_of([bias], source)[0]]
        y = [[total([*pair], plus=False) for pair in zip(row, added, strict=True)] for row in y]
    return [[write_float(number, kind) for number in row] for row in y]


def linear_gradients(
    x: Words,
    w: Words,
    grad: Words,
    source: str,
    format: str | BlockFormat,
    target: str = "f32",
    *,
    weight_format: str | BlockFormat | None = None,
    gradient_format: str | BlockFormat | None = None,
    backward_operands: str = "requantized",
    sequence: int | None = None,
    **choices: Any,
) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Return the bits of dx = g w, dw = g' x and db, the sums of the columns of g, not quantized.

    All but the following: as in `linear`. backward_operands: requantized, reused (x and w as for y,
    grad along its rows only). sequence: after how many rows of x and grad a block along the rows
    ends; None: after the last.

    >>> one = [[0x3F800000]]
    >>> linear_gradients(one, one, [[0x40000000]], "f32", "e4m3", "f16")
    ([[16384]], [[16384]], [16384])
    """
    kind, how = look_up(FLOATS, "target", target), How(source, format, choices)
    of_w, of_g = (How(source, own or format, choices) for own in (weight_format, gradient_format))
    width, count = max(map(len, [*x, *w]), default=0), len(w)
    g, columns = quantized_rows(grad, of_g), quantized_columns(w, width, of_w)
    left, right = (
        quantized_columns(grad, count, of_g, sequence),
        quantized_columns(x, width, how, sequence),
    )
    if backward_operands == "reused":
        columns, right = (
            turned(quantized_rows(w, of_w), width),
            turned(quantized_rows(x, how), width),
        )
        left = turned(g, count)
    db = [total(column) for column in numbers_of(turned(grad, count), source)]
    parts = products(g, columns, kind), products(left, right, kind), [db]
    dx, dw, (sums,) = ([[write_float(n, kind) for n in row] for row in part] for part in parts)
    return dx, dw, sums


def total(terms: list[Number], *, plus: bool = True) -> Number:
    """The exact sum; a zero is +0, or with `plus` false -0 if every term is."""
    infinite = {sign for sign, n, _ in terms if n == INF}
    if len(infinite) == 2 or any(n == NAN for _, n, _ in terms):
        return (0, NAN, 0)
    unit = min((e for _, _, e in terms), default=0)
    count = sum((-n if sign else n) << (e - unit) for sign, n, e in terms if n != INF)
    minus = count < 0 or not (plus or any(n or not sign for sign, n, _ in terms))
    return (infinite.pop(), INF, 0) if infinite else (int(minus), abs(count), unit)


def products(rows: Matrix, columns: Matrix, kind: FloatType, divisor: int = 1) -> Matrix:
    """The sums of products, over a divisor, each rounded once."""
    under = (0, divisor, 0)
    sums = [[total([*map(product, a, b)]) for b in columns] for a in rows]
    if divisor == 1:
        return [[converted(number, kind) for number in row] for row in sums]
    return [[quotient(number, under, kind) for number in row] for row in sums]


def numbers_of(words: Words, source: str) -> Matrix:
    """The numbers of bits."""
    return [[look_up(SOURCES, "source", source).read(bits) for bits in row] for row in words]


def turned(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Columns of rows, which have this width."""
    return [[row[k] for row in rows] for k in range(width)]


def quantized_columns(
    words: Words, width: int, how: How, length: int | None = None, draws: Words | None = None
) -> Matrix:
    """Quantize each column as `quantized_rows` does each row; a tile lies as it is."""
    along = how.blocks.along
    if isinstance(along, tuple):
        how = how._replace(format=how.blocks._replace(along=along[::-1]))
    across = None if draws is None else turned(draws, width)
    return quantized_rows(turned(words, width), how, length, across)


def quantized_rows(
    words: Words, how: How, length: int | None = None, draws: Words | None = None
) -> Matrix:
    """Quantize each row, or as many as a tile has; after each `length` numbers a block begins.

    draws: the random bits of each number, for a stochastic rounding.
    """
    fmt, blocks, places = how.blocks, [], []
    tall, along = fmt.along if isinstance(fmt.along, tuple) else (1, fmt.along)
    width = len(words[0]) if words else 0
    starts = [k for k in range(width) if k % (length or width) % along == 0]
    for top in range(0, len(words), tall):
        some = range(top, min(top + tall, len(words)))
        for start, end in pairwise([*starts, width]):
            places.append([(row, column) for row in some for column in range(start, end)])
            blocks.append([words[row][column] for row, column in places[-1]])
    rows: Matrix = [[(0, 0, 0)] * width for _ in words]
    drawn = None
    if draws is not None:
        drawn = [[draws[row][column] for row, column in place] for place in places]
    for place, numbers in zip(places, _quantized(blocks, how, drawn), strict=True):
        for (row, column), number in zip(place, numbers, strict=True):
            rows[row][column] = number
    return rows


def _quantized(blocks: Words, how: How, draws: Words | None) -> Iterator[list[Number]]:
    """Quantize all blocks of an operand, and read them, exactly."""
    fmt, element = how.blocks, ELEMENTS[how.blocks.element]
    if fmt.scale == "f32":
        for block in blocks:
            bits, codes = quantize_float_scaled(block, how.source, fmt.element, **how.choices)
            factor = float_reader(F32)(bits)
            yield [product(read_code(code, element), factor) for code in codes]
    elif fmt.scale == "e8m0":
        for block, some in zip(blocks, draws or repeat(None), strict=draws is not None):
            scale, codes = quantize(
                block, how.source, fmt.element, random_bits=some, random_width=how.width,
                **how.choices,
            )  # fmt: skip
            factor = scale_number(scale, {"scale_00": "power", "scale_ff": "nan"})
            yield [product(read_code(code, element), factor) for code in codes]
    else:
        yield from _two_levels(blocks, how, draws)


def _two_levels(blocks: Words, how: How, draws: Words | None) -> Iterator[list[Number]]:
    """Blocks under scales that are small floats; with a tensor's scale, numbers times `divisor`."""
    fmt, whole, element = how.blocks, (0, 1, 0), ELEMENTS[how.blocks.element]
    choices = {**how.choices}
    arithmetic = choices.pop("arithmetic", "exact")
    found, rest = quantize_scaled(
        blocks, how.source, fmt.element, fmt.scale, arithmetic,
        "dynamic" if fmt.tensor else None, random_bits=draws, random_width=how.width, **choices,
    )  # fmt: skip
    if found is not None:
        whole = float_reader(F32)(found)
    for scale, codes in rest:
        factor = product(read_code(scale, UNSIGNED_SCALES[fmt.scale]), whole)
        yield [product(read_code(code, element), factor) for code in codes]


def divisor(how: How) -> int:
    """What the numbers of an operand are to be divided by.

    Under `transformer_engine` the scale of a tensor is A, its largest magnitude, which stands for
    A / (M * C), the largest element and scale: A / 2688 in NVFP4.
    """
    fmt = how.blocks
    if not fmt.tensor or how.choices.get("arithmetic", "exact") == "exact":
        return 1
    (m, i), (c, j) = (
        magnitude(one.max_code, one) for one in (ELEMENTS[fmt.element], UNSIGNED_SCALES[fmt.scale])
    )
    return m * c << i + j
