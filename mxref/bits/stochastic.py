"""Stochastic rounding to the codes of a format, a chunk at a time, in the width of the floats.

With k = max(floor(log2 x), emin) the unit in the last place of x is u = 2**(k - m), and nu is the
part of x / u below 1 (see `Stochastic`). The float t = x * (2**N / u) is exact: a product with a
power of two that is below 2**(m + 1 + N), and that only underflows where it is far below 1. So

- variant A: trunc(t) = 2**N * floor(x / u) + floor(nu * 2**N), and adding R and shifting by N gives
  floor(x / u), plus 1 where floor(nu * 2**N) + R reaches 2**N;
- variant B: the same with N + 1 bits and 2 R + 1;
- variant C: rint(t), to even, is 2**N * floor(x / u) plus the rounded part, since 2**N is even.

floor(x / u) plus (k - emin) * 2**m is the magnitude code (`round_to_code`), to which a carry moves
by itself. The code of a number that is one of the format is what the one rounding gives it: that of
`encode_parts`, in a table by sign and magnitude code, with entries for a number that became zero,
for infinity and for NaN.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Bits, Bool, FloatLayout, Parts, Stochastic
from mxref.support.scratch import scratch

__all__ = ["StochasticTable", "fits"]


def fits(
    layout: FloatLayout, mantissa_bits: int, exponents: tuple[int, int], draw: Stochastic
) -> bool:
    """Whether sums of random bits stay below the sign of integers as wide as the floats.

    The numbers from 2**emin on and the powers of two must be normal as well, and two binades of the
    floats must lie above the format.

    Args:
        layout: of the floats.
        mantissa_bits: m of the format.
        exponents: emin and emax of the format.
        draw: the random bits' variant and width.

    >>> from mxref.bits.floats import F32
    >>> [fits(F32, 3, (-6, 8), Stochastic("a", np.zeros(1, int), width)) for width in (25, 26)]
    [True, False]
    """
    emin, emax = exponents
    width = draw.width + (draw.variant == "b") + mantissa_bits
    fields = emin + layout.bias > NAN and width - emin <= layout.bias
    fields &= emax + 2 <= layout.bias
    return width + 2 < layout.width - 1 and fields


#: In a table, before the codes of numbers: of a number that became zero, of infinity and of NaN.
SMALL, INFINITY, NAN = range(3)
#: How near to a carry a sum is said to be beside one.
_NEAR = 8


@dataclass(frozen=True, slots=True)
class StochasticTable:
    """Codes by sign, exponent field and magnitude code, for one format and policy.

    Args:
        layout: of the numbers, float32 or float64.
        mantissa_bits: m of the format.
        emin: of the format.
        codes: uint8 (2, 2**(exponent bits of the floats + m)): for both signs those of numbers by
            magnitude code, from `first` on, and what is beyond the format behind them.
        largest: patterns of the largest number of both signs, beyond which no random bit matters;
            None if numbers are rounded before they are clamped.
    """

    layout: FloatLayout
    mantissa_bits: int
    emin: int
    codes: U8
    largest: tuple[int, int] | None

    @property
    def first(self) -> int:
        """The index of magnitude code 0: the exponent field of 2**emin, times 2**m."""
        return (self.emin + self.layout.bias) << self.mantissa_bits

    def write(
        self,
        bits: Bits,
        draw: Stochastic,
        random: NDArray[Any],
        target: U8,
        beside: Bool | None = None,
    ) -> None:
        """Write the codes of a chunk (n,) of numbers.

        And to `beside`, if it is given, whether the sum with the random bits is within 8 of a
        multiple of 2**N.
        """
        layout, size = self.layout, bits.size
        m, word = layout.mantissa_bits, layout.uint.type
        extra = int(draw.variant == "b")
        width = draw.width + extra
        magnitude, field, factor, spare = (
            scratch(name, size, layout.uint) for name in ("magnitude", "field", "factor", "other")
        )
        code = spare.view(f"i{layout.width // 8}")
        np.bitwise_and(bits, word(layout.sign_bit - 1), out=magnitude)
        np.bitwise_and(magnitude, word(layout.inf_bits), out=field)
        np.maximum(field, _repeated((self.emin + layout.bias) << m, size, layout.uint), out=field)
        np.subtract(word((2 * layout.bias + width + self.mantissa_bits) << m), field, out=factor)
        product = factor.view(layout.dtype)
        with np.errstate(all="ignore"):  # of infinity and NaN, which are seen to below
            np.multiply(magnitude.view(layout.dtype), product, out=product)
            if draw.variant == "c":
                np.rint(product, out=product)
            np.copyto(code, product, casting="unsafe")
        if random.dtype.itemsize != code.dtype.itemsize:
            narrow = scratch("random", size, code.dtype)
            np.copyto(narrow, random, casting="unsafe")
            random = narrow
        random = random.view(code.dtype)
        np.add(code, random, out=code)
        if extra:
            np.add(code, random, out=code)
            np.add(code, code.dtype.type(1), out=code)
        if beside is not None:
            low = factor.view(code.dtype)
            np.add(code, code.dtype.type(_NEAR), out=low)
            np.bitwise_and(low, code.dtype.type((1 << width) - 1), out=low)
            np.less(low, code.dtype.type(2 * _NEAR), out=beside)
        np.right_shift(code, code.dtype.type(width), out=code)
        # The sign comes to stand above the exponent field, and so above every magnitude code.
        signs = np.bitwise_and(bits, word(layout.sign_bit), out=factor)
        np.bitwise_or(field, signs, out=field)
        np.right_shift(field, word(m - self.mantissa_bits), out=field)
        np.add(code, field.view(code.dtype), out=code)
        self._set_apart(bits, magnitude, code)
        index = scratch("index", size, np.intp)
        np.copyto(index, code, casting="same_kind")
        np.take(self.codes.reshape(-1), index, out=target, mode="wrap")

    def _set_apart(self, bits: Bits, magnitude: Bits, code: NDArray[Any]) -> None:
        """The indices of numbers that became zero, of those beyond the format, infinity and NaN."""
        layout, size = self.layout, self.codes.shape[1]
        top = layout.inf_bits - (1 << layout.mantissa_bits)  # whose codes might be carried too far
        kinds: list[tuple[NDArray[np.bool_], int]] = []
        if any(some[self.first] != some[SMALL] for some in self.codes):
            is_zero = code & code.dtype.type(size - 1) == self.first
            kinds.append((is_zero & (magnitude != 0), SMALL))
        if self.largest is not None:
            signs = bits >> layout.uint.type(layout.width - 1)
            kinds.append((magnitude > np.array(self.largest, layout.uint)[signs], size - 1))
        if int(magnitude.max(initial=0)) >= top:
            infinity = layout.uint.type(layout.inf_bits)
            kinds += [(magnitude >= layout.uint.type(top), size - 1)]
            kinds += [(magnitude == infinity, INFINITY), (magnitude > infinity, NAN)]
        for where, index in kinds:
            signs = bits[where] >> layout.uint.type(layout.width - 1)
            code[where] = index + size * signs.astype(code.dtype)


@functools.lru_cache(maxsize=8)
def _repeated(number: int, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of one number: `maximum` takes twice as long with a single number."""
    return np.full(size, number, dtype)


def magnitudes(count: int, mantissa_bits: int, emin: int, *, negative: bool) -> Parts:
    """The numbers of the magnitude codes from 0 on, exactly.

    >>> parts = magnitudes(4, 1, 0, negative=False)  # of E2M1: 0, 0.5, 1, 1.5
    >>> (parts.significand * 2.0**parts.exponent).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """
    code = np.arange(count)
    binade, fraction = np.divmod(code, 1 << mantissa_bits)
    significand = fraction + ((binade > 0).astype(np.int64) << mantissa_bits)
    exponent = emin + np.maximum(binade, 1) - 1 - mantissa_bits
    return Parts.finite(np.full(count, negative), significand, exponent)
