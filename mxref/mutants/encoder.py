"""A plain element encoder in stages; a mutant is one with a wrong stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, U8, Bits, Bool, FloatLayout, Parts, bits_of, floor_log2, split
from mxref.formats.catalog import ELEMENT_FORMATS, ElementFormat
from mxref.mutants.mutant import ELEMENTS, FLOATS, Function, wrong
from mxref.numbers.element import encode


@dataclass(slots=True)
class EncoderState:
    """The values that the stages of an encoder read; the encoder fills in kept, rest and half.

    The magnitude is (kept + rest / 2**drop) units in the last place, half of which is `half`.
    """

    fmt: ElementFormat
    layout: FloatLayout
    parts: Parts
    natural: I64  #: floor(log2 |x|); -5000 for zero
    binade: I64  #: `natural`, but at least emin
    drop: I64  #: number of low bits of the significand that are cut off
    kept: I64
    rest: I64
    half: I64

    @property
    def odd(self) -> Any:
        """Whether the truncated magnitude is odd."""
        return (self.kept & 1) != 0

    @property
    def guard(self) -> Any:
        """Whether the rest is at least one half."""
        return (self.rest & self.half) != 0

    @property
    def sticky(self) -> Any:
        """Whether the rest is neither zero nor one half."""
        return (self.rest & ~self.half) != 0

    @property
    def subnormal(self) -> Bool:
        """Whether the number is below the smallest normal one."""
        return self.natural < self.fmt.emin

    @property
    def mask(self) -> int:
        """Every bit of a code but its sign."""
        return self.fmt.sign_bit - 1


def read(bits: Bits, layout: FloatLayout, fmt: ElementFormat) -> Parts:
    """The input's integer parts."""
    return split(bits, layout)


def shift(w: EncoderState) -> I64:
    """The number of low bits to cut off."""
    return w.drop


def up(w: EncoderState) -> Any:
    """Whether to round up, by ties to even."""
    return w.guard & (w.sticky | w.odd)


def join(w: EncoderState, rounded_up: Bool) -> I64:
    """The magnitude code, without an upper limit."""
    return ((w.binade - w.fmt.emin) << w.fmt.mantissa_bits) + w.kept + rounded_up


def limit(w: EncoderState, magnitude: I64) -> I64:
    """The magnitude code, at most the largest."""
    return np.where(w.parts.is_inf, w.fmt.max_code, np.minimum(magnitude, w.fmt.max_code))


def sign(w: EncoderState, magnitude: I64) -> I64:
    """The code with its sign."""
    if w.fmt.twos_complement:
        return np.where(w.parts.negative, -magnitude, magnitude) & 0xFF
    return magnitude | np.where(w.parts.negative, w.fmt.sign_bit, 0)


def special(w: EncoderState, codes: I64) -> I64:
    """The code, replaced if the input is NaN."""
    nan = w.fmt.max_code if w.fmt.nan_code is None else w.fmt.nan_code
    return np.where(w.parts.is_nan, nan, codes)


def encoder(
    *,
    read: Callable[[Bits, FloatLayout, ElementFormat], Parts] = read,
    shift: Callable[[EncoderState], I64] = shift,
    up: Callable[[EncoderState], Any] = up,
    join: Callable[[EncoderState, Any], I64] = join,
    limit: Callable[[EncoderState, I64], I64] = limit,
    sign: Callable[[EncoderState, I64], I64] = sign,
    special: Callable[[EncoderState, I64], I64] = special,
) -> Function:
    """An `encode` made of these stages; the defaults are right.

    >>> encoder()(np.float32([5.0, -7.1]), "e2m1")
    array([ 6, 15], dtype=uint8)
    """

    def encode(values: NDArray[Any], format: str) -> U8:
        fmt = ELEMENT_FORMATS[format]
        bits, layout = bits_of(values)
        parts = read(bits, layout, fmt)
        natural = floor_log2(parts.significand) + parts.exponent
        natural = np.where(parts.significand == 0, -5000, natural)
        binade = np.maximum(natural, fmt.emin)
        drop = binade - fmt.mantissa_bits - parts.exponent
        w = EncoderState(fmt, layout, parts, natural, binade, drop, drop, drop, drop)
        wanted = shift(w)
        right = np.clip(wanted, 0, 62)
        w.kept = parts.significand << np.clip(-wanted, 0, 9) >> right
        w.rest = parts.significand & ((np.int64(1) << right) - 1)
        w.half = (np.int64(1) << right) >> 1
        codes = special(w, sign(w, limit(w, join(w, up(w)))))
        return codes.astype(np.uint8)

    return encode


def by_policy(**choices: Any) -> Function:
    """An `encode` that follows another policy."""
    return lambda values, format: encode(values, format, **choices)


encodes = partial(wrong, op="encode", formats=ELEMENTS, floats=FLOATS)
