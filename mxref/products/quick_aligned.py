"""Steps whose terms are aligned, with integers of 32 bits: `mxref.products.quick_steps` says when.

Source: SPEC_NOTES N47; MMA-Sim, arXiv 2511.10909.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array
from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.policy.choices import Rounding
from mxref.products.adders import Adder
from mxref.products.spans import FLOOR, TOGETHER, Add, Spans, floor_of, wide
from mxref.products.steps import NONE, Factors, power

__all__ = ["aligned", "aligned_later"]

_SHORT, _SHORT_NONE = 21, -64  # exponents whose sums have 8 bits, and that of a zero


class _Terms:
    """Products as integers, in units that may differ from output to output."""

    def __init__(
        self, a: Factors, b: Factors, shape: tuple[int, ...], adder: Adder, spans: Spans
    ) -> None:
        """Numbers in float32, which holds products, and exponents in few bits."""
        self.bits = adder.fraction_bits or 0
        self.floor = floor_of(adder)
        self.x, self.y = (side.values.astype(np.float32) for side in (a, b))
        self.exponents = [side.exponents for side in (a, b)]
        if _are_short(self.exponents) and spans.units.min() >= _SHORT_NONE + _SHORT - self.bits:
            self.exponents = [
                np.where(each == NONE, _SHORT_NONE, each).astype(np.int8) for each in self.exponents
            ]
        many = TOGETHER, *shape
        self._each = np.empty(many, self.exponents[0].dtype)
        self._terms, self._whole = np.empty(many, np.float32), np.empty(many, np.int32)
        self._few = min(TOGETHER, 1 << 28 - self.bits)  # whose integers have 32 bits

    def largest(self, products: slice) -> NDArray[np.int32]:
        """The largest exponents, or the floor."""
        a, b = (side[products] for side in self.exponents)
        found = np.full(self._each.shape[1:], self.floor, np.int32)
        for k in range(0, len(a), TOGETHER):
            x, y = a[k : k + TOGETHER, :, None], b[k : k + TOGETHER, None]
            np.maximum(found, np.add(x, y, out=self._each[: len(x)]).max(axis=0), out=found)
        return found

    def added(self, products: slice, one_over: NDArray[np.float32], sums: F64Array) -> None:
        """Add products times a power of two, each cut toward zero, to sums."""
        a, b = self.x[products], self.y[products]
        for k in range(0, len(a), self._few):
            x, y = a[k : k + self._few, :, None], b[k : k + self._few, None]
            terms, whole = self._terms[: len(x)], self._whole[: len(x)]
            np.multiply(x, y, out=terms)
            np.multiply(terms, one_over, out=terms)
            np.copyto(whole, terms, casting="unsafe")
            np.add(sums, np.add.reduce(whole, axis=0, dtype=np.int32), out=sums)


def _are_short(exponents: list[NDArray[np.int16]]) -> bool:
    """Whether sums of two exponents have 8 bits."""
    sizes = (np.abs(np.where(each == NONE, 0, each)).max(initial=0) for each in exponents)
    return bool(max(sizes) <= _SHORT)


def _power(exponents: NDArray[np.int32]) -> NDArray[np.float32]:
    """2**exponent in float32, from -126 to 127."""
    bits = exponents + np.int32(127)
    np.left_shift(bits, 23, out=bits)
    return bits.view(np.float32)


def _exponents(single: NDArray[np.float32]) -> NDArray[np.int32]:
    """The exponents of float32 numbers, of zeros -127."""
    bits = np.right_shift(single.view(np.int32), 23)
    np.bitwise_and(bits, 0xFF, out=bits)
    np.subtract(bits, 127, out=bits)
    return bits


def aligned(a: Factors, b: Factors, total: F64Array, adder: Adder, spans: Spans) -> Add:
    """As in `mxref.products.steps`, with integers of 32 bits."""
    terms, bits = _Terms(a, b, total.shape, adder, spans), np.int32(adder.fraction_bits or 0)
    layout, nearest = LAYOUTS[adder.output], adder.rounding is Rounding.TIES_TO_EVEN
    kept, least = np.int64(-1 << 52 - adder.output_bits), 1 - layout.bias
    single, term = np.empty((2, *total.shape), np.float32)
    sums, *turns = np.empty((3, *total.shape))

    def add(first: int, total: F64Array) -> F64Array:
        products = slice(first, first + adder.step)
        np.copyto(single, total, casting="same_kind")
        own, largest = _exponents(single), terms.largest(products)
        if layout != F32:
            own = np.where(single == 0, np.int32(FLOOR), np.maximum(own, least))
        np.maximum(largest, own, out=largest)
        one_over = _power(bits - largest)
        np.multiply(single, one_over, out=term)
        np.trunc(term, out=sums)
        terms.added(products, one_over, sums)
        np.multiply(sums, power(largest - bits), out=sums)
        if nearest and layout != F32:
            return _rounded(sums, layout, turns)
        if not nearest:
            whole = sums.view(np.int64)
            np.bitwise_and(whole, kept, out=whole)
            return wide(sums, turns)  # float32 holds them
        np.copyto(single, sums, casting="same_kind")
        return wide(single, turns)

    return add


def _rounded(sums: F64Array, layout: FloatLayout, turns: list[F64Array]) -> F64Array:
    """Sums rounded to nearest even by a number so large that float64 rounds there, too."""
    turns.reverse()
    bits = np.bitwise_and(sums.view(np.int64), np.int64(0x7FF << 52), out=turns[0].view(np.int64))
    np.maximum(bits, np.int64(1023 + 1 - layout.bias << 52), out=bits)
    np.add(bits, np.int64((52 - layout.mantissa_bits << 52) + (1 << 51)), out=bits)
    np.add(sums, turns[0], out=sums)
    return np.subtract(sums, turns[0], out=turns[0])


def aligned_later(a: Factors, b: Factors, total: F64Array, adder: Adder, spans: Spans) -> Add:
    """As in `mxref.products.steps`, with integers of 32 bits."""
    terms, lanes = _Terms(a, b, total.shape, adder, spans), 2 if adder.halves else 1
    bits, later = np.int32(adder.fraction_bits or 0), adder.later_bits or 0
    # In units of 2**(e - bits) sums of products are integers; below so many their bits are kept.
    room, sizes = float(1 << later + 2), float(adder.step << int(bits) + 2)
    rest = np.int64((1 << 52 - later) - 1)
    before, single = np.empty((2, *total.shape), np.float32)
    turns = list(np.empty((2, *total.shape)))

    def add(first: int, total: F64Array) -> F64Array:
        parts = [slice(first + lane, first + adder.step, lanes) for lane in range(lanes)]
        exponents = [terms.largest(part) for part in parts]
        e = exponents[0] if lanes == 1 else np.maximum(*exponents)
        one_over = _power(bits - e)
        np.copyto(single, total, casting="same_kind")
        np.multiply(single, one_over, out=before)
        if adder.halves:
            before[np.abs(before) < 0.5] = 0
        np.floor(before, out=before)
        most = max(float(before.max()), -float(before.min()))
        found = np.zeros(total.shape)
        for part, exponent in zip(parts, exponents, strict=True):
            if lanes == 1:
                terms.added(part, one_over, found)
                break
            own = np.zeros(total.shape)
            terms.added(part, _power(bits - exponent), own)
            np.multiply(own, _power(exponent - e), out=own)
            np.add(found, np.floor(own, out=own), out=found)
        if most >= room:
            far = np.abs(before) >= room
            unit = _power(_exponents(before[far]) - np.int32(later + 1)).astype(np.float64)
            found[far] = np.floor(found[far] / unit) * unit
        np.add(found, before, out=found)
        if most + sizes >= room / 2:
            _cut_down(found, rest)
        np.copyto(single, found, casting="same_kind")
        np.multiply(single, _power(e - bits), out=single)
        return wide(single, turns)

    return add


def _cut_down(numbers: F64Array, rest: np.int64) -> None:
    """Toward minus infinity, without the bits of a significand that `rest` has."""
    whole = numbers.view(np.int64)
    sign = np.right_shift(whole, 63)
    np.bitwise_and(sign, rest, out=sign)
    np.add(whole, sign, out=whole)
    np.bitwise_and(whole, ~rest, out=whole)
