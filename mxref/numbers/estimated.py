"""Codes of quotients by estimates of them in float32, exact wherever an estimate does not decide.

A number x over a divisor d has the quotient q = x / d. Its estimate is e = x r in float32, where r
is 1 / d, divided in float64 and rounded to float32.

Error: |e - q| <= 2**-21 |q|. With u = 2**-23, the largest relative error of float32 in any rounding
mode, r is off by u and 2**-52, and the product by u. For float64 numbers r and the product stay in
float64, and the product is then rounded to float32, which is off by less. All is below 2**-21.9.

Thresholds: codes change only at numbers of the format and at midpoints between two of them, which
have m + 1 fraction bits or, of subnormal numbers, fewer. If a threshold T lies between q and e, or
is one of both, then |e - T| <= |e - q| <= 2**-20 |e|, at most 16 units of the last place of e. So
an estimate within 64 units of *any* number with m + 1 fraction bits that is a threshold does not
decide. The others lie between the same two thresholds as their quotients do, and their top bits say
the code.

The ends of float32: d lies within `divisors_within`. Then r is a normal number. Where x is
subnormal, and a processor may flush it, or where e is, q is below all thresholds, as e is. An e
that overflowed is above all thresholds, as q is. Only zero itself may have another code than the
smallest numbers: their estimates must be made 2**-126 if `zero_is_apart`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, F64, U8, Bits, Bool, FloatLayout, Stochastic, split
from mxref.formats.catalog import CodeFormat
from mxref.numbers.element import encode_parts
from mxref.policy.groups import ElementPolicy
from mxref.support.scratch import scratch

#: Units of the last place beside a threshold within which an estimate does not decide.
BESIDE = 64
#: Exponents of formats that are far from the ends of float32.
_FAR = 96


def is_far(fmt: CodeFormat) -> bool:
    """Whether the numbers of a format are far from the ends of float32."""
    return fmt.emin - fmt.mantissa_bits >= -_FAR and fmt.emax <= _FAR


def divisors_within(
    fmt: CodeFormat, layout: FloatLayout, random_bits: int = 0
) -> tuple[float, float]:
    """The ends of divisors that are normal numbers, as their reciprocals are.

    Quotients of subnormal numbers, times 2**random_bits, are at most 1/4 of the smallest number.
    """
    wide = layout if layout == F64 else F32
    least = wide.emin + random_bits + 2 + fmt.mantissa_bits - fmt.emin
    return 2.0 ** max(wide.emin, least), 2.0**-wide.emin


@dataclass(frozen=True, slots=True)
class KeyTable:
    """Codes by the top bits of float32 numbers, which have m + 1 fraction bits.

    Args:
        codes: uint8, of what lies between two numbers with m + 1 fraction bits, by the lower one;
            of zero in place of what lies below 2**-126.
        lower: uint8, of the lower one itself.
        decides: whether the lower one is a threshold.
        drop: low bits of a number that its key leaves out.
        zero_is_apart: whether the smallest numbers have other codes than zero.
    """

    codes: U8
    lower: U8
    decides: Bool
    drop: int
    zero_is_apart: bool

    def write(self, bits: Bits, target: U8) -> tuple[NDArray[np.intp], Bits]:
        """Write the codes of estimates (n,).

        Returns:
            The places of those that do not decide, and the keys of the thresholds beside them.
        """
        key, index = scratch("key", bits.size, np.uint32), scratch("index", bits.size, np.intp)
        np.right_shift(bits, np.uint32(self.drop), out=key)
        np.copyto(index, key, casting="same_kind")
        np.take(self.codes, index, out=target, mode="wrap")
        # Where low bits are within 64 units of those of a number with m + 1 fraction bits:
        low, beside = scratch("low", bits.size, np.uint32), scratch("beside", bits.size, np.bool_)
        np.add(bits, np.uint32(BESIDE), out=low)
        np.bitwise_and(low, np.uint32((1 << self.drop) - 1), out=low)
        np.less(low, np.uint32(2 * BESIDE), out=beside)
        places = np.flatnonzero(beside)
        keys = bits.take(places) + np.uint32(BESIDE) >> np.uint32(self.drop)
        decides = self.decides.take(keys)
        return places[decides], keys[decides]

    def decided(self, keys: Bits, x: NDArray[Any], divisors: NDArray[np.float64] | float) -> U8:
        """The codes of x / d, whose estimates lie beside a threshold T: x against T d.

        T has at most 9 bits, a scale or the largest element 8, a tensor's scale 24. So float64
        holds T d, which is a normal number, as x then is.
        """
        thresholds = keys << np.uint32(self.drop) & np.uint32(F32.sign_bit - 1)
        products = thresholds.view(np.float32).astype(np.float64) * divisors
        magnitude = np.abs(x)
        inexact = self.codes.take(keys - (magnitude < products))
        codes: U8 = np.where(magnitude == products, self.lower.take(keys), inexact)
        return codes


@functools.lru_cache(maxsize=64)
def key_table(fmt: CodeFormat, policy: ElementPolicy) -> KeyTable:
    """The table of a format; under a stochastic rounding only `zero_is_apart` is read."""
    drop = F32.mantissa_bits - fmt.mantissa_bits - 1
    one = Stochastic("a", np.zeros(1, np.int64), 1) if policy.rounding.stochastic else None
    count = F32.inf_bits >> drop  # of keys of finite magnitudes
    first = F32.emin + F32.bias << fmt.mantissa_bits + 1  # the key of 2**-126
    lower = np.arange(count, dtype=np.uint32) << np.uint32(drop)
    codes, exact, decides, apart = [], [], [], False
    for sign in (0, F32.sign_bit):
        at, inside = (
            encode_parts(split(lower + np.uint32(more | sign), F32), fmt, policy, one)
            for more in (0, 1 << drop - 1)
        )
        apart |= bool(at[0] != inside[first])
        inside[:first] = at[0]
        change = (at[1:] != inside[1:]) | (at[1:] != inside[:-1])
        change[:first] = False  # up to 2**-126
        rest = (1 << F32.width - 1 - drop) - count  # of infinity, which is an overflow here
        codes.append(np.pad(inside, (0, rest), "edge"))
        exact.append(np.pad(at, (0, rest)))
        decides.append(np.pad(change, (1, rest)))
    both = np.concatenate
    return KeyTable(both(codes), both(exact), both(decides), drop, apart)
