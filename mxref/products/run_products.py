"""Products of the runs of two operands: their exact sums, and the special values among them."""

from __future__ import annotations

import functools
import math
from operator import mul

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import wide
from mxref.bits.floats import F32, I64, Bool, split
from mxref.formats.base import CodeFormat
from mxref.formats.catalog import ElementFormat, ScaleFormat
from mxref.numbers.codes import every_code
from mxref.products.exact_sums import ExactSums, F64Array
from mxref.products.operand import UNIT, Operand

#: The last bit of a zero: above that of every product.
NO_BIT = 900
#: The exponent of the least float32 number, negative.
_LEAST = F32.mantissa_bits - F32.emin


@functools.cache
def integers(fmt: ElementFormat) -> tuple[I64, int]:
    """The elements of all codes as integers, 0 for Inf and NaN, and the exponent of their unit."""
    parts = every_code(fmt)
    unit = int(parts.exponent.min())
    finite = ~(parts.is_inf | parts.is_nan)
    counts = np.where(finite, parts.significand << (parts.exponent - unit), 0)
    return np.where(parts.negative, -counts, counts), unit


@functools.cache
def numbers_of(fmt: CodeFormat) -> F64Array:
    """The numbers of all codes, 0 for Inf and NaN."""
    parts = every_code(fmt)
    finite = ~(parts.is_inf | parts.is_nan)
    counts = np.where(finite, parts.significand, 0) * np.where(parts.negative, -1, 1)
    return np.ldexp(counts.astype(np.float64), parts.exponent)


def _scale_bits(fmt: ScaleFormat) -> int:
    """Bits by which a scale makes a number longer."""
    return fmt.mantissa_bits and fmt.mantissa_bits + 1


@functools.cache
def _tables(
    a: ElementFormat, b: ElementFormat, run: int, more: int = 0
) -> tuple[list[F64Array], F64Array]:
    """The elements of both formats by code, those of the first in parts that add up to them.

    Each part's products with all elements of the other format are integers in one unit, and the
    magnitudes of a run of them add up to less than 2**53. So float64 adds them without error in
    every order, with FMA or not. Parts have as many bits as that allows, less those that both
    scales have. One part is enough except for E5M2 with E4M3 or with itself under powers of two,
    where two of 16 bits or more are needed.
    """
    (x, x_unit), (y, y_unit) = integers(a), integers(b)
    width = 53 - more - (run * int(np.abs(y).max())).bit_length()
    magnitude, sign = np.abs(x), np.sign(x)
    parts = []
    for low in range(0, int(magnitude.max()).bit_length(), width):
        some = magnitude >> low & ((1 << width) - 1)
        parts.append(np.ldexp((sign * some).astype(np.float64), low + x_unit))
    return parts, np.ldexp(y.astype(np.float64), y_unit)


def sums_of_products(a: Operand, b: Operand, *, magnitudes: bool = False) -> ExactSums:
    """The sums of the products of rows of `a` and rows of `b`, or of the products' magnitudes."""
    last = a.scale.is_float32 or b.scale.is_float32
    more = 0 if last else _scale_bits(a.scale) + _scale_bits(b.scale)
    parts, other = _tables(a.format, b.format, a.run, more)
    if magnitudes:
        parts, other = [np.abs(part) for part in parts], np.abs(other)
    scales_a, scales_b = scale_numbers(a), scale_numbers(b)
    sums = ExactSums((len(a.codes), len(b.codes)))
    products = np.empty_like(sums.head)
    for index in range(a.scales.shape[1]):
        where = slice(index * a.run, (index + 1) * a.run)
        columns, codes = other[b.codes[:, where]], a.codes[:, where]
        left, right = scales_a[:, index, np.newaxis], scales_b[:, index, np.newaxis]
        if last:
            for part in parts:
                _add_scaled(sums, np.matmul(part[codes], columns.T), left * right.T)
            continue
        columns = columns * right
        for part in parts:
            sums.add(np.matmul(part[codes] * left, columns.T, out=products))
    return sums


def _add_scaled(sums: ExactSums, products: F64Array, scales: F64Array) -> None:
    """Add sums of products times scales, of at most 48 bits.

    Both are cut after 26 bits, so that float64 holds each of the four products.
    """
    for one in _halves(products):
        for other in _halves(scales):
            sums.add(one * other)


def _halves(numbers: F64Array) -> tuple[F64Array, F64Array]:
    """The first 26 bits of numbers, and the rest."""
    upper = (numbers.view(np.int64) & np.int64(-1 << 27)).view(np.float64)
    return upper, numbers - upper


def scale_numbers(side: Operand) -> F64Array:
    """The scales of all runs, 0 for Inf and NaN."""
    if side.scale.is_float32:
        numbers = wide(side.scales, F32)
        return np.where(np.isfinite(numbers), numbers, 0.0)
    return numbers_of(side.scale)[side.scales]


def _scale_integers(side: Operand, row: int) -> tuple[I64, I64]:
    """Significands of the scales of a row, 0 for Inf and NaN, and their exponents."""
    codes = side.scales[row]
    if side.scale.is_float32:
        parts, codes = split(codes, F32), np.arange(len(codes))
    else:
        parts = every_code(side.scale)
    factors = np.where(parts.is_nan | parts.is_inf, 0, parts.significand)
    return factors[codes], parts.exponent[codes]


def integer_products(a: Operand, b: Operand, row: int, column: int) -> list[int]:
    """The products of a row of `a` and a row of `b`, without filling, times 2**(-2 * UNIT)."""
    rows = []
    for side, index in ((a, row), (b, column)):
        counts, unit = integers(side.format)
        factors, exponents = (np.repeat(n, side.run) for n in _scale_integers(side, index))
        numbers = counts[side.codes[index]] * factors
        shifts = (exponents + unit + UNIT) * (factors > 0)
        pairs = zip(numbers.tolist(), shifts.tolist(), strict=True)
        rows.append([count << shift for count, shift in pairs])
    return list(map(mul, *rows))[: a.length]


