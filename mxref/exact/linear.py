"""A linear layer on quantized operands: its output and its gradients, one number at a time.

An operand is quantized along the axis that its product sums over, unless a choice says otherwise.
Sums are exact and rounded once. Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N44.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from mxref.exact.arithmetic import F32, product
from mxref.exact.e8m0_scale import scale_number
from mxref.exact.format_table import (
    ELEMENTS,
    FLOATS,
    UNSIGNED_SCALES,
    FloatType,
    look_up,
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
    """A format of blocks: of `along` numbers in a row, or tiles of (rows, columns)."""

    element: str
    scale: str = "e8m0"
    along: int | tuple[int, int] = 32
    tensor: bool = False


class How(NamedTuple):
    """How an operand is quantized; an element format alone has blocks of 32 under E8M0."""

    source: str
    format: str | BlockFormat
    choices: Mapping[str, Any]

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
    left = _read(x, source) if activations == "kept" else _rows(x, how)
    across = weight_axis == "out" and w
    right = _turned(_columns(w, len(w[0]), of_w), len(w)) if across else _rows(w, of_w)
    y = _products(left, right, kind)
    if bias is not None:
        added = [converted(number, kind) for number in _read([bias], source)[0]]
        y = [[_total([*pair], plus=False) for pair in zip(row, added, strict=True)] for row in y]
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
    g, columns = _rows(grad, of_g), _columns(w, width, of_w)
    left, right = _columns(grad, count, of_g, sequence), _columns(x, width, how, sequence)
    if backward_operands == "reused":
        columns, right = _turned(_rows(w, of_w), width), _turned(_rows(x, how), width)
        left = _turned(g, count)
    db = [_total(column) for column in _read(_turned(grad, count), source)]
    parts = _products(g, columns, kind), _products(left, right, kind), [db]
    dx, dw, (sums,) = ([[write_float(n, kind) for n in row] for row in part] for part in parts)
    return dx, dw, sums


def _total(terms: list[Number], *, plus: bool = True) -> Number:
    infinite = {sign for sign, n, _ in terms if n == INF}
    if len(infinite) == 2 or any(n == NAN for _, n, _ in terms):
        return (0, NAN, 0)
    unit = min((e for _, _, e in terms), default=0)
    count = sum((-n if sign else n) << (e - unit) for sign, n, e in terms if n != INF)
    minus = count < 0 or not (plus or any(n or not sign for sign, n, _ in terms))
    return (infinite.pop(), INF, 0) if infinite else (int(minus), abs(count), unit)


def _products(rows: Matrix, columns: Matrix, kind: FloatType) -> Matrix:
    return [[converted(_total([*map(product, a, b)]), kind) for b in columns] for a in rows]


def _read(words: Words, source: str) -> Matrix:
    return [[look_up(SOURCES, "source", source).read(bits) for bits in row] for row in words]


def _turned(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [[row[k] for row in rows] for k in range(width)]


def _columns(words: Words, width: int, how: How, length: int | None = None) -> Matrix:
    """Quantize each column as `_rows` does each row; a tile lies as it is."""
    along = how.blocks.along
    if isinstance(along, tuple):
        how = how._replace(format=how.blocks._replace(along=along[::-1]))
    return _rows(_turned(words, width), how, length)


def _rows(words: Words, how: How, length: int | None = None) -> Matrix:
    """Quantize each row, or as many as a tile has; after each `length` numbers a block begins."""
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
    for place, numbers in zip(places, _quantized(blocks, how), strict=True):
        for (row, column), number in zip(place, numbers, strict=True):
            rows[row][column] = number
    return rows


def _quantized(blocks: Words, how: How) -> Iterator[list[Number]]:
    """Quantize all blocks of an operand, and read them; a scale of the tensor is a factor."""
    fmt, whole = how.blocks, (0, 1, 0)
    if fmt.scale == "e8m0":
        for block in blocks:
            scale, codes = quantize(block, how.source, fmt.element, **how.choices)
            factor = scale_number(scale, {"scale_00": "power", "scale_ff": "nan"})
            yield [product(read_code(code, ELEMENTS[fmt.element]), factor) for code in codes]
        return
    dynamic = "dynamic" if fmt.tensor else None
    found, rest = quantize_scaled(
        blocks, how.source, fmt.element, fmt.scale, "exact", dynamic, **how.choices
    )
    if found is not None:
        whole = float_reader(F32)(found)
    for scale, codes in rest:
        factor = product(read_code(scale, UNSIGNED_SCALES[fmt.scale]), whole)
        yield [product(read_code(code, ELEMENTS[fmt.element]), factor) for code in codes]
