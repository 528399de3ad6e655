"""Linear layers: words of their cases, and answers by the slow twin and by the fast path.

Words of `linear`: sequences, rows of each, inputs, outputs, whether there is a bias, and then x,
the weight and the bias, row by row; the answer is y. Words of `linear_gradients`: sequences, rows,
inputs, outputs, and then x, the weight and the gradient of y; the answer is the gradients of x, of
the weight and of the bias. All are patterns of one float type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import LAYOUTS, FloatLayout, Floats
from mxref.blocks.quantization import quantize
from mxref.exact import linear as exact_layers
from mxref.exact.format_table import FLOATS
from mxref.exact.integers import Number
from mxref.exact.patterns import float_reader, write_float
from mxref.formats.catalog import E8M0, ElementFormat, block_format
from mxref.operations.operation import changed_choices
from mxref.operations.product_words import BOUNDS
from mxref.policy.policy import READS, Policy
from mxref.products.float_products import float_product_bounds
from mxref.products.intervals import Bounds
from mxref.products.layer_bounds import output_bounds
from mxref.products.linear import linear, linear_gradients, product_bounds
from mxref.products.linear_operands import gradient_operands, linear_operands

__all__ = [
    "Layer",
    "exact_layer",
    "fast_layer",
    "layer_bounds",
    "layer_of",
    "layer_parts",
    "layer_place",
    "layer_sizes",
]

Ints = Sequence[int]
Matrix = list[list[int]]


@dataclass(frozen=True, slots=True)
class Layer:
    """The arrays of a case: x (sequences, rows, inputs), the weight, and the bias or the gradient.

    `more` is the bias (outputs,) of `linear`, None if there is none, and the gradient of y
    (sequences, rows, outputs) of `linear_gradients`.
    """

    x: NDArray[Any]
    w: NDArray[Any]
    more: NDArray[Any] | None

    def floats(self, layout: FloatLayout) -> Layer:
        """The same arrays as floats."""
        x, w = (one.astype(layout.uint).view(layout.dtype) for one in (self.x, self.w))
        more = None if self.more is None else self.more.astype(layout.uint).view(layout.dtype)
        return Layer(x, w, more)


def layer_sizes(op: str, words: Ints) -> tuple[int, int]:
    """The numbers of words in and out of a case, by its first words.

    >>> layer_sizes("linear", (1, 2, 3, 4, 1)), layer_sizes("linear_gradients", (1, 2, 3, 4))
    ((27, 8), (30, 22))

    Raises:
        ValueError: fewer words.
    """
    first = 5 if op == "linear" else 4
    if len(words) < first:
        raise ValueError(f"{op} must have more words in than {len(words)}")
    rows, inputs, outputs = words[0] * words[1], words[2], words[3]
    both = rows * inputs + outputs * inputs
    if op == "linear":
        return first + both + outputs * (words[4] == 1), rows * outputs
    return first + both + rows * outputs, both + outputs


def layer_parts(op: str, words: Ints) -> tuple[tuple[str, int], ...]:
    """What an answer holds, in order, each with its count of numbers.

    >>> layer_parts("linear_gradients", (1, 2, 3, 4))
    (('the gradient of x', 6), ('the gradient of w', 12), ('the gradient of the bias', 4))
    """
    rows, inputs, outputs = words[0] * words[1], words[2], words[3]
    if op == "linear":
        return (("y", rows * outputs),)
    sizes = rows * inputs, outputs * inputs, outputs
    names = (f"the gradient of {one}" for one in ("x", "w", "the bias"))
    return tuple(zip(names, sizes, strict=True))


def layer_place(op: str, words: Ints, index: int) -> tuple[str, int, int]:
    """The part of an answer that a number is in, its place there and the size of the part.

    >>> layer_place("linear_gradients", (1, 2, 3, 4), 7)
    ('the gradient of w', 1, 12)

    Raises:
        ValueError: the answer has no such number.
    """
    left = index
    for name, size in layer_parts(op, words):
        if left < size:
            return name, left, size
        left -= size
    raise ValueError(f"index must be that of a number of the answer, got {index}")


def layer_of(op: str, words: Ints) -> Layer:
    """The arrays of a case, of patterns."""
    sequences, rows, inputs, outputs = words[:4]
    array = np.array(words[5 if op == "linear" else 4 :], np.uint64)
    size, weights = sequences * rows * inputs, outputs * inputs
    x = array[:size].reshape(sequences, rows, inputs)
    w = array[size : size + weights].reshape(outputs, inputs)
    rest = array[size + weights :]
    if op == "linear":
        return Layer(x, w, rest if words[4] else None)
    return Layer(x, w, rest.reshape(sequences, rows, outputs))


def exact_layer(op: str, format: str, float: str, words: Ints, column: str) -> tuple[int, ...]:
    """The answer of a column to one case, by the slow twin; the bounds are those of `ocp`.

    Layers of the slow twin add exactly: the answers of another accumulation are the fast path's.
    """
    layer, element = layer_of(op, words), block_format(format).element
    x, w = layer.x.reshape(-1, layer.x.shape[-1]).tolist(), layer.w.tolist()
    if column in BOUNDS:
        return tuple(_exact_bounds(op, layer, element, float, BOUNDS.index(column)))
    choices: dict[str, Any] = changed_choices(READS[op], Policy.parse(column))
    if "accumulation" in choices:
        return tuple(fast_layer(op, format, float, words, column).tolist())
    for name in ("tail", "scale_arithmetic"):  # which change no number of E8M0 blocks
        choices.pop(name, None)
    if "scale_rule" in choices:  # which has another name in the slow twin
        choices["rule"] = choices.pop("scale_rule")
    if op == "linear":
        bias = None if layer.more is None else layer.more.tolist()
        y = exact_layers.linear(x, w, float, element.name, float, bias=bias, **choices)
        return tuple(word for row in y for word in row)
    assert_more = layer.more
    g = [] if assert_more is None else assert_more.reshape(-1, len(w)).tolist()
    if choices.pop("gradient_rows", "") == "sequences":
        choices["sequence"] = layer.x.shape[1]
    dx, dw, db = exact_layers.linear_gradients(x, w, g, float, element.name, float, **choices)
    return (*(word for part in (dx, dw) for row in part for word in row), *db)


def _numbers(rows: Matrix, element: ElementFormat, float: str) -> list[list[Fraction]]:
    """The numbers of rows that are quantized in blocks of 32."""
    found = []
    for row in rows:
        numbers: list[Fraction] = []
        for start in range(0, len(row), 32):
            scale, codes = exact.quantize(row[start : start + 32], float, element.name)
            power = Fraction(2) ** (scale - E8M0.bias)
            numbers += [Fraction(element.value(code)) * power for code in codes]
        found.append(numbers)
    return found


def _exact_bounds(
    op: str, layer: Layer, element: ElementFormat, float: str, end: int
) -> Iterator[int]:
    """One end of the interval of each number of the answer, from fractions."""
    read = float_reader(FLOATS[float])
    x, w = layer.x.reshape(-1, layer.x.shape[-1]), layer.w
    more = layer.more

    def sums(left: NDArray[Any], right: NDArray[Any]) -> Iterator[list[Fraction]]:
        columns = _numbers(right.tolist(), element, float)
        for row in _numbers(left.tolist(), element, float):
            for column in columns:
                yield [a * b for a, b in zip(row, column, strict=True)]

    if op == "linear":
        for index, products in enumerate(sums(x, w)):
            if more is None:
                yield _end(products, float, end)
                continue
            addend, found = _fraction(read(int(more[index % len(w)]))), []
            for sum_type in (float, "f32"):  # the bias is added after rounding, or before
                total = float_reader(FLOATS[sum_type])(_end(products, sum_type, end))
                one = float_reader(FLOATS[sum_type])(_written(_fraction(total) + addend, sum_type))
                found.append(_fraction(one))
            yield _written(max(found) if end else min(found), float)
        return
    g = np.zeros((0, 0), np.uint64) if more is None else more.reshape(-1, len(w))
    for products in (*sums(g, w.T), *sums(g.T, x.T)):
        yield _end(products, float, end)
    for column in g.T.tolist():
        yield _end([_fraction(read(bits)) for bits in column], float, end, exact_products=False)


def _fraction(number: Number) -> Fraction:
    sign, n, e = number
    return Fraction(-n if sign else n) * Fraction(2) ** e


def _end(products: Sequence[Fraction], float: str, end: int, *, exact_products: bool = True) -> int:
    """One end of the interval of float32 sums, none of which overflows."""
    count, size = sum(map(bool, products)), sum(map(abs, products), Fraction(0))
    radius = size * max(count - exact_products, 0) / 2**24 + Fraction(count, 2**150)
    parts = [(one * 2**149).as_integer_ratio() for one in products if one]
    if exact_products and all(d == 1 and size * 2**149 <= (n & -n) << 24 for n, d in parts):
        radius = Fraction(0)
    return _written(sum(products, Fraction(0)) + (radius if end else -radius), float)


def _written(number: Fraction, float: str) -> int:
    shift = number.denominator.bit_length() - 1
    return write_float((int(number < 0), abs(number.numerator), -shift), FLOATS[float])


def fast_layer(op: str, format: str, float: str, words: Ints, column: str) -> NDArray[np.uint64]:
    """The answer of a column to one case, by the fast path."""
    layout, layer = LAYOUTS[float], layer_of(op, words)
    if column in BOUNDS:
        return _words(
            [layer_bounds(op, format, float, words, Policy())[BOUNDS.index(column)]], layout
        )
    given, policy = layer.floats(layout), Policy.parse(column)
    x, w, more = given.x, given.w, given.more
    if op == "linear" or more is None:
        return _words([linear(x, w, format, bias=more, dtype=layout.dtype, policy=policy)], layout)
    return _words(linear_gradients(x, w, more, format, dtype=layout.dtype, policy=policy), layout)


def _words(arrays: Sequence[Floats], layout: FloatLayout) -> NDArray[np.uint64]:
    flat = [np.ascontiguousarray(one).view(layout.uint).reshape(-1) for one in arrays]
    return np.concatenate(flat).astype(np.uint64)


def layer_bounds(
    op: str,
    format: str,
    float: str,
    words: Ints,
    policy: Policy,
    rounding: Literal["nearest", "any"] = "nearest",
    *,
    db_along: int | None = None,
) -> Bounds:
    """What float32 sums of the operands that a policy gives may be, of each word.

    The bias is added to the rounded sum, or to the float32 sum before it is rounded. `db_along` is
    the axis along which the gradient is quantized before it is summed for the bias: it is not in
    any policy, but in known bugs.
    """
    layout, layer = LAYOUTS[float], layer_of(op, words)
    given = layer.floats(layout)
    x, w, more = given.x, given.w, given.more
    own = Policy().replace(**changed_choices(READS[op], policy))
    if op == "linear" or more is None:
        ends = [output_bounds(linear_operands(x, w, format, own), more, layout, rounding)]
    else:
        pairs = gradient_operands(x, w, more, format, own)
        ends = [product_bounds(*pair, layout.dtype, rounding) for pair in pairs]
    if op == "linear_gradients" and more is not None:
        g = more.reshape(-1, more.shape[-1])
        if db_along is not None:
            g = quantize(g, format, axis=db_along).dequantize(np.float64)
        ones, numbers = np.ones((1, len(g))), g.astype(np.float64)
        ends.append(float_product_bounds(ones, numbers, layout, rounding))
    return Bounds(
        *(np.concatenate([e.reshape(-1) for e in each]) for each in zip(*ends, strict=True))
    )