def integer_sum(a: Operand, b: Operand, row: int, column: int) -> tuple[int, int]:
    """The sum of these products, times the factors of both rows: an integer, 2**-unit of one."""
    count, unit = sum(integer_products(a, b, row, column)), 2 * UNIT
    for side, index in ((a, row), (b, column)):
        for one in side.of_rows[index : index + 1]:
            count *= one.numerator << one.exponent + _LEAST
            unit += _LEAST
    return count, unit


def times_rows(sums: ExactSums, a: Operand, b: Operand) -> ExactSums:
    """Sums of products times the factors of rows, of 24 bits; of Inf and NaN they say nothing.

    Sums are multiples of 2**(-2 * UNIT), the products of 2**-149 times that for each operand: no
    product underflows.
    """
    shape = sums.head.shape
    for side, axis in ((a, 1), (b, 0)):
        if side.of_rows:
            own = [math.ldexp(one.numerator, one.exponent) for one in side.of_rows]
            whole = ExactSums(shape)
            whole.add_product(np.broadcast_to(np.expand_dims(own, axis), shape), sums)
            sums = whole
    return sums


def special_values(a: Operand, b: Operand) -> tuple[Bool, NDArray[np.int64]]:
    """Where the dot products are NaN, and elsewhere the signs of those that are infinite.

    NaN are all of a row with a NaN element or scale, Inf times zero, and Inf of both signs.
    """
    infinite = np.zeros((len(a.codes), len(b.codes)), np.int64)
    if not (_has_infinity(a) or _has_infinity(b)):
        return _nan_rows(a)[:, np.newaxis] | _nan_rows(b), infinite
    x, y = _marks(a), _marks(b)
    rows, columns = (np.asarray(np.isnan(marks).any(axis=1)) for marks in (x, y))
    nan = rows[:, np.newaxis] | columns
    x, y = (np.where(np.isnan(marks), 0, marks) for marks in (x, y))
    x_infinite, y_infinite = (np.where(np.isinf(marks), np.sign(marks), 0) for marks in (x, y))
    x, y = np.sign(x), np.sign(y)
    # Each infinite product counts once for each infinite factor.
    net = x_infinite @ y.T + x @ y_infinite.T
    count = np.abs(x_infinite) @ np.abs(y).T + np.abs(x) @ np.abs(y_infinite).T
    zeros = np.abs(x_infinite) @ (y == 0).T + (x == 0) @ np.abs(y_infinite).T
    nan |= (zeros > 0) | (np.abs(net) < count)
    return nan, np.where(nan, 0, np.sign(net)).astype(np.int64)


def _nan_rows(side: Operand) -> Bool:
    found: Bool = np.asarray(np.isnan(_scale_signs(side)).any(axis=1))
    if side.format.nan_codes:
        found |= np.isnan(_signs(side.format)[side.codes]).any(axis=1)
    if side.length:
        found |= np.array([one.is_nan for one in side.factors])
    return found


def _has_infinity(side: Operand) -> bool:
    """Whether an element, a scale or the scale of the tensor is infinite."""
    if side.format.inf_code is not None and every_code(side.format).is_inf[side.codes].any():
        return True
    scales = side.scale.inf_code is not None and bool(np.isinf(_scale_signs(side)).any())
    return scales or any(one.is_inf for one in side.factors)


def _marks(side: Operand) -> F64Array:
    """The signs of the numbers of all places, of Inf and NaN these themselves."""
    factors = (
        np.nan if one.is_nan else np.inf if one.is_inf else float(one.numerator > 0)
        for one in side.factors
    )
    factor = np.array([*factors])[:, np.newaxis]
    each = np.repeat(_scale_signs(side), side.run, axis=1)
    with np.errstate(invalid="ignore"):
        found: F64Array = (_signs(side.format)[side.codes] * each * factor)[:, : side.length]
    return found


def _scale_signs(side: Operand) -> F64Array:
    """The signs of the scales, of Inf and NaN these themselves."""
    if side.scale.is_float32:
        numbers = wide(side.scales, F32)
        return np.where(np.isfinite(numbers), np.sign(numbers), numbers)
    return _signs(side.scale)[side.scales]


@functools.cache
def _signs(fmt: CodeFormat) -> F64Array:
    """The signs of the numbers of all codes, of Inf and NaN these themselves."""
    parts, signs = every_code(fmt), np.sign(numbers_of(fmt))
    signs = np.where(parts.is_inf, np.where(parts.negative, -np.inf, np.inf), signs)
    return np.where(parts.is_nan, np.nan, signs)


def last_bits(side: Operand) -> NDArray[np.int16]:
    """The exponent of the last bit of each element times its scale; NO_BIT of zeros."""
    scales = np.repeat(_last_bit(side.scale)[side.scales], side.run, axis=1)
    found = _last_bit(side.format)[side.codes] + scales
    return np.where(found > NO_BIT // 2, np.int16(NO_BIT), found)


@functools.cache
def _last_bit(fmt: CodeFormat) -> NDArray[np.int16]:
    """The exponent of the last bit of the number of each code; NO_BIT of zero, Inf and NaN."""
    parts = every_code(fmt)
    number = ~(parts.is_inf | parts.is_nan) & (parts.significand > 0)
    pairs = zip(parts.significand.tolist(), parts.exponent.tolist(), strict=True)
    last = [(n & -n).bit_length() - 1 + unit for n, unit in pairs]
    return np.where(number, last, NO_BIT).astype(np.int16)
