"""Products in many shapes: repeated, in other memory, and one after the other.

The elements are ±1/2, ±1, ±3/2 and ±2, the scales of a row lie within a factor of 4, and each row
has a power of two of its own. So an output is a small integer times a power of two: every order of
additions gives it, also in adders that truncate, and float64 computes it exactly. Of a target whose
vectors fail, rows of the first operand have one element that is not zero: what is wrong then is not
the precision of sums.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, U8
from mxref.cases.records import VectorFile
from mxref.conformance.checking.axis_sizes import long_axes
from mxref.conformance.checking.memory import laid
from mxref.conformance.checking.product_outputs import same_numbers
from mxref.conformance.checking.rules import Features, alike
from mxref.conformance.checking.shape_replies import ask, judged, otherwise
from mxref.conformance.verdict.uses import Use
from mxref.formats.catalog import BlockFormat, ElementFormat
from mxref.operands.returned import float_words
from mxref.operands.splitmix import splitmix64
from mxref.operations.product_words import pair_formats
from mxref.targets.calls import is_fault, quiet
from mxref.targets.product_function import ProductFunction

__all__ = ["Product", "ask_shapes"]

Words = NDArray[np.uint64]

_SIZE = 32
_SIZES = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 21, 31, 32, 33, 44, 53, 63, 64, 65, 86, 100, 127,
    128, 129, 150, 192, 237, 255, 256, 257,
)  # fmt: skip
_BLOCKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65)
_COUNT = len(_SIZES)
#: Rows, columns and blocks along the summed axis: each size of each axis beside different others,
#: squares, one row and one column, and a few large ones.
_SHAPES = tuple(
    dict.fromkeys(
        (
            *((m, _SIZES[5 * i % _COUNT], _BLOCKS[4 * i % 9]) for i, m in enumerate(_SIZES)),
            *((_SIZES[7 * i % _COUNT], n, _BLOCKS[5 * i % 9]) for i, n in enumerate(_SIZES)),
            *((size, size, 2) for size in (1, 8, 16, 32, 48, 64, 96, 128, 256)),
            *((33, 17, blocks) for blocks in _BLOCKS),
            *((1, 128, blocks) for blocks in (1, 4, 5, 32, 33)),
            *((128, 1, blocks) for blocks in (1, 4, 5, 32, 33)),
            *((128, 128, blocks) for blocks in (1, 3, 4, 8, 32)),
            *((129, 130, 65), (257, 300, 5), (512, 384, 4), (1025, 65, 2), (65, 1025, 2)),
            *((7, 7, 1), (300, 310, 1), (513, 520, 2), (700, 700, 1), (1025, 1030, 1)),
            *((size, beside, 1) for size, beside in long_axes(2, (1, 3, 33))),
            *((3, 2, blocks) for blocks in (100, 128, 129, 256, 257, 512)),
        )
    )
)
#: A call that shows how fast a target is; seconds that a call may take; and rows or columns times
#: blocks of those that are asked in any case.
_FIRST, _SECONDS, _SMALL = (128, 128, 2), 0.25, 100
#: Of further pairs of formats and float types every so many of the shapes are asked.
_FEWER = 6
#: The shape of calls whose arrays lie elsewhere in memory, and of those that follow each other.
_MOVED = (33, 65, 3)


@dataclass(frozen=True, slots=True)
class Product:
    """A product whose outputs every order of additions gives.

    Args:
        formats: of both operands.
        float: the type of the outputs.
        shape: rows, columns and blocks along the summed axis.
        draw: which of several.
        single: whether rows of the first operand have one element that is not zero.
    """

    formats: tuple[BlockFormat, BlockFormat]
    float: str
    shape: tuple[int, int, int]
    draw: int = 0
    single: bool = False

    def side(self, which: int) -> tuple[U8, U8, NDArray[np.float64]]:
        """Scale codes (rows, blocks), element codes and numbers (rows, elements) of an operand."""
        single = self.single and which == 0
        element = self.formats[which].element
        return _drawn(
            element, self.shape[which], self.shape[2], 2 * self.draw + which, single=single
        )

    @property
    def features(self) -> Features:
        """What a rule may speak of."""
        rows, columns, blocks = self.shape
        sizes = {"rows": rows, "columns": columns, "summed elements": blocks * _SIZE}
        sizes["outputs"] = rows * columns
        return {**sizes, "sides": alike(sizes, "rows", "columns")}

    @property
    def kind(self) -> str:
        """What such calls are."""
        return "products"

    def drawn(self, more: int) -> Product:
        """The product with the numbers of a later draw."""
        return replace(self, draw=self.draw + more)

    def prepared(self) -> tuple[list[NDArray[Any]], Words]:
        """Scales and codes of both operands, and the right words."""
        (*a, x), (*b, y) = self.side(0), self.side(1)
        layout = LAYOUTS[self.float]
        return [*a, *b], (x @ y.T).astype(layout.dtype).view(layout.uint).astype(np.uint64)

    def call(self, function: Callable[..., Any], arrays: Sequence[NDArray[Any]]) -> object:
        """The result of a target's function, a `ProductFunction`."""
        names = (fmt.name for fmt in self.formats)
        if not isinstance(function, ProductFunction):
            return function(*arrays, *names)
        more = (LAYOUTS[self.float].dtype,) if function.takes_dtype else ()
        return function.function(*arrays, *names, *more)

    def words(self, result: object, want: Words) -> Words:
        """The words of a result."""
        return float_words(result, want.shape, LAYOUTS[self.float])

    def wrong(self, want: Words, got: Words) -> NDArray[np.bool_]:
        """Which outputs are wrong."""
        return ~same_numbers(want, got, self.float)

    def place(self, index: Sequence[int]) -> str:
        """Where an output stands."""
        return f"row {index[0]}, column {index[1]}"

    def __str__(self) -> str:
        rows, columns, blocks = self.shape
        return f"({rows:,}, {blocks * _SIZE:,}) x ({blocks * _SIZE:,}, {columns:,})"


