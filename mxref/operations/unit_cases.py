"""Designed and drawn products for matrix units: the least that shows what an adder does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import CODE_FORMATS, ElementFormat
from mxref.operands.case_input import spelled
from mxref.operands.draws import Draws, Ints
from mxref.products.adders import Adder, adder_of

__all__ = ["designed_cases", "patterns_near_one"]

Case = tuple[str, tuple[int, ...]]
_SIGN = 1 << 31
#: Places after which steps, halves of steps or promotions end.
_ENDS = (2, 4, 8, 16, 32, 64, 128)


class _Element:
    """Patterns of powers of two of a type."""

    def __init__(self, name: str) -> None:
        fmt = CODE_FORMATS.get(name)
        layout = LAYOUTS.get(name)
        if isinstance(fmt, ElementFormat):
            self.mantissa, self.bias, self.width = fmt.mantissa_bits, fmt.bias, fmt.bits
            self.specials = {"nan": fmt.nan_codes[-1]} if fmt.nan_codes else {}
            if fmt.inf_code is not None:
                self.specials["inf"] = fmt.inf_code
            self.largest = fmt.max_code
        elif layout is not None:
            self.mantissa, self.bias, self.width = layout.mantissa_bits, layout.bias, layout.width
            self.specials = {"nan": layout.nan_bits, "inf": layout.inf_bits}
            self.largest = layout.inf_bits - 1
        self.sign = 1 << self.width - 1
        self.has_minus_zero = not name.endswith("fnuz")
        #: Exponents of the least number and of the largest power of two.
        self.least = 1 - self.bias - self.mantissa
        self.most = (self.largest >> self.mantissa) - self.bias

    def power(self, exponent: int) -> int:
        """The pattern of 2**exponent."""
        normal = 1 - self.bias
        if exponent >= normal:
            return exponent + self.bias << self.mantissa
        return 1 << exponent - normal + self.mantissa


@cache
def _element(name: str) -> _Element:
    return _Element(name)


def patterns_near_one(draws: Draws, name: str, shape: tuple[int, ...], reach: int) -> Ints:
    """Finite patterns whose exponents are at most `reach` from 0; zeros between."""
    one = _element(name)
    most = min(one.most - 1, reach)
    exponents = np.maximum(one.bias + draws.between(-reach, most, shape), 0)
    found = exponents << one.mantissa | draws.below(shape, 1 << one.mantissa)
    found = np.where(draws.one_in(shape, 5), 0, found)
    signs = draws.below(shape, 2) if one.has_minus_zero else draws.below(shape, 2) * (found > 0)
    return found | signs * one.sign


def designed_cases(adder: str | Adder, a: str, b: str) -> Iterator[Case]:
    """The designed cases of an adder and the elements of both sides, each of one output."""
    yield from _Cases(adder_of(adder), _element(a), _element(b)).all()


class _Cases:
    """Cases of one adder: sums of powers of two at some places."""

    def __init__(self, adder: Adder, a: _Element, b: _Element) -> None:
        self.adder, self.a, self.b = adder, a, b
        self.bits = adder.fraction_bits or 24
        least, most = max(a.least + b.least, -100), min(a.most + b.most, 100)
        #: A large product, below which the last places are products, too.
        self.top = 0 if least <= -self.bits - 4 else most // 2 * 2
        self.least = least

    def all(self) -> Iterator[Case]:
        """All cases."""
        yield from self._last_places()
        yield from self._ends_of_steps()
        yield from self._many_small()
        yield from self._fields()
        yield from self._zeros()
        yield from self._ranges()
        yield from self._specials()

    def case(self, k: int, terms: dict[int, int | tuple[int, int]], c: int = 0) -> tuple[int, ...]:
        """One output: at some places products, exponents, or patterns of both elements."""
        left, right = [0] * k, [0] * k
        for place, term in terms.items():
            pair = term if isinstance(term, tuple) else self.product(term)
            left[place], right[place] = pair
        return (1, k, 1, c, *left, *right)

    def product(self, exponent: int, *, negative: bool = False) -> tuple[int, int]:
        """Patterns of two elements whose product is a power of two."""
        low = max(self.a.least, exponent - self.b.most)
        first = min(max(exponent // 2, low), self.a.most)
        second = exponent - first
        if second < self.b.least:
            first, second = exponent - self.b.least, self.b.least
        sign = self.a.sign if negative else 0
        return self.a.power(first) | sign, self.b.power(second)

    def _last_places(self) -> Iterator[Case]:
        """A large term, and a small one around the last place: beside, in the next step, as C."""
        top, step = self.top, self.adder.step
        large = top + 127 << 23
        tiny = self.a.power(-9), self.b.power(-6)
        yield "chain", self.case(2 * step, {0: self.product(0), step: tiny})
        for below in (self.bits + 2, self.bits + 1, self.bits, self.bits - 1, 12, 13, 14, 15, 23):
            small = top - below
            if small < self.least:
                continue
            for sign in (False, True):
                name = f"{below}_{'minus' if sign else 'plus'}"
                one = self.product(small, negative=sign)
                yield f"beside_{name}", self.case(2, {0: top, 1: one})
                yield f"next_{name}", self.case(2 * step, {0: top, step: one})
                yield f"to_c_{name}", self.case(1, {0: one}, large)
                yield f"from_c_{name}", self.case(1, {0: one}, large | _SIGN)
                c = small + 127 << 23 | (_SIGN if sign else 0)
                yield f"c_below_{name}", self.case(1, {0: top}, c)
        # More than one bit below, so that what is rounded is no tie.
        for place in (1, step):
            terms = {0: self.product(top), place: self._three(top - self.bits - 1)}
            yield f"three_{place}", self.case(2 * step, dict(terms))

    def _three(self, exponent: int) -> tuple[int, int]:
        """3 · 2**exponent."""
        exponent = max(exponent, self.least + 4)
        x, y = self.product(exponent + 1)
        return x | 1 << self.a.mantissa - 1 if x >> self.a.mantissa else x * 3 // 2, y

    def _ends_of_steps(self) -> Iterator[Case]:
        """1, -1 and a small number behind it, which counts if it is in another step."""
        small = self.top - self.bits - 1
        for end in _ENDS:
            terms = {
                0: self.product(self.top),
                end - 1: self.product(self.top, negative=True),
                end: self.product(small),
            }
            if end > 1:
                yield f"ends_{end}", self.case(end + 1, dict(terms))
            lasting = {0: self.product(self.top), end: self.product(small)}
            yield f"behind_{end}", self.case(end + 1, dict(lasting))
            lasting[end] = self.product(small, negative=True)
            yield f"behind_minus_{end}", self.case(end + 1, dict(lasting))

    def _many_small(self) -> Iterator[Case]:
        """As many small numbers as a step has: all are lost beside a large one, or their sum."""
        step, small = self.adder.step, self.top - self.bits - 1
        for c, name in ((self.top + 127 << 23, "c"), (self.top + 127 << 23 | _SIGN, "minus_c")):
            for count in (step, 4 * step):
                yield (
                    f"many_{name}_{count}",
                    self.case(count, dict.fromkeys(range(count), small), c),
                )
        for count in (64, 160):
            terms: dict[int, int | tuple[int, int]] = dict.fromkeys(range(1, count), small)
            yield f"many_{count}", self.case(count, {0: self.top, **terms})

    def _fields(self) -> Iterator[Case]:
        """The least number of a type counts with the exponent of its field."""
        for side in ("a", "b"):
            one, other = (self.a, self.b) if side == "a" else (self.b, self.a)
            large = other.power(other.most)
            pair = (1, large) if side == "a" else (large, 1)
            exponent = one.least + other.most
            for below in range(self.bits - one.mantissa - 1, self.bits + 2):
                if below > self.bits - 4:
                    c = exponent - below + 127 << 23
                    yield f"field_c_{side}_{below}", self.case(2, {0: pair}, c)
                if exponent - below >= self.least:
                    terms = {0: pair, 1: self.product(exponent - below)}
                    yield f"field_{side}_{below}", self.case(2, dict(terms))

    def _zeros(self) -> Iterator[Case]:
        """Small sums beside zeros, which have an exponent too; zeros with both signs."""
        minus = (self.a.sign, self.b.power(0)) if self.a.has_minus_zero else (0, 0)
        for c in (0, _SIGN, 1, _SIGN | 1, 0x007FFFFF, 0x00800000, 0x80800001):
            yield f"zeros_{c:08x}", self.case(2, {}, c)
            yield f"minus_zeros_{c:08x}", self.case(2, dict.fromkeys((0, 1), minus), c)
        one = {0: self.product(0), 1: self.product(0, negative=True)}
        yield "cancelled", self.case(2, dict(one))
        yield "cancelled_c", self.case(1, {0: self.product(0)}, 0xBF800000)
        if self.a.least + self.b.least < -170:
            for zero in range(-134, -125):
                for last in (zero - self.bits, zero - self.bits - 1):
                    names = f"{spelled(zero)}_{spelled(last)}"
                    terms = {0: self.product(-149), 1: self.product(last, negative=True)}
                    yield f"zero_exponent_{names}", self.case(2, dict(terms))
                    yield f"zero_c_{names}", self.case(1, {0: terms[1]}, 1)

    def _ranges(self) -> Iterator[Case]:
        """The ends of the types, and sums beyond float32 on the way."""
        ends = (self.a.largest, self.b.largest)
        minus = (self.a.largest | self.a.sign, self.b.largest)
        least = (1, 1)
        for c in (0, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F000000, 0x7F7FE000, 0x7F7FF800):
            yield f"largest_{c:08x}", self.case(2, {0: ends, 1: ends}, c)
            yield f"least_{c:08x}", self.case(2, {0: least, 1: least}, c)
        step = self.adder.step
        yield (
            "back",
            self.case(step + 2, {0: ends, 1: ends, step: minus, step + 1: minus}, 0x7F7FFFFF),
        )

    def _specials(self) -> Iterator[Case]:
        """NaN and infinities, as elements and as C, with numbers, zeros and each other."""
        for name, c in (("nan", 0x7FC00000), ("inf", 0x7F800000), ("minus_inf", 0xFF800000)):
            yield f"c_{name}", self.case(2, {0: 0}, c)
        for side in ("a", "b"):
            one, other = (self.a, self.b) if side == "a" else (self.b, self.a)
            for name, code in one.specials.items():
                for partner in (0, other.power(0), other.power(0) | other.sign):
                    pair = (code, partner) if side == "a" else (partner, code)
                    label = f"{name}_{side}_{partner:x}"
                    yield label, self.case(2, {0: 0, 1: pair})
                    yield f"{label}_c", self.case(2, {0: 0, 1: pair}, 0x7F800000)
