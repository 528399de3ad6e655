"""Elements of blocks of bfloat16 under small-float scales: looked up by their patterns.

The divisor d of an element x is its block's scale, times the tensor's if there is one. Its code
follows from the quotient x / d alone, which stays as it is if x and d are multiplied by one power
of two. The divisors of scale codes with the same significand differ by powers of two, and there are
at most eight significands. So the codes under one divisor of each are those under all.

Let 2**D be the largest power of two up to d, and L = 2**(D + f) the floor of the block, where
2**(f + 1) is at most half of the smallest number of the element format. A magnitude up to L has a
quotient of at most 2**f, below all thresholds, and so the code of zero (formats and roundings in
which it has another are not taken). A larger one is a normal number if L is, and its pattern less
that of L counts the bfloat16 numbers from L on, whatever D is. The index of a code is this
difference, or 0, in 12 bits, with the significand in three bits and the sign above it. It reaches
to 2**32 times L. Quotients of that size are beyond all thresholds, so that larger differences may
be replaced by the largest. L is a normal number wherever d lies within `divisors_within`, as it
does in all blocks that estimates take.

The scale code of a block is looked up by the pattern of its amax. The codes in both tables come
from `Estimates`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import BF16, U8, Bool, FloatLayout, Stochastic
from mxref.bits.pairs import Table
from mxref.blocks.arithmetics import numbers
from mxref.blocks.estimates import Estimates, estimates
from mxref.blocks.keyed import maxima
from mxref.blocks.reading import spread
from mxref.blocks.two_level import TensorScale
from mxref.formats.catalog import BlockFormat
from mxref.policy.policy import Policy
from mxref.support.scratch import scratch

#: Elements of the smallest call that makes the tables. That takes as long as 2**18 elements without
#: them.
MANY = 1 << 19
_KEY_BITS, _SIGNIFICAND_BITS = 12, 3
_BINADES = 1 << _KEY_BITS - BF16.mantissa_bits
_FINITE = BF16.inf_bits  # the number of patterns of finite magnitudes
#: Flags of a scale word: the block has differences that are too large; it must be computed in
#: another way.
_LARGE, _LEFT = 1 << 8, 1 << 9
_MOST = np.array((1 << _KEY_BITS) - 1, np.uint16)
_SIGN, _MAGNITUDE = (np.array(bits, np.uint16) for bits in (BF16.sign_bit, BF16.sign_bit - 1))


@dataclass(frozen=True, slots=True, eq=False)
class PatternTables:
    """Tables for one format, policy and scale of the tensor.

    Args:
        words: scale codes by the pattern of amax, with flags.
        floors: the pattern of L by scale code.
        less: what is subtracted from patterns not below it, which adds the significand's bits.
        codes: by index.
    """

    words: NDArray[np.uint16]
    floors: Table
    less: Table
    codes: U8

    def quantized(
        self,
        lanes: NDArray[Any],
        layout: FloatLayout,
        draw: Stochastic | None = None,
        out: U8 | None = None,
    ) -> tuple[U8, U8, Bool]:
        """As that of `Estimates`, for bfloat16 and without random bits."""
        shape, size = lanes.shape, lanes.shape[1]
        keys = scratch("other", shape, np.uint16)
        np.bitwise_and(lanes, _MAGNITUDE, out=keys)
        words = self.words.take(maxima(keys), mode="clip")
        scales = words.astype(np.uint8)
        which = scales.astype(np.intp)
        np.maximum(keys, spread(self.floors, which, size), out=keys)
        if int(words.max()) >= _LARGE:
            np.minimum(keys, spread(self.floors, which, size) + _MOST, out=keys)
        np.subtract(keys, spread(self.less, which, size), out=keys)
        signs = scratch("signs", shape, np.uint16)
        np.bitwise_and(lanes, _SIGN, out=signs)
        np.bitwise_or(keys, signs, out=keys)
        index = scratch("index", shape, np.intp)
        np.copyto(index, keys)
        codes: U8 = scratch("codes", shape, np.uint8) if out is None else out
        self.codes.take(index, out=codes, mode="wrap")
        return scales, codes, words >= _LEFT


@functools.lru_cache(maxsize=16)
def pattern_tables(
    fmt: BlockFormat, policy: Policy, tensor: TensorScale | None = None
) -> PatternTables | None:
    """The tables for blocks of bfloat16; None where they would not give all codes.

    Args:
        fmt: a block format.
        policy: a policy.
        tensor: the tensor's scale, if there is one.
    """
    by = estimates(fmt, policy, BF16, tensor)
    below = fmt.element.emin - fmt.element.mantissa_bits - 2  # f
    reaches = below + _BINADES > fmt.element.emax + 2
    few = fmt.scale.mantissa_bits <= _SIGNIFICAND_BITS and reaches
    if by is None or fmt.scale.is_power or by.keys.zero_is_apart or not few:
        return None
    scales, divisors = numbers(fmt.scale)[1 : fmt.scale.max_code + 1], by.divisors[1:]
    # Of scale code 0 all elements are zeros: no magnitude is above its floor.
    field = np.full(1 << 8, _FINITE >> BF16.mantissa_bits)
    significand, usable = np.zeros(1 << 8, np.int64), np.arange(1 << 8) == 0
    some = slice(1, scales.size + 1)
    significand[some] = (np.frexp(scales)[0] * 2 - 1) * (1 << _SIGNIFICAND_BITS)
    field[some] = np.frexp(divisors[: scales.size])[1] - 1 + below + BF16.bias
    usable[some] = ~by.outside[some]
    floors = np.where(usable, field << BF16.mantissa_bits, _FINITE).astype(np.uint16)
    less = floors - (significand << _KEY_BITS).astype(np.uint16)
    codes = _codes(by, field, significand, usable)
    if codes is None:
        return None
    return PatternTables(_words(by, floors), Table(floors), Table(less), codes)


def _words(by: Estimates, floors: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Scale codes by the pattern of amax, with flags."""
    amax = np.arange(1 << 15, dtype=np.uint16)
    with np.errstate(all="ignore"):
        words, left = (one[:, 0] for one in by.scales(amax.reshape(-1, 1, 1), BF16))
    large = amax > floors[words] + _MOST
    return (words + large * np.uint16(_LARGE) + left * np.uint16(_LEFT)).astype(np.uint16)


def _codes(
    by: Estimates, field: NDArray[np.int64], significand: NDArray[np.int64], usable: Bool
) -> U8 | None:
    """Codes by index; None if a significand has no divisor whose range bfloat16 holds."""
    whole = usable & (field + _BINADES <= _FINITE >> BF16.mantissa_bits)
    all_of_them = np.unique(significand[usable][1:])
    last = [np.flatnonzero(whole & (significand == one))[-1:] for one in all_of_them]
    scales = np.concatenate([*last, np.zeros(0, np.intp)])
    if scales.size < all_of_them.size:
        return None
    keys = (field[scales, np.newaxis] << BF16.mantissa_bits) + np.arange(1 << _KEY_BITS)
    lanes = np.concatenate([keys, keys + BF16.sign_bit], axis=1).astype(np.uint16)[..., np.newaxis]
    codes = np.empty(lanes.shape, np.uint8)
    by.write(lanes, BF16, scales[:, np.newaxis], codes)
    found = np.zeros((2, 1 << _SIGNIFICAND_BITS, 1 << _KEY_BITS), np.uint8)
    found[:, all_of_them] = codes.reshape(scales.size, 2, -1).swapaxes(0, 1)
    return found.reshape(-1)
