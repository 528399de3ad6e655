"""Steps of an adder on float64 numbers, in a way that no rounding mode and no flushing changes.

A product of two elements with their scales is exact, and a product with a power of two, too. What
is aligned are multiples of one power of two: at most 65 integers below 2**(fraction_bits + 2), or 5
of groups below 2**45, whose sums fit 53 bits. Integers round sums to float32 and float16.

Source: SPEC_NOTES N43, N47; MMA-Sim, arXiv 2511.10909.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, as_float64, fl, flushed, rounded
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.formats.base import CodeFormat
from mxref.formats.catalog import ElementFormat
from mxref.policy.choices import Rounding
from mxref.products.adders import Adder
from mxref.products.exact_sums import ExactSums, rounded_integer
from mxref.products.operand import Operand
from mxref.products.run_products import numbers_of

I16 = NDArray[np.int16]

#: Exponent of a zero: that of a product with one is below NONE // 2.
NONE = -(1 << 13)
#: What the sum of zeros is aligned to, where nothing else says it: below every product.
_BELOW = -600
_SMALLEST_NORMAL = float.fromhex("0x1p-126")  # of float32; powers are inexact in some modes
_BEYOND = float.fromhex("0x1p128")
NO_BIT = 900  # the last bit of a zero: above that of every product
_UNIT = 700  # products, and sums of them, are multiples of 2**-_UNIT


@dataclass(frozen=True, slots=True)
class Factors:
    """Some rows of an operand, k first: numbers, and what a matrix unit reads as exponents."""

    values: F64Array  #: (K, rows)
    exponents: I16  #: (K, rows), NONE of zeros

    def filled(self, step: int) -> Factors:
        """The same with zeros up to whole steps."""
        more = ((0, -len(self.values) % step), (0, 0))
        if not more[0][1]:
            return self
        exponents = np.pad(self.exponents, more, constant_values=NONE)
        return Factors(np.pad(self.values, more), exponents)

    def rows(self, first: int, end: int) -> Factors:
        """Some of the products."""
        return Factors(self.values[first:end], self.exponents[first:end])


@functools.cache
def every_code(fmt: ElementFormat) -> Factors:
    """The numbers and the exponents of all codes; that of a subnormal is the least exponent."""
    from mxref.numbers.element import decode

    values = np.asarray(decode(np.arange(fmt.code_count), fmt, np.float64))
    return Factors(values, exponents_of(values, fmt.emin))


@functools.cache
def every_number(layout: FloatLayout) -> Factors:
    """The numbers and the exponents of all patterns of a type of 16 bits, in their order."""
    values = as_float64(np.arange(1 << layout.width, dtype=layout.uint), layout).view(np.float64)
    return Factors(values, exponents_of(values, layout.emin))


@functools.cache
def finite_codes(fmt: CodeFormat) -> Factors:
    """The same with zeros in place of Inf and NaN, and with one zero; of scales, too."""
    values = numbers_of(fmt)
    return Factors(values, exponents_of(values, fmt.emin))


def scaled_rows(side: Operand, rows: slice, group: int = 1) -> tuple[Factors, Factors]:
    """Rows of an operand, k first: elements times their scales, and the scales of the runs.

    Args:
        side: the operand.
        rows: the rows.
        group: of a group of products, the exponents are those of the scales alone.
    """
    codes, scales = (np.ascontiguousarray(part[rows].T) for part in (side.codes, side.scales))
    elements, factors = finite_codes(side.format), finite_codes(side.scale)
    powers = Factors(factors.values[scales], factors.exponents[scales])
    each = np.repeat(np.arange(len(scales)), side.run)
    own, of_scales = elements.exponents[codes], powers.exponents[each]
    exponents = of_scales + (own if group == 1 else np.int16(0))
    exponents[(own == NONE) | (of_scales == NONE)] = NONE
    return Factors(elements.values[codes] * powers.values[each], exponents), powers


def exponents_of(values: F64Array, least: int) -> I16:
    """The exponents of numbers, those of subnormals `least`, of zeros NONE; Inf and NaN have some.

    >>> exponents_of(np.array([-3.0, 2.0**-20, 0.0]), -14).tolist()
    [1, -14, -8192]
    """
    return np.where(values == 0, NONE, np.clip(_field(values), least, 128)).astype(np.int16)


def _field(values: F64Array) -> NDArray[np.int64]:
    found: NDArray[np.int64] = (values.view(np.int64) >> 52 & 0x7FF) - 1023
    return found


def last_bits(values: F64Array) -> I16:
    """The exponents of the last bits of finite numbers; NO_BIT of zeros.

    >>> last_bits(np.array([3.0, -0.25, 0.0])).tolist()
    [0, -2, 900]
    """
    bits = values.view(np.int64)
    significand = bits & (1 << 52) - 1 | 1 << 52
    last = (significand & -significand).astype(np.float64).view(np.int64)
    exponents = (bits >> 52 & 0x7FF) + (last >> 52) - (2 * 1023 + 52)
    return np.where(values == 0, NO_BIT, exponents).astype(np.int16)


def power(exponent: NDArray[Any]) -> F64Array:
    """2**exponent, for exponents from -1022 to 1023."""
    found: F64Array = ((exponent.astype(np.int64) + 1023) << 52).view(np.float64)
    return found


def outer(x: F64Array, y: F64Array) -> F64Array:
    """The products of all numbers of x with all of y."""
    products: F64Array = x[:, None] * y
    return products


def stepped(a: Factors, b: Factors, total: F64Array, adder: Adder) -> F64Array:
    """The sums so far after all steps, without promotion.

    Args:
        a: whole steps of the rows of the result.
        b: those of its columns.
        total: (rows, columns), the sums before.
        adder: what adds.
    """
    way = one_step(adder)
    for first in range(0, len(a.values), adder.step):
        total = way(a, b, first, total, adder)
    return total


def one_step(adder: Adder) -> Callable[[Factors, Factors, int, F64Array, Adder], F64Array]:
    """What takes a step: of both sides, its first product, the sums so far, and the adder."""
    if adder.tree:
        return _tree
    if adder.fraction_bits is None:
        return _exact
    return _aligned if adder.later_bits is None else _aligned_later


def _aligned(a: Factors, b: Factors, first: int, total: F64Array, adder: Adder) -> F64Array:
    """The products of one step and the sum so far: aligned, truncated, added, rounded.

    A term is below 2**(e + 2), or that of a group below 2**(e + 10), e being its own exponent.
    """
    bits, zero = adder.fraction_bits or 0, adder.zero_exponent or 0
    groups = [slice(k, k + adder.group) for k in range(first, first + adder.step, adder.group)]
    largest = _exponent_of_sum(total, adder)
    some_zero = total == 0
    for group in groups:
        exponent = _largest(a, b, group)
        np.maximum(largest, exponent, out=largest)
        some_zero |= exponent < NONE // 2
    np.maximum(largest, zero, out=largest, where=some_zero)
    unit, one_over = power(largest - bits), power(bits - largest)
    aligned = np.trunc(total * one_over)
    for group in groups:
        term = functools.reduce(np.add, _products(a, b, group))
        term *= one_over
        aligned += np.trunc(term, out=term)
    return _output(aligned * unit, adder)


def _largest(a: Factors, b: Factors, some: slice) -> I16:
    """The largest exponents of some products."""
    pairs = zip(a.exponents[some], b.exponents[some], strict=True)
    return functools.reduce(np.maximum, (x[:, None] + y for x, y in pairs))


def _products(a: Factors, b: Factors, some: slice) -> Iterator[F64Array]:
    for x, y in zip(a.values[some], b.values[some], strict=True):
        yield outer(x, y)


def _exponent_of_sum(x: F64Array, adder: Adder) -> I16:
    """The exponents of sums: those of subnormals are the least one, of zeros NONE."""
    least = 1 - LAYOUTS[adder.output].bias
    return np.where(x == 0, NONE, np.clip(_field(x), least, 128)).astype(np.int16)


def _output(x: F64Array, adder: Adder) -> F64Array:
    if adder.rounding is Rounding.TIES_TO_EVEN:
        return rounded(x, LAYOUTS[adder.output])
    return _truncated(x, adder.output_bits)


def _truncated(x: F64Array, fraction_bits: int) -> F64Array:
    """Toward zero to float32 with so many fraction bits; Inf beyond it."""
    cut = 52 - fraction_bits
    kept = (x.view(np.int64) >> cut << cut).view(np.float64)
    unit = np.ldexp(_SMALLEST_NORMAL, -fraction_bits)
    kept = np.where(np.abs(x) < _SMALLEST_NORMAL, np.trunc(x / unit) * unit, kept)
    return np.where(np.abs(x) >= _BEYOND, np.copysign(np.inf, x), kept)


def _aligned_later(a: Factors, b: Factors, first: int, total: F64Array, adder: Adder) -> F64Array:
    """The products of one step aligned and added, and then aligned with the sum so far."""
    bits, later = adder.fraction_bits or 0, adder.later_bits or 0
    lanes = 2 if adder.halves else 1
    parts = [slice(first + lane, first + adder.step, lanes) for lane in range(lanes)]
    exponents = [np.maximum(_largest(a, b, part), np.int16(_BELOW)) for part in parts]
    sums = []
    for part, exponent in zip(parts, exponents, strict=True):
        one_over = power(bits - exponent)
        terms = (np.trunc(_in_float32(one) * one_over) for one in _products(a, b, part))
        sums.append(functools.reduce(np.add, terms) * power(exponent - bits))
    e = functools.reduce(np.maximum, exponents)
    dot = functools.reduce(np.add, (_floor(one, e - bits) for one in sums))
    own = np.clip(_field(total), -126, 128).astype(np.int16)
    e = np.maximum(e, own)
    dot = _floor(dot, e - (later + 1))
    before = _floor(total, e - bits)
    if adder.halves:
        before = np.where((own < e - (bits + 1)) & np.isfinite(total), 0.0, before)
    found = _plus_zero(dot + before)
    cut = np.maximum(_field(found), -126) - later
    return fl(np.where(np.isfinite(found), _floor(found, cut), found))


def _plus_zero(sums: F64Array) -> F64Array:
    """Sums, of which an exact zero is +0 in every rounding mode."""
    return np.where(sums == 0, 0.0, sums)


def _in_float32(products: F64Array) -> F64Array:
    """Products, those beyond float32's exponents infinite."""
    return np.where(np.abs(products) >= _BEYOND, np.copysign(np.inf, products), products)


