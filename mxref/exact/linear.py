"""A linear layer on quantized operands: its output and its gradients, one number at a time.

y = x w', dx = g w, dw = g' x, db = the sums of the columns of g. An operand is quantized along the
axis that its product sums over, unless a choice says otherwise. Every sum of products is exact and
is rounded once. The choices are N44.

Source: OCP MX v1.0 6.1, 6.2 (dot products); IEEE 754-2019 6.3 (signs of sums).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from mxref.exact.arithmetic import product
from mxref.exact.choice_table import DECODE_SCALE_CHOICES, settle
from mxref.exact.e8m0_scale import scale_number
from mxref.exact.format_table import ELEMENTS, FLOATS, look_up, read_code
from mxref.exact.integers import INF, NAN, Number
from mxref.exact.one_block import quantize
from mxref.exact.patterns import converted, write_float
from mxref.exact.sources import SOURCES

Words: TypeAlias = Sequence[Sequence[int]]
Matrix: TypeAlias = list[list[Number]]


def total(numbers: Iterable[Number]) -> Number:
    """Add exactly.

    Special values: NaN if one is NaN or Inf comes with both signs; Inf if one is Inf. A sum that is
    zero is +0.

    >>> total([(0, 3, 1), (1, 1, -1)]), total([(1, 0, 0)])
    ((0, 11, -1), (0, 0, 0))
    """
    terms = list(numbers)
    infinite = {sign for sign, n, _ in terms if n == INF}
    if len(infinite) == 2 or any(n == NAN for _, n, _ in terms):
        return (0, NAN, 0)
    if infinite:
        return (infinite.pop(), INF, 0)
    unit = min((e for _, _, e in terms), default=0)
    count = sum((-n if sign else n) << (e - unit) for sign, n, e in terms)
    return (int(count < 0), abs(count), unit)


def linear(
    x: Words,
    w: Words,
    source: str,
    format: str,
    target: str = "f32",
    *,
    bias: Sequence[int] | None = None,
    weight_axis: str = "in",
    activations: str = "quantized",
    **choices: str,
) -> list[list[int]]:
    """Return the bits of y = x w' + bias, a row for each row of x, a column for each row of w.

    x, w, bias: bits of the type `source`. format: an element format. target: f16, bf16, f32 or f64.
    The product is rounded to it; then the bias, rounded to it, is added, and the sum is rounded.
    weight_axis: in, out (blocks of w run across its rows). activations: quantized, kept (x is not
    quantized). choices: as in `quantize`.
    Special values: as in `total`. Scale FF is NaN, and NaN or Inf times zero is NaN.
    Source: SPEC_NOTES N44.

    >>> linear([[0x3F800000, 0x40000000]], [[0x3F800000, 0x3F800000]], "f32", "e2m1", "f16")
    [[16896]]
    """
    kind, right = look_up(FLOATS, "target", target), _read(w, source)
    left = _read(x, source)
    if activations != "kept":
        left = _quantized(x, source, format, choices)
    if weight_axis == "in":
        right = _quantized(w, source, format, choices)
    elif w:
        right = _turned(_quantized(_turned(w, len(w[0])), source, format, choices), len(w))
    y = [[converted(_dot(row, column), kind) for column in right] for row in left]
    if bias is not None:
        added = [converted(number, kind) for number in _read([bias], source)[0]]
        y = [[_sum_of_two(one, b) for one, b in zip(row, added, strict=True)] for row in y]
    return [[write_float(number, kind) for number in row] for row in y]


def linear_gradients(
    x: Words,
    w: Words,
    grad: Words,
    source: str,
    format: str,
    target: str = "f32",
    *,
    backward_operands: str = "requantized",
    sequence: int | None = None,
    **choices: str,
) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Return the bits of dx = g w, dw = g' x and db, the sums of the columns of g, not quantized.

    x, w, grad, source, format, target, choices: as in `linear`.
    backward_operands: requantized, reused (x and w as for y, grad along its rows only).
    sequence: after how many rows of x and grad a block along the rows ends; None: after the last.
    Special values: as in `linear`.
    Source: SPEC_NOTES N44.

    >>> one = [[0x3F800000]]
    >>> linear_gradients(one, one, [[0x40000000]], "f32", "e4m3", "f16")
    ([[16384]], [[16384]], [16384])
    """
    kind, width, count = look_up(FLOATS, "target", target), len([*x, *w, []][0]), len(w)
    xs, ws, gs = (_turned(words, n) for words, n in ((x, width), (w, width), (grad, count)))
    if backward_operands == "reused":
        columns = _turned(_quantized(w, source, format, choices), width)
        left = _turned(_quantized(grad, source, format, choices), count)
        right = _turned(_quantized(x, source, format, choices), width)
    else:
        columns = _quantized(ws, source, format, choices)
        left = _quantized(gs, source, format, choices, sequence)
        right = _quantized(xs, source, format, choices, sequence)
    rows = _quantized(grad, source, format, choices)
    dx = [[write_float(_dot(row, column), kind) for column in columns] for row in rows]
    dw = [[write_float(_dot(row, column), kind) for column in right] for row in left]
    return dx, dw, [write_float(total(column), kind) for column in _read(gs, source)]


def _read(words: Words, source: str) -> Matrix:
    read = look_up(SOURCES, "source", source).read
    return [[read(bits) for bits in row] for row in words]


def _turned(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [[row[k] for row in rows] for k in range(width)]


def _quantized(
    words: Words, source: str, format: str, choices: Mapping[str, Any], length: int | None = None
) -> Matrix:
    """The numbers of each row in blocks of 32; after each `length` of them a new block begins."""
    fmt, reading = look_up(ELEMENTS, "format", format), settle({}, DECODE_SCALE_CHOICES)
    rows = []
    for row in words:
        numbers: list[Number] = []
        for start in range(0, len(row), length or len(row) or 1):
            part = row[start : start + (length or len(row))]
            for k in range(0, len(part), 32):
                scale, codes = quantize(part[k : k + 32], source, format, **choices)
                factor = scale_number(scale, reading)
                numbers += [product(read_code(code, fmt), factor) for code in codes]
        rows.append(numbers)
    return rows


def _dot(a: Sequence[Number], b: Sequence[Number]) -> Number:
    return total(map(product, a, b))


def _sum_of_two(a: Number, b: Number) -> Number:
    """Add as IEEE 754 does: -0 and -0 are -0."""
    return (a[0] & b[0], 0, 0) if a[1] == b[1] == 0 else total((a, b))
