"""What becomes of the sums of a product: alpha times them, plus beta times C, plus a bias.

Source: SPEC_NOTES N52.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import F64Array, as_float64, fl, fl_sum, rounded, wide
from mxref.bits.floats import F32, F64, Bool, FloatLayout, compose, floats_from, patterns, split
from mxref.numbers.source import Source
from mxref.policy.groups import ElementPolicy
from mxref.products.exact_sums import ExactSums, infinities, parts_of, patterns_of
from mxref.products.float_products import pattern
from mxref.products.intervals import Bounds
from mxref.support.text import short, unknown_name

__all__ = ["EPILOGUES", "Epilogue", "epilogue_of", "steps_of"]

#: The exponents of numbers whose products and sums float64 holds without underflow.
_REACH = 300
#: Numbers of float32 steps: the sum, alpha, beta, C, the bias; and what a step is rounded to.
_Step = Callable[[F64Array, F64Array, F64Array, F64Array, F64Array, FloatLayout], F64Array]


def _source_first(
    total: F64Array, alpha: F64Array, beta: F64Array, c: F64Array, bias: F64Array, _: FloatLayout
) -> F64Array:
    return fl(fl_sum(alpha * total, fl(beta * c)) + bias)


def _sum_first(
    total: F64Array, alpha: F64Array, beta: F64Array, c: F64Array, bias: F64Array, _: FloatLayout
) -> F64Array:
    return fl_sum(beta * c, fl_sum(alpha * total, bias))


def _separate(
    total: F64Array, alpha: F64Array, beta: F64Array, c: F64Array, bias: F64Array, _: FloatLayout
) -> F64Array:
    return fl(fl(fl(alpha * total) + fl(beta * c)) + bias)


def _rounded(
    total: F64Array,
    alpha: F64Array,
    beta: F64Array,
    c: F64Array,
    bias: F64Array,
    layout: FloatLayout,
) -> F64Array:
    to = functools.partial(rounded, layout=layout)
    return to(to(to(to(total) * to(alpha)) + to(to(beta) * to(c))) + to(bias))


#: How float32 sums meet alpha, beta, C and the bias: in FMAs, of beta C or of alpha times the sum
#: first; each operation rounded; or all in the type of the output, to which the sum is rounded.
EPILOGUES: Mapping[str, _Step] = {
    "source_first": _source_first,
    "sum_first": _sum_first,
    "separate": _separate,
    "rounded": _rounded,
}


#: Those that keep to float32.
_IN_FLOAT32 = ("source_first", "sum_first", "separate")


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What a product is multiplied by and what is added.

    Args:
        alpha: by what sums are multiplied.
        beta: by what C is multiplied.
        c: (rows, columns), as float64 like the next one; zeros where beta is 0.
        bias: (rows, columns), each row the same.
    """

    alpha: Fraction
    beta: Fraction
    c: F64Array
    bias: F64Array

    def part(self, rows: slice, columns: slice) -> Epilogue:
        """That of some rows and columns."""
        return replace(self, c=self.c[rows, columns], bias=self.bias[rows, columns])

    def exactly(
        self,
        sums: ExactSums,
        factor: Fraction,
        exactly: Callable[[int, int], tuple[int, int]],
        special: tuple[Bool, NDArray[np.int64]],
        layout: FloatLayout,
    ) -> NDArray[Any]:
        """Patterns of alpha times sums plus beta times C plus the bias, rounded once.

        Args:
            sums: of products.
            factor: what they are to be multiplied by, beside alpha.
            exactly: a sum as an integer and the exponent of its unit, negative.
            special: where sums are NaN, and the signs of those that are infinite.
            layout: of the output.
        """
        alpha, beta = self.alpha * factor, self.beta
        c, bias = (np.where(np.isfinite(one), one, 0.0) for one in (self.c, self.bias))
        bits, unknown = _once(sums, alpha, ((beta, c), (Fraction(1), bias)), layout)
        for row, column in np.argwhere(unknown).tolist():
            total = sums.at(row, column)
            if total is None:
                count, unit = exactly(row, column)
                total = Fraction(count, 1 << unit)
            more = beta * Fraction(c[row, column].item()) + Fraction(bias[row, column].item())
            bits[row, column] = _pattern(alpha * total + more, layout)
        nan, infinite = special
        with np.errstate(invalid="ignore"):
            infinity = _sign(self.alpha) * infinite * np.inf
            marks = np.where(infinite != 0, infinity, 0.0) + self._infinite
        bits = np.where(np.isinf(marks), infinities(np.where(marks > 0, 1, -1), layout), bits)
        return np.where(nan | np.isnan(marks), layout.uint.type(layout.nan_bits), bits)

    @property
    def _infinite(self) -> F64Array:
        """Infinities and NaN of what is added; zeros elsewhere."""
        c, bias = (np.where(np.isfinite(one), 0.0, one) for one in (self.c, self.bias))
        with np.errstate(invalid="ignore"):
            return np.where(c == 0, 0.0, c * _sign(self.beta)) + bias

    def stepped(self, sums: F64Array, how: str, layout: FloatLayout) -> NDArray[Any]:
        """Patterns of what float32 arithmetic makes of float32 sums; a zero is +0.

        Args:
            sums: float32 numbers.
            how: one of EPILOGUES.
            layout: of the output.
        """
        given = (np.array([_pattern(one, F32)], np.uint32) for one in (self.alpha, self.beta))
        alpha, beta = (wide(one, F32) for one in given)
        with np.errstate(over="ignore", invalid="ignore"):
            found = EPILOGUES[how](sums, alpha, beta, fl(self.c), fl(self.bias), layout)
        found = np.where(np.isnan(found), np.nan, np.where(found == 0, 0.0, found))
        return compose(split(found.view(np.uint64), F64), layout)

    def bounds(self, sums: Bounds, layout: FloatLayout) -> Bounds:
        """What becomes of bounds of float32 sums, in float32, fused or not.

        Each step grows with the sum, or falls where alpha is negative.
        """
        ends = [wide(patterns(one, F32), F32) for one in sums]
        every = [
            [wide(self.stepped(end, how, layout), layout) for end in ends] for how in _IN_FLOAT32
        ]
        flat = [end for some in every for end in some[:2]]
        low, high = functools.reduce(np.fmin, flat), functools.reduce(np.fmax, flat)
        none = np.isnan(ends[0])
        is_open = (ends[2] != ends[0]) & ~none  # a sum may overflow on its way
        over = np.where(is_open, every[0][2], low)
        some = np.isnan(flat).any(axis=0) & ~(np.isnan(flat).all(axis=0) & ~is_open)
        over[some] = np.nan
        addend = self._infinite  # which another sum may leave as it is
        kept = np.isnan(low) & is_open & np.isinf(addend)
        low, high = (np.where(kept, addend, one) for one in (low, high))
        found = (compose(split(one.view(np.uint64), F64), layout) for one in (low, high, over))
        return Bounds(*(floats_from(one, layout) for one in found))


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)


