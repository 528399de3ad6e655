"""Which answers to products stages give together, each with what it does otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, Bool
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.stages.product_cases import Indices, ProductCases
from mxref.conformance.verdict.stages.product_steps import ProductStep, right_codes, right_scales
from mxref.conformance.verdict.stages.product_sums import Products, any_order
from mxref.operations.intervals import held
from mxref.operations.product_words import pair_formats
from mxref.products.intervals import Bounds

Steps = tuple[ProductStep, ...]

#: The stages that say which products of elements there are.
_ELEMENTS = ("codes read", "codes decoded")


class ProductFit:
    """The answers of a target to dot products of a pair of formats, and what steps make of them."""

    def __init__(
        self,
        cases: ProductCases,
        answers: NDArray[np.uint64],
        floats: NDArray[np.str_],
        format: str,
    ) -> None:
        """Take cases with their answers, a word of a float type for each."""
        self.cases, self.answers, self.floats, self.format = cases, answers, floats, format
        self.codes = [right_codes(fmt) for fmt in pair_formats(format)]
        self.scales = [right_scales(fmt) for fmt in pair_formats(format)]
        self._products: dict[Steps, Products] = {}

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> ProductFit:
        """The answers of some outcomes."""
        answers = np.concatenate([one.answers[:, 0] for one in outcomes])
        floats = np.concatenate([[one.file.float] * len(one.inputs) for one in outcomes])
        return cls(ProductCases.of(outcomes), answers, floats, outcomes[0].file.format)

    def some(self, chosen: Indices) -> ProductFit:
        """Some of the cases, by their numbers."""
        return ProductFit(self.cases.some(chosen), self.answers, self.floats, self.format)

    def given(self, steps: Steps) -> Bool:
        """Which answers some steps may give, in the order of the numbers of the cases."""
        with np.errstate(all="ignore"):
            products = self._scaled(steps)
            found = self._held(products, steps)
            if np.isinf(products.scales).any():  # each element may meet such a scale, or their sum
                found |= self._held(replace(products, by_element=True), steps)
        numbers, places = np.unique(self.cases.case, return_inverse=True)
        return np.bincount(places, found, len(numbers)) > 0

    def _elements(self, steps: Steps) -> Products:
        """The products of elements without scales."""
        some = tuple(step for step in steps if step.stage in _ELEMENTS)
        if some not in self._products:
            sides = [self._numbers(side, some) for side in (0, 1)]
            self._products[some] = Products.of(sides[0] * sides[1])
        return self._products[some]

    def _numbers(self, side: int, steps: Steps) -> NDArray[np.float64]:
        """The elements of a side, without scales."""
        read, decoded = (_change(steps, f"codes {what}", side) for what in ("read", "decoded"))
        is_order = isinstance(read, np.ndarray)
        move = None if read is None or is_order else read[side]
        codes = self.cases.codes[side][self.cases.places(side, side, move)]
        table = (self.codes if decoded is None else decoded)[side]
        found: NDArray[np.float64] = table[codes[:, read] if is_order else codes]
        return found

    def _scales(self, side: int, steps: Steps) -> NDArray[np.float64]:
        """The scales of the blocks of a side."""
        read, decoded = (_change(steps, f"scales {what}", side) for what in ("read", "decoded"))
        move, of = (None, side) if read is None else read[side]
        code = self.cases.scales[of][self.cases.places(side, of, move)]
        found: NDArray[np.float64] = (self.scales if decoded is None else decoded)[side][code]
        return found

    def _scaled(self, steps: Steps) -> Products:
        """The products of elements with the products of scales."""
        sides = (self._scales(side, steps) for side in (0, 1))
        multiply = _change(steps, "scales multiplied") or np.multiply
        weigh = _change(steps, "blocks added")
        tensors = (_change(steps, "tensor scales") or np.multiply)(*self.cases.at.tensors)
        products, scales = self._elements(steps), multiply(*sides) * tensors
        times = np.ones(len(scales))
        if weigh is not None:
            times = np.asarray(weigh(self.cases.at.number, self.cases.at.blocks), np.float64)
        return replace(products, scales=scales, times=times)

    def _held(self, products: Products, steps: Steps) -> Bool:
        """Which answers are inside the intervals of sums of some products."""
        ends = (_change(steps, "sum") or any_order)(self.cases, products)
        make = _change(steps, "output") or (lambda numbers: numbers)
        low, high, infinite, minus = (
            make(np.asarray(one, np.float64)) for one in (ends.low, ends.high, [np.inf], [-np.inf])
        )
        over = np.select((ends.up & ends.down, ends.up, ends.down), (np.nan, infinite, minus), low)
        found = np.zeros(len(low), bool)
        floats, answers = self.floats[self.cases.case], self.answers[self.cases.case]
        for name in np.unique(floats).tolist():
            some, layout = floats == name, LAYOUTS[name]
            bounds = Bounds(*(one[some].astype(layout.dtype) for one in (low, high, over)))
            found[some] = held(bounds, answers[some], name)
        return found


def _change(steps: Steps, stage: str, side: int = 0) -> Any:
    """What a stage computes, of a side if it is about operands; None if only the right one."""
    some = (step.change for step in steps if step.stage == stage and side in step.sides)
    return next(some, None)