def _floor(x: F64Array, unit: NDArray[Any]) -> F64Array:
    """Toward minus infinity to multiples of 2**unit."""
    found: F64Array = np.floor(x * power(-unit)) * power(unit)
    return found


def _exact(a: Factors, b: Factors, first: int, total: F64Array, adder: Adder) -> F64Array:
    """The sum of the products and the sum so far, rounded once to nearest even."""
    terms = [total, *_products(a, b, slice(first, first + adder.step))]
    return added_once(terms, LAYOUTS[adder.output])


def added_once(terms: list[F64Array], layout: FloatLayout) -> F64Array:
    """The sum of terms, rounded once to nearest even; of two as a fused operation has it."""
    total = terms[0]
    plain = functools.reduce(np.add, terms)
    is_number = np.isfinite(plain)
    sums = ExactSums(total.shape)
    for term in terms:
        sums.add(term if is_number.all() else np.where(np.isfinite(term), term, 0.0))
    numbers, unknown = sums.rounded(to_odd=True)
    for place in map(tuple, np.argwhere(unknown & is_number).tolist()):
        count = sum(_integer(float(term[place])) for term in terms)
        numbers[place] = rounded_integer(count, _UNIT, to_odd=True)
    found = rounded(_plus_zero(numbers), layout)
    if len(terms) == 2:  # IEEE 754's fused operation: of two that are -0
        every = [np.signbit(term) & (term == 0) for term in terms]
        found = np.where(every[0] & every[1], -0.0, found)
    return np.where(is_number, found, plain)


def _integer(number: float) -> int:
    """A number in units of 2**-_UNIT."""
    above, below = number.as_integer_ratio()
    return (above << _UNIT) // below


def _tree(a: Factors, b: Factors, first: int, total: F64Array, adder: Adder) -> F64Array:
    """Products and sums in float32, neighbours first."""
    flush = flushed if adder.flush else np.asarray
    terms = [flush(fl(one)) for one in _products(a, b, slice(first, first + adder.step))]
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=True)
        terms = [flush(fl(x + y)) for x, y in pairs]
    if adder.flush:
        total = _plus_zero(flushed(total))
    found: F64Array = flush(fl(_plus_zero(total + terms[0])))
    return found