def epilogue_of(
    alpha: float | None,
    beta: float | None,
    c: ArrayLike | None,
    bias: ArrayLike | None,
    shape: tuple[int, ...],
    columns: tuple[int, ...],
) -> Epilogue | None:
    """What a product is given beside its operands, checked; None if it is given nothing.

    Args:
        alpha: as in `matmul`, and so are the next ones.
        beta: by what C is multiplied.
        c: C.
        bias: of each column.
        shape: that of the product.
        columns: that of the bias.

    Raises:
        TypeError, ValueError: as `matmul`.

    >>> found = epilogue_of(2, None, None, [1.0], (2, 1), (1,))
    >>> found.alpha, found.beta, found.bias.tolist()
    (Fraction(2, 1), Fraction(0, 1), [[1.0], [1.0]])
    """
    if alpha is beta is c is bias is None:
        return None
    first = Fraction(1) if alpha is None else _finite(alpha, "alpha")
    second = Fraction(c is not None) if beta is None else _finite(beta, "beta")
    if second and c is None:
        raise ValueError(f"c must be given where beta is not 0, got beta={beta} alone")
    whole = math.prod(shape) // max(math.prod(columns), 1), math.prod(columns)
    read = np.zeros(shape) if c is None else _numbers(c, "c", shape)
    added = np.zeros(columns) if bias is None else _numbers(bias, "bias", columns)
    each = np.broadcast_to(added.reshape(-1), whole)
    return Epilogue(first, second, (read if second else np.zeros(shape)).reshape(whole), each)


