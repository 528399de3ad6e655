"""Products of the runs of two operands: their exact sums, and the special values among them."""

from __future__ import annotations

import functools
from operator import mul

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, Bool
from mxref.formats.catalog import E8M0, ElementFormat
from mxref.numbers.codes import every_code
from mxref.products.exact_sums import ExactSums, F64Array
from mxref.products.operand import Operand

#: Integer elements are times 2**-UNIT, their scales included, and products times 2**(-2 * UNIT).
UNIT = 160
_NAN_SCALE = 0xFF
#: The value of each scale code; that of FF, which makes its row NaN, is not read.
_SCALES: F64Array = np.ldexp(1.0, np.arange(256) - E8M0.bias)


@functools.cache
def integers(fmt: ElementFormat) -> tuple[I64, int]:
    """The elements of all codes as integers, 0 for Inf and NaN, and the exponent of their unit."""
    parts = every_code(fmt)
    unit = int(parts.exponent.min())
    finite = ~(parts.is_inf | parts.is_nan)
    counts = np.where(finite, parts.significand << (parts.exponent - unit), 0)
    return np.where(parts.negative, -counts, counts), unit


@functools.cache
def _tables(a: ElementFormat, b: ElementFormat, run: int) -> tuple[list[F64Array], F64Array]:
    """The elements of both formats by code, those of the first in parts that add up to them.

    Each part's products with all elements of the other format are integers in one unit, and the
    magnitudes of a run of them add up to less than 2**53. So float64 adds them without error in
    every order, with FMA or not. Parts have as many bits as that allows. One part is enough except
    for E5M2 with E4M3 or with itself, where two of 16 bits or more are needed.
    """
    (x, x_unit), (y, y_unit) = integers(a), integers(b)
    width = 53 - (run * int(np.abs(y).max())).bit_length()
    magnitude, sign = np.abs(x), np.sign(x)
    parts = []
    for low in range(0, int(magnitude.max()).bit_length(), width):
        some = magnitude >> low & ((1 << width) - 1)
        parts.append(np.ldexp((sign * some).astype(np.float64), low + x_unit))
    return parts, np.ldexp(y.astype(np.float64), y_unit)


def sums_of_products(a: Operand, b: Operand, *, magnitudes: bool = False) -> ExactSums:
    """The sums of the products of rows of `a` and rows of `b`, or of the products' magnitudes."""
    parts, other = _tables(a.format, b.format, a.run)
    if magnitudes:
        parts, other = [np.abs(part) for part in parts], np.abs(other)
    sums = ExactSums((len(a.codes), len(b.codes)))
    products = np.empty_like(sums.head)
    for index in range(a.scales.shape[1]):
        where = slice(index * a.run, (index + 1) * a.run)
        columns = other[b.codes[:, where]] * _SCALES[b.scales[:, index, np.newaxis]]
        codes, scales = a.codes[:, where], _SCALES[a.scales[:, index, np.newaxis]]
        for part in parts:
            sums.add(np.matmul(part[codes] * scales, columns.T, out=products))
    return sums


def integer_products(a: Operand, b: Operand, row: int, column: int) -> list[int]:
    """The products of a row of `a` and a row of `b`, without filling, times 2**(-2 * UNIT)."""
    rows = []
    for side, index in ((a, row), (b, column)):
        counts, unit = integers(side.format)
        shifts = np.repeat(side.scales[index].astype(np.int64) - E8M0.bias, side.run) + unit + UNIT
        pairs = zip(counts[side.codes[index]].tolist(), shifts.tolist(), strict=True)
        rows.append([count << shift for count, shift in pairs])
    return list(map(mul, *rows))[: a.length]


def special_values(a: Operand, b: Operand) -> tuple[Bool, NDArray[np.int64]]:
    """Where the dot products are NaN, and elsewhere the signs of those that are infinite.

    NaN are all of a row with a NaN element or scale, Inf times zero, and Inf of both signs.
    """
    nan = _nan_rows(a)[:, np.newaxis] | _nan_rows(b)
    infinite = np.zeros(nan.shape, np.int64)
    if not (_has_infinity(a) or _has_infinity(b)):
        return nan, infinite
    (x, x_infinite), (y, y_infinite) = _signs(a), _signs(b)
    # Each infinite product counts once for each infinite factor.
    net = x_infinite @ y.T + x @ y_infinite.T
    count = np.abs(x_infinite) @ np.abs(y).T + np.abs(x) @ np.abs(y_infinite).T
    zeros = np.abs(x_infinite) @ (y == 0).T + (x == 0) @ np.abs(y_infinite).T
    nan |= (zeros > 0) | (np.abs(net) < count)
    return nan, np.where(nan, 0, np.sign(net)).astype(np.int64)


def _nan_rows(side: Operand) -> Bool:
    found: Bool = (side.scales == _NAN_SCALE).any(axis=1)
    if side.format.nan_codes:
        found |= every_code(side.format).is_nan[side.codes].any(axis=1)
    return found


def _has_infinity(side: Operand) -> bool:
    code = side.format.inf_code
    return code is not None and bool(every_code(side.format).is_inf[side.codes].any())


def _signs(side: Operand) -> tuple[F64Array, F64Array]:
    """Signs of all elements, 0 of zeros and NaN, and of infinities alone."""
    parts = every_code(side.format)
    infinite = np.where(parts.is_inf, np.where(parts.negative, -1.0, 1.0), 0.0)
    return (np.sign(integers(side.format)[0]) + infinite)[side.codes], infinite[side.codes]
