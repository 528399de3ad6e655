"""Dot products: the operation `matmul`, and answers by the slow twin and by the fast path."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, patterns
from mxref.formats.catalog import BlockFormat
from mxref.operands.kinds import Codes, Floats, Kind, Scales
from mxref.operands.returned import float_words
from mxref.operands.shown import show_float
from mxref.operands.word_rows import NO_WORD
from mxref.operations.asked import Asked
from mxref.operations.intervals import allowed
from mxref.operations.operation import AnyPolicy, Kinds, Operation, Words
from mxref.operations.product_words import (
    BOUNDS,
    ONE,
    PAIRS,
    TENSORS,
    DotSide,
    blocks_of,
    code_of_one,
    operands,
    pair_formats,
    rows_of_operands,
    show_rows,
    terms,
)
from mxref.operations.wrong_answer import WrongAnswer
from mxref.policy.choices import Accumulation
from mxref.policy.policy import Policy
from mxref.products.dot import exact_in_every_order, matmul, matmul_bounds
from mxref.products.intervals import Bounds

if TYPE_CHECKING:
    from mxref.exact import dot

__all__ = [
    "Matmul",
    "accumulations",
    "bounds",
    "exact_product",
    "fast_products",
    "groups",
    "outputs",
    "twin_row",
]

#: Rows of a call: the outputs of a call are their square.
_ROWS = 64


def accumulations(format: str) -> tuple[str, ...]:
    """The accumulations that a pair of formats has, `exact` first.

    >>> accumulations("mxint8-mxint8")
    ('exact', 'sequential', 'pairwise', 'by_block', 'scales_last')
    >>> accumulations("nvfp4-nvfp4")[-1]
    'aligned_35'
    """
    formats = pair_formats(format)
    names = {fmt.element.name for fmt in formats}
    in_steps = formats[0].elements_per_block == 32  # of products, as those cores have
    scales = {fmt.scale.name for fmt in formats}
    has = {
        Accumulation.ALIGNED_25: "int8" not in names and in_steps,
        Accumulation.ALIGNED_35: names == {"e2m1"} and scales in ({"e8m0"}, {"ue4m3"}),
        Accumulation.ALIGNED_13: names <= {"e5m2", "e4m3"} and in_steps,
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
    from mxref.exact import adders, dot
    from mxref.exact.format_table import FLOATS
    from mxref.exact.patterns import float_reader, write_float

    x, y = operands(words, format)
    a, b = (twin_row(*one) for one in zip((x, y), pair_formats(format), strict=True))
    exact = dot.dot(a, b, float)
    if column == "bits":
        return exact if dot.exact_in_every_order(a, b, float) else LAYOUTS[float].nan_bits
    if column in BOUNDS:
        return dot.dot_bounds(a, b, float)[BOUNDS.index(column)]
    how = Policy.parse(column).products.accumulation
    if how is Accumulation.EXACT or a.has_nan or b.has_nan or a.infinities or b.infinities:
        return exact
    one, other = pair_formats(format)
    bits = adders.accumulation(
        *(x.codes, y.codes, x.scales, y.scales, one.element.name, other.element.name, how.value),
        one.elements_per_block,
        (one.scale.name, other.scale.name),
        a.tensor.factor * b.tensor.factor,
    )
    return write_float(float_reader(FLOATS["f32"])(bits), FLOATS[float])


def twin_row(side: DotSide, fmt: BlockFormat) -> dot.Row:
    """One side of a dot product as the slow twin has it."""
    from mxref.exact import dot

    element, scale = fmt.element.name, fmt.scale.name
    given = side.scales, side.codes, element, fmt.elements_per_block, scale
    if side.tensor is None:
        return dot.row(*given)
    return dot.row(*given, dot.tensor(side.tensor, "factor", element, scale))


def groups(
    words: NDArray[np.uint64], format: str
) -> Iterator[tuple[NDArray[np.int64], list[DotSide], list[DotSide]]]:
    """Cases of one length and of the same tensors' scales, in parts of few rows.

    Yields:
        Their numbers, and both operands of each.
    """
    widths = (words != np.uint64(NO_WORD)).sum(axis=1)
    for width in sorted({*widths.tolist()}):
        same = np.flatnonzero(widths == width)
        rows = rows_of_operands(words[same, :width], format)
        tensors = [(a.tensor, b.tensor) for a, b in rows]
        for pair in dict.fromkeys(tensors):
            some = [i for i, one in enumerate(tensors) if one == pair]
            for start in range(0, len(some), _ROWS):
                part = some[start : start + _ROWS]
                yield same[part], [rows[i][0] for i in part], [rows[i][1] for i in part]


def fast_products(
    format: str, float: str, words: NDArray[np.uint64], column: str
) -> NDArray[np.uint64]:
    """The answers of a column to dot products, one a row, by the fast path."""
    answers = np.empty((len(words), 1), np.uint64)
    formats = pair_formats(format)
    for some, a, b in groups(words, format):
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
    return _bounds(tuple(a), tuple(b), formats, float, rounding)


@functools.lru_cache(64)  # about the same answers several questions are asked
def _bounds(
    a: tuple[DotSide, ...],
    b: tuple[DotSide, ...],
    formats: tuple[BlockFormat, BlockFormat],
    float: str,
    rounding: Literal["nearest", "any"],
) -> Bounds:
    left, right = blocks_of(a, formats[0]), blocks_of(b, formats[1]).T
    return matmul_bounds(left, right, LAYOUTS[float].dtype, rounding=rounding)


@functools.lru_cache(1 << 8)
def _kinds(a: BlockFormat, b: BlockFormat, format: str, count: int) -> Kinds:
    """The kinds of so many words in of a case about two formats."""
    found: list[Kind | None] = []
    for side, fmt in zip(operands(range(count), format), (a, b), strict=True):
        found += [Scales()] * (side.tensor is not None)
        found += [*[Codes(fmt.scale, code_of_one(fmt))] * len(side.scales)]
        found += [*[Codes(fmt.element)] * len(side.codes)]
    return tuple(found)


class Matmul(Operation):
    """Dot products of blocks, whose words are those of `mxref.operations.product_words`."""

    one_nan = True
    name = "matmul"
    multiples = "m", "n", "k"
    formats = PAIRS
    parameters = "scales_a, codes_a, scales_b, codes_b, format_a, format_b"
    varied = True
    from_codes = True
    clauses = {"N42": "scales of tensors"}  # noqa: RUF012
    models = {  # noqa: RUF012
        "M26": "dot products in blocks of 16: every code, lanes of three blocks, scales at their "
        "ends, NaN scales, swamping between blocks, ties, pairs of tensors' scales"
    }

    def called_as(self, format: str) -> str:
        """The call, with the scales of tensors where there are any.

        >>> Matmul().called_as("nvfp4-nvfp4").partition("format_a, ")[2]
        'format_b, tensor_scale_a=..., tensor_scale_b=...)'
        """
        has_scales = any(fmt.tensor_scale for fmt in pair_formats(format))
        more = [f"{name}=..." for name in TENSORS] if has_scales else []
        return f"{self.name}({', '.join([self.parameters, *more])})"

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Those of codes, or the eight of a tensor's scale; and those of a float."""
        into, out = super().digits(format, slot)
        return (8 if any(fmt.tensor_scale for fmt in pair_formats(format)) else into), out

    def slots(self, format: str) -> tuple[str, ...]:
        """float32 sums."""
        return (LAYOUTS["f32"].name,)

    def bounds(self, format: str) -> tuple[str, ...]:
        """What every order of additions may give."""
        return BOUNDS

    def members(self, format: str, choice: str) -> list[str]:
        """The accumulations of the pair of formats."""
        return [*accumulations(format)]

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the pair of formats has the accumulation."""
        return policy.products.accumulation.value in accumulations(format)

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """Two operands of one length in, and a number out."""
        operands(words, format)
        return len(words), 1

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """Zeros under scales of 1."""
        words: list[int] = []
        for fmt in pair_formats(format):
            words += [ONE] * fmt.tensor_scale + [code_of_one(fmt)] + [0] * fmt.elements_per_block
        return tuple(words)

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """The scale of the tensor, if there is one, scale codes and element codes of both sides."""
        return _kinds(*pair_formats(format), format, len(words))

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
        ((_, a, b),) = groups(np.array([wrong.words], np.uint64), wrong.format)
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
        """One call for each number of elements and pair of tensors, the rows of b in reverse.

        So a scale that is taken from the same row of the other side is not the right one.
        """
        for some, a, b in groups(words, format):
            one = self.call(format, slot, a, b[::-1])

            def read(result: object, one: Asked = one) -> NDArray[np.uint64]:
                return np.diagonal(one.read(result)[:, ::-1])[:, np.newaxis]

            yield Asked(some, one.arguments, read)

    def asked(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """Both rows."""
        return show_rows(words, format)

    def call(self, format: str, slot: str, a: Sequence[DotSide], b: Sequence[DotSide]) -> Asked:
        """The product of every row of one side with every row of the other."""
        layout = LAYOUTS[slot]
        arguments: dict[str, Any] = {
            f"{part}_{side}": np.array([getattr(row, part) for row in rows], np.uint8)
            for side, rows in (("a", a), ("b", b))
            for part in ("scales", "codes")
        }
        formats = pair_formats(format)
        arguments |= {f"format_{side}": f.name for side, f in zip("ab", formats, strict=True)}
        arguments["dtype"] = layout.dtype
        if any(fmt.tensor_scale for fmt in formats):
            for name, rows in zip(TENSORS, (a, b), strict=True):
                tensor = rows[0].tensor
                arguments[name] = np.uint32(ONE if tensor is None else tensor).view(np.float32)
        shape = len(a), len(b)
        read = partial(float_words, shape=shape, layout=layout)
        return Asked(slice(None), arguments, read)