def steps_of(epilogue: str | None, more: Epilogue | None, *, exact: bool) -> str:
    """The name of the epilogue of an adder's sums.

    Raises:
        ValueError: an unknown one, or one of sums that meet none.
    """
    if epilogue is None:
        return next(iter(EPILOGUES))
    if epilogue not in EPILOGUES:
        raise ValueError(unknown_name("epilogue", epilogue, EPILOGUES))
    if exact or more is None:
        raise ValueError(
            "epilogue must be left out where the sum is exact, or without alpha, beta, c and bias, "
            f"got {epilogue!r}: name an accumulation"
        )
    return epilogue


def _finite(number: float, parameter: str) -> Fraction:
    """A number exactly."""
    if not isinstance(number, int | float | np.integer | np.floating) or isinstance(number, bool):
        raise TypeError(f"{parameter} must be a number, got {short(number)}")
    if not math.isfinite(number):
        raise ValueError(f"{parameter} must be finite, got {number}")
    return Fraction(*number.as_integer_ratio())


def _numbers(values: ArrayLike, parameter: str, shape: tuple[int, ...]) -> F64Array:
    """Floats or integers as float64, each exact."""
    source = Source.of(values, ElementPolicy(), parameter)
    if source.array.shape != shape:
        raise ValueError(f"{parameter} must have shape {shape}, got {source.array.shape}")
    bits, layout = source.exact_numbers(source.array)
    return (bits if layout == F64 else as_float64(bits, layout)).view(np.float64)


def _once(
    sums: ExactSums,
    factor: Fraction,
    addends: Sequence[tuple[Fraction, F64Array]],
    layout: FloatLayout,
) -> tuple[NDArray[Any], Bool]:
    """Patterns of a factor times sums plus those of arrays, and where they are not known."""
    shape = sums.head.shape
    factors = [factor, *(one for one, _ in addends)]
    whole, terms = ExactSums(shape), [sums]
    if not all(_is_near(one) for one in factors) or not all(_are_near(one) for _, one in addends):
        return np.zeros(shape, layout.uint), np.ones(shape, bool)
    for _, array in addends:
        terms.append(ExactSums(shape))
        terms[-1].add(array)
    for one, term in zip(factors, terms, strict=True):
        for part in parts_of(one):
            whole.add_product(np.full(shape, part), term)
    numbers, unknown = whole.rounded(to_odd=layout != F64)
    return patterns_of(numbers, layout), unknown


def _is_near(number: Fraction) -> bool:
    """Whether a number times sums of products is within float64, without a quotient."""
    over, under = abs(number.numerator), number.denominator
    return not under & (under - 1) and max(over, under) < 1 << _REACH


def _are_near(numbers: F64Array) -> bool:
    exponents = (numbers.view(np.int64) >> 52 & 0x7FF) - 1023
    return bool(((np.abs(exponents) <= _REACH) | (numbers.view(np.int64) << 1 == 0)).all())


def _pattern(number: Fraction, layout: FloatLayout) -> int:
    """The pattern of a number, rounded once; of what lies behind its last bits a bit is enough."""
    over, under = abs(number.numerator), number.denominator
    up = max(layout.mantissa_bits + 4 + under.bit_length() - over.bit_length(), 0)
    count, rest = divmod(over << up, under)
    count = count << 1 | (rest != 0)
    return pattern(count if number > 0 else -count, -up - 1, layout)
