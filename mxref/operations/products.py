"""Dot products: the operation `matmul`, and answers by the slow twin and by the fast path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, patterns
from mxref.exact import adders, dot
from mxref.exact.format_table import FLOATS
from mxref.exact.patterns import float_reader, write_float
from mxref.formats.catalog import BlockFormat
from mxref.operands.kinds import Codes, Floats, Kind
from mxref.operands.returned import float_words
from mxref.operands.shown import show_float
from mxref.operands.word_rows import stripped
from mxref.operations.asked import Asked
from mxref.operations.intervals import allowed
from mxref.operations.operation import AnyPolicy, Kinds, Operation, Words
from mxref.operations.product_words import BOUNDS, DotSide, blocks_of, operands, pair_formats, terms
from mxref.operations.wrong_answer import WrongAnswer
from mxref.policy.choices import Accumulation
from mxref.policy.policy import Policy
from mxref.products.dot import exact_in_every_order, matmul, matmul_bounds
from mxref.products.intervals import Bounds
from mxref.support.distinct import distinct

__all__ = [
    "Matmul",
    "accumulations",
    "bounds",
    "exact_product",
    "fast_products",
    "groups",
    "outputs",
]

#: Rows of a call: the outputs of a call are their square.
_ROWS = 64


def accumulations(format: str) -> tuple[str, ...]:
    """The accumulations that a pair of formats has, `exact` first.

    >>> accumulations("mxint8-mxint8")
    ('exact', 'sequential', 'pairwise', 'by_block', 'scales_last')
    """
    names = {fmt.element.name for fmt in pair_formats(format)}
    has = {
        Accumulation.ALIGNED_25: "int8" not in names,
        Accumulation.ALIGNED_35: names == {"e2m1"},
        Accumulation.ALIGNED_13: names <= {"e5m2", "e4m3"},
    }
    return tuple(member.value for member in Accumulation if has.get(member, True))


def exact_product(format: str, float: str, words: Sequence[int], column: str) -> int:
    """The answer of a column to one dot product, by the slow twin.

    Args:
        format: the pair of formats.
        float: the type of the result.
        words: the words of the case.
        column: a policy, or one of `BOUNDS`.
    """
    sides = operands(words)
    names = [fmt.element.name for fmt in pair_formats(format)]
    a, b = (dot.row(side.scales, side.codes, name) for side, name in zip(sides, names, strict=True))
    exact = dot.dot(a, b, float)
    if column == "bits":
        return exact if dot.exact_in_every_order(a, b, float) else LAYOUTS[float].nan_bits
    if column in BOUNDS:
        return dot.dot_bounds(a, b, float)[BOUNDS.index(column)]
    how = Policy.parse(column).products.accumulation
    if how is Accumulation.EXACT or a.has_nan or b.has_nan or a.infinities or b.infinities:
        return exact
    x, y = sides
    rows = x.codes, y.codes, x.scales, y.scales
    bits = adders.accumulation(*rows, names[0], names[1], how.value)
    return write_float(float_reader(FLOATS["f32"])(bits), FLOATS[float])


def groups(
    words: NDArray[np.uint64],
) -> Iterator[tuple[NDArray[np.int64], list[DotSide], list[DotSide]]]:
    """Cases of one length, in parts of few rows: their numbers, and both operands of each."""
    rows = [operands(stripped(row)) for row in words]
    lengths = np.array([len(a.codes) for a, _ in rows])
    for length in distinct(lengths):
        some = np.flatnonzero(lengths == length)
        for start in range(0, some.size, _ROWS):
            part = some[start : start + _ROWS]
            pairs = [rows[i] for i in part.tolist()]
            yield part, [a for a, _ in pairs], [b for _, b in pairs]


def fast_products(
    format: str, float: str, words: NDArray[np.uint64], column: str
) -> NDArray[np.uint64]:
    """The answers of a column to dot products, one a row, by the fast path."""
    answers = np.empty((len(words), 1), np.uint64)
    formats = pair_formats(format)
    for some, a, b in groups(words):
        answers[some, 0] = np.diagonal(outputs(a, b, formats, float, column))
    return answers


def outputs(
    a: Sequence[DotSide],
    b: Sequence[DotSide],
    formats: tuple[BlockFormat, BlockFormat],
    float: str,
    column: str,
) -> NDArray[np.uint64]:
    """The answers of a column to every row of one side with every row of the other."""
    layout = LAYOUTS[float]
    left, right = blocks_of(a, formats[0]), blocks_of(b, formats[1]).T
    if column == "bits":
        free = exact_in_every_order(left, right, layout.dtype)
        exact = patterns(matmul(left, right, layout.dtype), layout)
        return np.where(free, exact, layout.nan_bits).astype(np.uint64)
    if column in BOUNDS:
        found = bounds(a, b, formats, float)[BOUNDS.index(column)]
    else:
        found = matmul(left, right, layout.dtype, Policy.parse(column))
    return patterns(found, layout).astype(np.uint64)


def bounds(
    a: Sequence[DotSide],
    b: Sequence[DotSide],
    formats: tuple[BlockFormat, BlockFormat],
    float: str,
    rounding: Literal["nearest", "any"] = "nearest",
) -> Bounds:
    """The bounds of every row of one side with every row of the other."""
    left, right = blocks_of(a, formats[0]), blocks_of(b, formats[1]).T
    return matmul_bounds(left, right, LAYOUTS[float].dtype, rounding=rounding)


class Matmul(Operation):
    """Dot products of blocks, whose words are those of `mxref.operations.product_words`."""

    one_nan = True
    name = "matmul"
    parameters = "scales_a, codes_a, scales_b, codes_b, format_a, format_b"
    varied = True
    from_codes = True

    def bounds(self, format: str) -> tuple[str, ...]:
        """What every order of additions may give."""
        return BOUNDS

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the pair of formats has the accumulation."""
        return policy.products.accumulation.value in accumulations(format)

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """Two operands of one length in, and a number out."""
        operands(words)
        return len(words), 1

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """Zeros under scales of 1."""
        return (0x7F, *(0,) * 32) * 2

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Scale codes and element codes of both sides."""
        found: list[Kind | None] = []
        for side, fmt in zip(operands(words), pair_formats(format), strict=True):
            found += [*[Codes(fmt.scale, fmt.scale.bias)] * len(side.scales)]
            found += [*[Codes(fmt.element)] * len(side.codes)]
        return found

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """A float."""
        return [Floats(slot)] * count

    def difference(self, wrong: WrongAnswer) -> str:
        """Both sums, and the widest interval of float32 sums."""
        layout = LAYOUTS[wrong.slot]
        want, got = (show_float(side[0], layout) for side in (wrong.want, wrong.got))
        text = f"want {want}, got {got}"
        products = [one for one in terms(wrong.words, wrong.format) or () if one]
        if not products:
            return text
        ((_, a, b),) = groups(np.array([wrong.words], np.uint64))
        ends = bounds(a, b, pair_formats(wrong.format), wrong.slot, "any")
        count = f"{len(products)} product{'s'[: len(products) > 1]}"
        largest = float(max(map(abs, products)))
        return f"{count} of magnitudes to {largest:.6g}, {text}: {allowed(ends)}"

    def exact(
        self, format: str, slot: str, questions: Iterable[Words], policy: AnyPolicy
    ) -> list[tuple[int, ...]]:
        """The sums, by the slow twin."""
        return [(exact_product(format, slot, w, str(policy)),) for w in questions]

    def fast(
        self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy
    ) -> NDArray[np.uint64]:
        """The sums, by the fast path."""
        return fast_products(format, slot, words, str(policy))

    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call for each number of elements, whose rows of the second side are in reverse order.

        So a scale that is taken from the same row of the other side is not the right one.
        """
        for some, a, b in groups(words):
            one = self.call(format, slot, a, b[::-1])

            def read(result: object, one: Asked = one) -> NDArray[np.uint64]:
                return np.diagonal(one.read(result)[:, ::-1])[:, np.newaxis]

            yield Asked(some, one.arguments, read)

    def call(self, format: str, slot: str, a: Sequence[DotSide], b: Sequence[DotSide]) -> Asked:
        """The product of every row of one side with every row of the other."""
        layout = LAYOUTS[slot]
        arguments: dict[str, Any] = {
            f"{part}_{side}": np.array([getattr(row, part) for row in rows], np.uint8)
            for side, rows in (("a", a), ("b", b))
            for part in ("scales", "codes")
        }
        names = (fmt.name for fmt in pair_formats(format))
        arguments |= dict(zip(("format_a", "format_b"), names, strict=True))
        shape = len(a), len(b)
        read = partial(float_words, shape=shape, layout=layout)
        return Asked(slice(None), {**arguments, "dtype": layout.dtype}, read)
