"""Questions about products in many shapes, with their right answers.

The elements are ±1/2, ±1, ±3/2 and ±2, the scales of a row lie within a factor of 4, and each row
has a power of two of its own. So an output is a small integer times a power of two: every order of
additions gives it, also in adders that truncate, and NumPy computes it exactly. Of a target whose
vectors fail, rows of the first operand have one element that is not zero: what is wrong then is not
the precision of sums.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, U8
from mxref.conformance.checking.array_memory import ONE_ARRAY, PLACED, STRIDE_0, copies
from mxref.conformance.checking.axis_sizes import long_axes
from mxref.conformance.checking.call_data import data_words
from mxref.conformance.checking.call_manner import Manner, in_shapes
from mxref.conformance.checking.call_places import zero_words
from mxref.conformance.checking.call_questions import (
    CallQuestion,
    PlainQuestion,
    PlainSubject,
    ask,
)
from mxref.conformance.checking.call_rules import SHORTER, Features, Rule, alike
from mxref.conformance.checking.product_data import (
    AS_DRAWN,
    PRODUCT_KINDS,
    REPEATED,
    Numbers,
    ProductData,
    drawn,
    tensor_scales,
)
from mxref.conformance.checking.product_outputs import (
    first_wrong,
    narrow_words,
    same_numbers,
    wrong_rows,
)
from mxref.formats.catalog import BlockFormat
from mxref.operands.returned import float_words
from mxref.operations.product_words import pair_formats
from mxref.support.integers import rounded_up
from mxref.targets.calls import is_fault
from mxref.targets.product_function import ProductFunction

__all__ = ["Product", "ProductSubject"]

Words = NDArray[np.uint64]

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
#: Shapes of real products, of which each pair of formats and each float type is asked some: aligned
#: and large ones, one row times a wide and deep matrix, and just off them.
_REAL = (
    (256, 256, 16), (1, 1024, 32), (128, 256, 8), (1, 1025, 33), (257, 256, 17), (384, 256, 16),
    (2, 1024, 32),
)  # fmt: skip
#: A call that shows how fast a target is; seconds that a call may take; and rows or columns times
#: blocks of those that are asked in any case.
_FIRST, _SECONDS, _SMALL = (128, 128, 2), 0.25, 100
#: How many times longer a call of a real shape may take; a block of it takes less than of a small.
_LONGER = 6
#: Of further pairs of formats and float types every so many of the shapes are asked; and of those
#: that have no vectors. Of these there is one real shape.
_FEWER, _RARE = 6, 36
#: So many right outputs may be values of a narrower float by chance.
_CHANCE = 8
#: The shape of calls whose arrays lie elsewhere in memory, and of those that follow each other.
_MOVED = (33, 65, 3)


@dataclass(frozen=True, slots=True)
class ProductSubject(PlainSubject):
    """Products of a pair of formats to a float type, each compared with the exact product.

    Args:
        op: the operation.
        format: both formats.
        float: the type of the outputs.
        function: the target's.
        fails: whether the target fails at the vectors.
        is_rare: whether it is one of many of which there are no vectors.
    """

    op: str
    format: str
    float: str
    function: ProductFunction
    fails: bool = False
    is_rare: bool = False

    @property
    def formats(self) -> tuple[BlockFormat, BlockFormat]:
        """The formats of both operands."""
        return pair_formats(self.format)

    @property
    def has_tensors(self) -> bool:
        """Whether a tensor of one of them has a scale."""
        return any(fmt.tensor_scale for fmt in self.formats)

    @property
    def block(self) -> int:
        """The elements of a block."""
        return self.formats[0].elements_per_block

    @property
    def manner(self) -> Manner:
        """Each shape is asked with two sets of numbers."""
        return in_shapes("products")

    def questions(
        self, elements: int, *, first_float: bool, first_format: bool
    ) -> Iterator[Product]:
        """Those of some shapes that do not take too long, then those in other memory."""
        step = _RARE if self.is_rare else 1 if first_float and first_format else _FEWER
        pace = _pace(Product(self, self.fit(_FIRST)))
        shapes = dict.fromkeys(_SHAPES[::step], _SECONDS)
        shapes |= dict.fromkeys(_REAL[::step], _SECONDS * _LONGER)
        for (m, n, blocks), seconds in {
            self.fit(one): most for one, most in shapes.items()
        }.items():
            is_fast = m * n * blocks * pace <= seconds or max(m, n) * blocks <= _SMALL
            if is_fast and (m + n) * blocks * self.block <= elements:
                yield Product(self, (m, n, blocks))
        if not self.fails:
            moved = Product(self, self.fit(_MOVED))
            yield from (replace(moved, memory=memory) for memory in PLACED)
            yield from (replace(moved, memory=STRIDE_0, kind=kind) for kind in REPEATED)
            a, b = self.formats
            if a == b:
                side = rounded_up(_MOVED[0], math.lcm(*self.function.multiples[:2]))
                yield Product(self, self.fit((side, side, _MOVED[2])), memory=ONE_ARRAY)

    def fit(self, shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """A shape with the multiples that the target takes."""
        rows, columns, length = self.function.multiples_of(*self.formats)
        steps = rows, columns, -(-length // self.block)
        m, n, blocks = map(rounded_up, shape, steps)
        return m, n, blocks

    def tells(self, rule: Rule | None, *, has_parts: bool, alone: bool) -> bool:
        """Every rule says more than the vectors, which have one shape."""
        return rule is not None

    def kept(self, group: Sequence[CallQuestion]) -> list[Product]:
        """One product, unless the vectors fail."""
        return [] if self.fails else [Product(self, self.fit(_MOVED))]


@dataclass(frozen=True, slots=True)
class Product(PlainQuestion):
    """A product whose outputs every order of additions gives.

    Args:
        subject: the formats, the float type, and the target's function.
        shape: rows, columns and blocks along the summed axis.
        draw: which of several.
        memory: one of MEMORIES, by its number.
        kind: what its numbers have in common.
    """

    subject: ProductSubject
    shape: tuple[int, int, int]
    draw: int = 0
    memory: int = 0
    kind: ProductData = AS_DRAWN

    def side(self, which: int) -> tuple[U8, U8, Numbers]:
        """Scale codes (rows, blocks), element codes and numbers (rows, elements) of an operand."""
        single = self.subject.fails and which == 0
        fmt = self.subject.formats[which]
        shape = self.shape[which], self.shape[2]
        draw = 2 * self.draw + which * (self.memory != ONE_ARRAY)
        return drawn(fmt, *shape, draw, single=single, kind=self.kind)

    def ordinary(self) -> Iterator[tuple[str, Product, Product]]:
        """The product with numbers of each kind, and so but for one row."""
        if not self.subject.fails:
            for kind in PRODUCT_KINDS:
                if kind.blocks is None or self.shape[2] <= kind.blocks:
                    broken = replace(kind, broken=True)
                    yield kind.name, replace(self, kind=kind), replace(self, kind=broken)

    @property
    def data(self) -> Features:
        """What the scales and the numbers have in common."""
        sides = self.side(0), self.side(1)
        scales, numbers = (np.concatenate([one[i].ravel() for one in sides]) for i in (0, 2))
        sign = {"sign": data_words("numbers", numbers)["numbers sign"]}
        return {"scales": data_words("scales", scales)["scales equal"], **sign}

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Scales and codes of both operands, and what tells the function their formats."""
        a, b = self.subject.formats
        more = (LAYOUTS[self.subject.float].dtype,) if self.subject.function.takes_dtype else ()
        tensors = tensor_scales(a, b) if self.subject.has_tensors else ()
        return (*self.side(0)[:2], *self.side(1)[:2], a.name, b.name, *more, *tensors)

    @property
    def wanted(self) -> Words:
        """The words of the outputs."""
        return _outputs(self)

    @property
    def name(self) -> str:
        """The shapes of both operands."""
        rows, columns, blocks = self.shape
        summed = blocks * self.subject.block
        return f"({rows:,}, {summed:,}) x ({summed:,}, {columns:,})"

    @property
    def elements(self) -> int:
        """The elements of both operands."""
        rows, columns, blocks = self.shape
        return (rows + columns) * blocks * self.subject.block

    @property
    def work(self) -> int:
        """The multiplications of blocks."""
        return int(np.prod(self.shape))

    def resized(self, unit: str, count: int, draw: int) -> Product | None:
        """The product with another size, if it can have it."""
        m, n, blocks = self.shape
        length = 0 if count % self.subject.block else count // self.subject.block
        more = {SHORTER: (count, count, blocks), "summed elements": (m, n, length)}
        shapes = {"rows": (count, n, blocks), "columns": (m, count, blocks), **more}
        shape = shapes.get(unit, (0, 0, 0))
        fits = all(shape) and self.subject.fit(shape) == shape
        return replace(self, shape=shape, draw=draw, memory=0) if fits else None

    @property
    def features(self) -> Features:
        """What a rule may speak of."""
        rows, columns, summed = *self.shape[:2], self.shape[2] * self.subject.block
        sizes = {"rows": rows, "columns": columns, "summed elements": summed}
        sizes |= {SHORTER: min(rows, columns), "outputs": rows * columns}
        sizes |= {"numbers of A": rows * summed, "numbers of B": columns * summed}
        return {**sizes, "sides": alike(sizes, "rows", "columns")}

    def again(self, draw: int, memory: int = 0) -> Product:
        """The product with other numbers, or in other memory."""
        return replace(self, draw=draw, memory=memory)

    def words(self, result: object) -> Words:
        """The words of a result."""
        return float_words(result, self.shape[:2], LAYOUTS[self.subject.float])

    def is_wrong(self, got: Words) -> bool:
        """Whether an output is wrong."""
        return not self._same(got).all()

    def _same(self, got: Words) -> NDArray[np.bool_]:
        return same_numbers(self.wanted, got, self.subject.float)

    def wrong_lines(self, got: Words) -> dict[str, tuple[NDArray[np.int64], int]]:
        """The rows and columns with a wrong output."""
        return wrong_rows(~self._same(got))

    def remarks(self, got: Words) -> list[str]:
        """Of which narrower floats all wrong outputs are values where right ones are not."""
        wrong, float = ~self._same(got), self.subject.float
        if not wrong.any():
            return [*zero_words(got, "output"), *narrow_words(got, float)]
        known = narrow_words(self.wanted[wrong], float) if wrong.sum() > _CHANCE else []
        narrow = (text for text in narrow_words(got[wrong], float) if text not in known)
        return [*self._zeros(got[wrong]), *narrow]

    def _zeros(self, wrong: Words) -> list[str]:
        """That all wrong outputs are 0, in words, if they are so with other numbers, too.

        Where a row has one element that is not 0, a product that is left out is 0 as well.
        """
        told = zero_words(wrong, "output")
        if not told or not self.subject.fails:
            return told
        whole = replace(self, subject=replace(self.subject, fails=False))
        got = ask(self.subject.function.function, whole).got
        return [] if got is None else zero_words(got[~whole._same(got)], "output")

    def difference(self, got: Words) -> str:
        """The first wrong output, and how many there are."""
        return first_wrong(self.name, self.wanted, got, ~self._same(got), self.subject.float)


@lru_cache(16)  # that of a question is asked for several times
def _outputs(product: Product) -> Words:
    """The words of the outputs."""
    layout = LAYOUTS[product.subject.float]
    exact = product.side(0)[2] @ product.side(1)[2].T
    if product.subject.has_tensors:
        exact *= math.prod(map(float, tensor_scales(*product.subject.formats)))
    found = exact.astype(layout.dtype).view(layout.uint).astype(np.uint64)
    found.flags.writeable = False
    return found


def _pace(product: Product) -> float:
    """Seconds for a block of an output; the least of three times, as machines are busy."""
    arguments, times = product.arguments, []
    for _ in range(3):
        given = copies(arguments)
        start = time.perf_counter()
        try:
            product.subject.function.function(*given)
        except BaseException as error:
            if not is_fault(error):
                raise
        times.append(time.perf_counter() - start)
    return float(min(times) / np.prod(product.shape))
