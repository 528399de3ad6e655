"""Intervals that no chain of aligned steps leaves, in whatever order products are added.

Source: SPEC_NOTES N47.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, LAYOUTS, Bool, FloatLayout
from mxref.policy.choices import Rounding
from mxref.products.adders import Adder
from mxref.products.exact_sums import (
    ExactSums,
    F64Array,
    known_multiples,
    known_sums,
    parts_of,
)
from mxref.products.intervals import bound_patterns
from mxref.products.operand import Operand
from mxref.products.run_products import special_values
from mxref.products.steps import NONE, Factors, last_bits, outer, power, scaled_rows
from mxref.products.tensor_factors import NO_FACTORS, TensorFactors
from mxref.support.integers import integer

_UNIT = 700  # every end is a multiple of 2**-_UNIT
_MULTIPLIED = Fraction(6, 1 << 23)  # more than five cuts to float32 change a number by


@dataclass(frozen=True, slots=True)
class Chains:
    """Sums in aligned steps of some products and a sum so far, whose results float32 may add.

    Args:
        step: products that are added at once, at most.
        fraction_bits: what terms keep below the largest exponent, at least.
        output_bits: fraction bits that a result of a step keeps.
        nearest: whether it is rounded to nearest; else toward zero.
        least: the exponent of subnormal sums and of zeros, whichever is larger.
        layout: the type of the results.
    """

    step: int
    fraction_bits: int
    output_bits: int
    nearest: bool = False
    least: int = F32.emin
    layout: FloatLayout = F32

    @classmethod
    def of(cls, adder: Adder) -> Chains:
        """The chains of an adder that aligns the sum so far, too."""
        layout, nearest = LAYOUTS[adder.output], adder.rounding is Rounding.TIES_TO_EVEN
        kept = layout.mantissa_bits if nearest else adder.output_bits
        least = max(layout.emin, adder.zero_exponent or layout.emin)
        return cls(adder.step, adder.fraction_bits or 0, kept, nearest, least, layout)

    def growth(self, length: int) -> Fraction:
        """How many times a sum may be the magnitudes in it, and 2**least."""
        return 1 + Fraction(4 * -(-length // self.step), 2 << self.layout.mantissa_bits)

    def error(self, length: int) -> Fraction:
        """The distance from the exact sum, in sizes of products and of C, and 2**least."""
        steps = -(-length // self.step)
        cut = Fraction(length + steps, 1 << self.fraction_bits)
        rounded = Fraction(1, 1 << self.output_bits + self.nearest) + Fraction(1, 1 << 24)
        return self.growth(length) * (cut + steps * rounded)


def chains_of(rounding: str, bits: int | None, step: int | None) -> Chains | None:
    """What `bits` and `step` of `matmul_bounds` say.

    Raises:
        ValueError: as `matmul_bounds`.
    """
    if bits is None or step is None:
        if bits is not step:
            raise ValueError(f"bits and step must be given together, got bits={bits}, step={step}")
        return None
    if rounding != "any":
        raise ValueError(f"rounding must be any where bits and step are given, got {rounding}")
    bits, step = integer(bits, "bits"), integer(step, "step")
    if not 1 <= bits <= 44:
        raise ValueError(f"bits must be from 1 to 44, got {bits}")
    if step < 1:
        raise ValueError(f"step must be a positive integer, got {step}")
    return Chains(step, bits, min(bits, F32.mantissa_bits))


def block_ends(a: Operand, b: Operand, chains: Chains, layout: FloatLayout) -> NDArray[Any]:
    """Patterns of the three arrays of `Bounds` of products of blocks."""
    before = np.zeros((len(a.codes), len(b.codes)))
    x, y = (scaled_rows(side, slice(None))[0].rows(0, side.length) for side in (a, b))
    intervals = ChainIntervals(x, y, before, chains, TensorFactors.of(a, b))
    return bound_patterns(intervals, *special_values(a, b), layout)


class ChainIntervals:
    """Ends of intervals around sums of products and a sum before them, all finite."""

    def __init__(
        self,
        a: Factors,
        b: Factors,
        before: F64Array,
        chains: Chains,
        tensors: TensorFactors = NO_FACTORS,
    ) -> None:
        """Add up products, and their sizes: what an adder may take the largest exponent to be."""
        self.chains, self.length, self.tensors = chains, len(a.values), tensors
        self.terms = _Terms(a.values, b.values, before)
        self.of_sizes = _Terms(_sizes(a), _sizes(b), np.abs(before))
        self.sums, self.sizes = self.terms.sums(), self.of_sizes.sums()
        #: Where nothing is cut off in any order.
        self.exact = self._is_exact() & (not tensors.rounds)
        self.sizes.add(np.full(before.shape, self._rest))

    @property
    def _rest(self) -> float:
        return float(np.ldexp(1.0, self.chains.least))

    def _is_exact(self) -> Bool:
        """Where all terms are multiples of a number that sizes hold in all the bits."""
        unit = last_bits(self.terms.before)
        for x, y in zip(last_bits(self.terms.x), last_bits(self.terms.y), strict=True):
            np.minimum(unit, x[:, None] + y, out=unit)
        bits = min(self.chains.fraction_bits, self.chains.output_bits)
        found: Bool = self.sizes.head <= np.ldexp(2.0**bits, unit)
        return found & (unit >= self.chains.least - bits)

    def end(self, sign: int, *, to_odd: bool) -> F64Array:
        """An end of the interval: the sums plus or minus the distance."""
        error = self.chains.error(self.length)
        if self.tensors.rounds:
            error += (1 + error) * _MULTIPLIED
        error *= sign
        sums = self.sums.copy()
        for part in parts_of(error):
            sums.add_product(np.where(self.exact, 0, part), self.sizes)

        def exactly(row: int, column: int) -> tuple[int, int]:
            total = self.terms.at(row, column)
            if not self.exact[row, column]:
                total += error * (self.of_sizes.at(row, column) + Fraction(self._rest))
            return int(total * (1 << _UNIT)), _UNIT

        return known_multiples(sums, self.tensors.factor, exactly, to_odd=to_odd)

    def may_overflow(self, sign: int) -> Bool:
        """Where a sum of some of the terms may become infinite, with this sign."""
        layout, growth = self.chains.layout, self.chains.growth(self.length)
        largest = np.ldexp(2.0 - 2.0 ** -(layout.mantissa_bits + 1), layout.bias)
        growth *= self.tensors.largest
        if self.sizes.head.max(initial=0) * float(growth) < largest / 2:
            return np.zeros(self.exact.shape, bool)
        terms = _Terms(self.terms.x, self.terms.y, self.terms.before, sign)
        some, sums = terms.sums(), ExactSums(self.exact.shape)
        some.add(np.full(self.exact.shape, self._rest))
        for part in parts_of(growth):
            sums.add_product(np.full(self.exact.shape, part), some)

        def exactly(row: int, column: int) -> tuple[int, int]:
            total = growth * (terms.at(row, column) + Fraction(self._rest))
            return int(total * (1 << _UNIT)), _UNIT

        found: Bool = known_sums(sums, exactly, to_odd=True) >= largest
        return found


@dataclass(frozen=True, slots=True)
class _Terms:
    """Products of columns of x and of y, and what was before them; or those of one sign alone."""

    x: F64Array
    y: F64Array
    before: F64Array
    sign: int = 0

    def sums(self) -> ExactSums:
        """The sums; of one sign, of the magnitudes."""
        found = ExactSums(self.before.shape)
        for term in itertools.chain([self.before], map(outer, self.x, self.y)):
            found.add(np.maximum(self.sign * term, 0) if self.sign else term)
        return found

    def at(self, row: int, column: int) -> Fraction:
        """One of them."""
        pairs = zip(self.x[:, row].tolist(), self.y[:, column].tolist(), strict=True)
        terms = [Fraction(self.before[row, column].item())]
        terms += [Fraction(x) * Fraction(y) for x, y in pairs]
        if self.sign:
            terms = [max(self.sign * term, Fraction(0)) for term in terms]
        return sum(terms, Fraction(0))


def _sizes(side: Factors) -> F64Array:
    """Magnitudes, those of subnormals raised to the power of two of the exponent."""
    floor = np.where(side.exponents == NONE, 0, side.exponents)
    return np.where(side.values == 0, 0, np.maximum(np.abs(side.values), power(floor)))
