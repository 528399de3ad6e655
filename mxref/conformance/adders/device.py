"""A matrix unit that is asked for dot products of chosen products, and what it has answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, as_float64
from mxref.bits.floats import F32, F64, LAYOUTS, Bool, FloatLayout, compose, patterns, split
from mxref.formats.catalog import CODE_FORMATS, ElementFormat
from mxref.numbers.element import encode
from mxref.operands.draws import Draws
from mxref.operations.unit_cases import patterns_near_one

__all__ = ["RANDOM", "Call", "Device", "DeviceError", "Range", "Unit"]

#: D = A·B + C: of (m, k), (k, n) and (m, n).
Unit = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], Any]

#: Rows and columns of a call; of the products that are chosen, the diagonal is read.
_TILE = 32
#: Random products of a call, all of which are read.
RANDOM = _TILE * _TILE
#: Of random products: how far exponents are from 0, by rows.
_REACHES = (2, 5, 9, 14)
_TF32_BITS = 11


class DeviceError(ValueError):
    """An answer that is no matrix of the output's type."""


class Range(NamedTuple):
    """Of a format, the exponents of powers of two, and the bits of a significand."""

    least: int
    normal: int
    most: int
    bits: int

    @classmethod
    def of(cls, name: str) -> Range:
        """That of a format of adders.

        >>> Range.of("e4m3")
        Range(least=-9, normal=-6, most=8, bits=4)
        """
        fmt = CODE_FORMATS.get(name)
        if isinstance(fmt, ElementFormat):
            return cls(fmt.emin - fmt.mantissa_bits, fmt.emin, fmt.emax, fmt.mantissa_bits + 1)
        layout = F32 if name == "tf32" else LAYOUTS[name]
        bits = _TF32_BITS if name == "tf32" else layout.mantissa_bits + 1
        return cls(layout.emin - bits + 1, layout.emin, layout.bias, bits)


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked at once, and the patterns of the answers that count."""

    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    read: NDArray[Any]
    diagonal: bool

    def same(self, got: NDArray[Any]) -> bool:
        """Whether a result has these patterns; NaN counts as one."""
        got = np.diagonal(got) if self.diagonal else got
        found: Bool = (got.view(self.read.dtype) == self.read) | (
            np.isnan(got) & np.isnan(self.read.view(got.dtype))
        )
        return bool(found.all())


class Device:
    """Ask a unit, and keep what it has answered."""

    def __init__(self, unit: Unit, formats: tuple[str, str], k: int, layout: FloatLayout) -> None:
        """Read nothing yet."""
        self.unit, self.formats, self.k, self.layout = unit, formats, k, layout
        self.calls: list[Call] = []
        self.asked = 0
        self.ranges = [Range.of(name) for name in formats]

    @property
    def least(self) -> int:
        """The exponent of the smallest product that is a power of two."""
        return sum(one.least for one in self.ranges)

    @property
    def most(self) -> int:
        """The exponent of the largest one."""
        return sum(one.most for one in self.ranges)

    def ask(self, products: F64Array, c: F64Array, *, lopsided: bool = False) -> F64Array:
        """The answers to rows of products, of (P, K), each with its C.

        Args:
            products: powers of two of the range, or numbers whose significand a format holds.
            c: (P,) numbers of the output's type.
            lopsided: the factors of a are the least ones.

        Raises:
            DeviceError: an answer of another type or shape.
        """
        found = [np.empty(0)]
        for first in range(0, len(products), _TILE):
            some = slice(first, first + _TILE)
            x, y = self._factors(products[some], lopsided=lopsided)
            count = len(x)
            left, right = (
                _array(side, name) for side, name in zip((x, y.T), self.formats, strict=True)
            )
            before = np.repeat(c[some, None], count, axis=1)
            read = np.diagonal(self._call(left, right, before, diagonal=True))
            self.asked += count
            found.append(as_float64(patterns(read, self.layout), self.layout).view(np.float64))
        return np.concatenate(found)

    def draw(self, number: int) -> Call:
        """Ask for 1,024 random products, all of which are read."""
        draws = Draws(f"products of a matrix unit {number}")
        shapes = (_TILE, self.k), (_TILE, self.k), (_TILE, _TILE)
        names = *self.formats, self.layout.name
        parts = []
        for name, (rows, columns) in zip(names, shapes, strict=True):
            each = [
                patterns_near_one(draws, "f32" if name == "tf32" else name, (rows // 4, columns), r)
                for r in _REACHES
            ]
            parts.append(np.concatenate(each))
        a, b, c = (_typed(part, name) for part, name in zip(parts, names, strict=True))
        c = as_float64(patterns(c, self.layout), self.layout).view(np.float64)
        self._call(a, np.ascontiguousarray(b.T), c, diagonal=False)
        self.asked += RANDOM
        return self.calls[-1]

    def _call(
        self, a: NDArray[Any], b: NDArray[Any], c: F64Array, *, diagonal: bool
    ) -> NDArray[Any]:
        before = compose(split(c.view(np.uint64), F64), self.layout).view(self.layout.dtype)
        with np.errstate(all="ignore"):
            got = np.asarray(self.unit(a.copy(), b.copy(), before.copy()))
        if got.shape != c.shape or got.dtype != self.layout.dtype:
            raise DeviceError(
                f"the result must be {self.layout.dtype} of shape {c.shape}, got {got.dtype} of "
                f"shape {got.shape}"
            )
        read = np.array(np.diagonal(got) if diagonal else got).view(self.layout.uint)
        self.calls.append(Call(a, b, before, read, diagonal))
        return got

    def _factors(self, products: F64Array, *, lopsided: bool) -> tuple[F64Array, F64Array]:
        """Two arrays of numbers whose products these are; the first have the significands."""
        left, right = self.ranges
        significand, exponent = np.frexp(products)
        exponent = exponent - 1
        low = np.where(exponent >= left.normal + right.normal, left.normal, left.least)
        x = np.clip(exponent >> 1, low, left.most)
        if lopsided:
            x = np.full_like(exponent, left.least)
        y = np.clip(exponent - x, right.least, right.most)
        x = exponent - y
        some = products != 0
        first = np.where(some, np.ldexp(2 * significand, x), 0.0)
        return first, np.where(some, np.ldexp(1.0, y), 0.0)


def _array(numbers: F64Array, name: str) -> NDArray[Any]:
    """Numbers that a format holds, as an array of its type."""
    if name in CODE_FORMATS:
        return _typed(np.asarray(encode(numbers, CODE_FORMATS[name])), name)
    layout = F32 if name == "tf32" else LAYOUTS[name]
    bits = compose(split(np.ascontiguousarray(numbers).view(np.uint64), F64), layout)
    return bits.view(layout.dtype)


def _typed(words: NDArray[Any], name: str) -> NDArray[Any]:
    """Patterns as an array of the type of a format."""
    if name in CODE_FORMATS:
        return words.astype(np.uint8).view(np.dtype(CODE_FORMATS[name].dtype_name))
    layout = F32 if name == "tf32" else LAYOUTS[name]
    return words.astype(layout.uint).view(layout.dtype)