@cache
def _few(element: ElementFormat) -> tuple[NDArray[np.float64], U8]:
    """The numbers that are drawn, and their codes."""
    every = {element.value(code): code for code in range(1 << element.bits)}
    few = {number: code for number, code in every.items() if abs(number) in (0.5, 1, 1.5, 2)}
    return np.array([*few]), np.array([*few.values()], np.uint8)


@lru_cache(4)  # both sides, asked for arrays and for outputs
def _drawn(
    element: ElementFormat, rows: int, blocks: int, draw: int, *, single: bool
) -> tuple[U8, U8, NDArray[np.float64]]:
    """What `Product.side` gives; `single` for one element of a row that is not zero."""
    words = splitmix64((rows << 20 | blocks) << 8 | draw, rows * (blocks * (_SIZE + 1) + 2))
    of_row, place, of_block, of_element = np.split(
        (words >> np.uint64(32)).astype(np.int64), np.cumsum([rows, rows, rows * blocks])
    )
    few, codes = _few(element)
    chosen = (of_element % len(few)).reshape(rows, blocks * _SIZE)
    powers = (of_row % 8).reshape(rows, 1) + (of_block % 3).reshape(rows, blocks)
    kept: NDArray[np.bool_] = np.ones(chosen.shape, bool)
    if single:
        place = place % chosen.shape[1]
        place[::5] = chosen.shape[1] - 1
        kept = np.arange(chosen.shape[1]) == place[:, np.newaxis]
    numbers = few[chosen] * np.repeat(np.ldexp(1.0, powers - 4), _SIZE, axis=1)
    found = (powers + 123).astype(np.uint8), codes[chosen] * kept, numbers * kept
    for array in found:  # of the cache
        array.flags.writeable = False
    return found


def ask_shapes(
    function: Callable[..., Any],
    files: Sequence[tuple[VectorFile, bool]],
    elements: int,
    steps: tuple[int, int] = (1, _FEWER),
) -> tuple[list[Use], tuple[str, ...]]:
    """Put products of many shapes to a target.

    Args:
        function: the target's `matmul`.
        files: its vector files, and whether it fails them: then only a shape that decides, or
            state, is said to be wrong.
        elements: the largest number of elements in the operands of a call.
        steps: every so many of the shapes are asked, of the first file and of the others.

    Returns:
        What is wrong, one for a pair of formats at most; and what was asked, in words.
    """
    if not isinstance(function, ProductFunction):
        return [], ()
    uses: dict[str, Use] = {}
    calls = 0
    with quiet():
        for number, (file, fails) in enumerate(files):
            if file.format in uses:
                continue
            first = Product(pair_formats(file.format), file.float, _FIRST, 0, fails)
            shapes = list(_shapes(function, first, elements, steps[number > 0]))
            plan = [replace(first, shape=shape) for shape in shapes]
            once = [ask(function, one) for one in plan]
            again = [ask(function, replace(one, draw=1)) for one in reversed(plan)]
            calls += 2 * len(plan)
            found = judged(function, once, again[::-1], fails=fails)
            if (found is None or found[0] == "numbers") and not fails:
                other = otherwise(function, replace(first, shape=_fit(function, _MOVED)))
                # Where numbers are wrong, their memory is not what decides; state may be.
                if found is None or (other and other[0] in ("state", "effect")):
                    found = other
            if found is not None:
                uses[file.format] = Use(file.op, file.format, *found)
    note = f"products: {calls:,} calls of other shapes"
    return list(uses.values()), (note,) if calls else ()


def _fit(function: ProductFunction, shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """A shape with the multiples that the target takes."""
    rows, columns, length = function.multiples
    steps = rows, columns, -(-length // _SIZE)
    m, n, blocks = (-(-size // step) * step for size, step in zip(shape, steps, strict=True))
    return m, n, blocks


def _shapes(
    function: ProductFunction, first: Product, elements: int, step: int
) -> Iterator[tuple[int, int, int]]:
    """Some of the shapes, without those that take too long."""
    pace = _pace(function, replace(first, shape=_fit(function, first.shape)))
    for m, n, blocks in dict.fromkeys(_fit(function, shape) for shape in _SHAPES[::step]):
        is_fast = m * n * blocks * pace <= _SECONDS or max(m, n) * blocks <= _SMALL
        if is_fast and (m + n) * blocks * _SIZE <= elements:
            yield m, n, blocks


def _pace(function: ProductFunction, product: Product) -> float:
    """Seconds for a block of an output; the least of three times, as machines are busy."""
    drawn, _ = product.prepared()
    times = []
    for _ in range(3):
        arrays = [laid(array, 0) for array in drawn]
        start = time.perf_counter()
        try:
            product.call(function, arrays)
        except BaseException as error:
            if not is_fault(error):
                raise
        times.append(time.perf_counter() - start)
    return float(min(times) / np.prod(product.shape))
