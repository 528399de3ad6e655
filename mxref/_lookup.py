"""Codes of numbers by a table: a number rounded to odd in its top bits is the index of its code.

A key keeps two fraction bits more than what it is rounded to, so that everything that a rule tells
apart lies in different keys: see `to_odd` for the proof. A type that numbers are rounded to first
is such a target, too, if it does not make the table too large, and flushing asks for no bit at all,
since rounding to odd keeps subnormals and zeros what they are. So a table holds every deterministic
choice. It is made when so many numbers have come that making it costs no more than they did.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mxref._bits import I64, U8, Bits, FloatLayout, Floats, Parts, Stochastic, floats_from, split
from mxref._in_time import InTime
from mxref._out import array_out, floats_out
from mxref._scratch import odd_keys
from mxref._sources import Source, narrowed, narrowed_layout, settled
from mxref._threads import in_chunks
from mxref.formats import CodeFormat
from mxref.policy import ElementPolicy

__all__ = ["Rule", "decoded", "key_layout", "look_up"]

#: Bits of a key that a table may have: 4 MiB.
_WIDEST = 22
#: A table is made at the latest when so many numbers have come.
_PATIENCE = 1 << 16


class Rule(Hashable, Protocol):
    """What gives numbers their codes; hashable."""

    @property
    def target(self) -> CodeFormat:
        """The format that numbers are rounded to."""

    @property
    def inputs(self) -> ElementPolicy:
        """What is done to numbers before: `pre_rounding` and `subnormal_inputs`."""

    @property
    def nan_error(self) -> str:
        """What to say of a NaN if there must be none, or nothing."""

    def codes(self, parts: Parts, draw: Stochastic | None = None) -> U8:
        """The codes of numbers to which that has been done."""


def key_layout(target: CodeFormat | FloatLayout, layout: FloatLayout) -> FloatLayout:
    """Layout of the odd-rounded keys that tell apart what rounds to different numbers of a target.

    A key keeps two fraction bits more than the target, and more again where the target's subnormals
    reach below those of the source.
    """
    keep = target.mantissa_bits + 2 + max(0, layout.emin - target.emin)
    return FloatLayout("key", layout.exponent_bits, min(keep, layout.mantissa_bits))


def look_up(
    rule: Rule,
    source: Source,
    out: U8 | None = None,
    threads: int | None = None,
    draw: Stochastic | None = None,
) -> U8:
    """Codes of numbers, a chunk at a time.

    Args:
        rule: what gives them, with the choices about inputs that `source` leaves to be done.
        source: the numbers.
        out: where the codes go; a new array if None.
        threads: as `thread_count` takes it.
        draw: random bits in the shape of the numbers, for which there is no table.

    Raises:
        ValueError: an `out` that does not fit; a NaN that the rule refuses.
    """
    layout, array = source.layout, source.array
    codes = array_out(out, np.dtype(np.uint8), array.shape, array)
    narrow_first, key = _key(rule, layout)
    short = narrowed_layout(layout, rule.inputs.pre_rounding) if narrow_first else layout
    drop = short.mantissa_bits - key.mantissa_bits
    table = None
    if draw is None and key.width <= _WIDEST:
        table = _table(rule, key).after(array.size)

    def chunk(target: U8, part: NDArray[Any], *random: I64) -> None:
        bits = source.bits(part)
        if rule.nan_error:
            _refuse_nan(bits, layout, rule.nan_error)
        if table is None:
            some = draw and Stochastic(draw.variant, random[0], draw.width)
            target[:] = rule.codes(split(*settled(bits, layout, rule.inputs)), some)
            return
        if narrow_first:
            bits, _ = narrowed(bits, layout, rule.inputs.pre_rounding)
        np.take(table, odd_keys(bits, drop), out=target, mode="wrap")

    randoms = [] if draw is None else [draw.bits.reshape(array.shape)]
    in_chunks(chunk, threads, codes, array, *randoms)
    return codes


def _key(rule: Rule, layout: FloatLayout) -> tuple[bool, FloatLayout]:
    """Whether numbers are rounded to another type before there is a key, and the key."""
    first = narrowed_layout(layout, rule.inputs.pre_rounding)
    key = key_layout(rule.target, layout)
    if first is layout:
        return False, key
    whole = max(key, key_layout(first, layout), key=lambda one: one.mantissa_bits)
    return (False, whole) if whole.width <= _WIDEST else (True, key_layout(rule.target, first))


@functools.lru_cache(maxsize=256)
def _table(rule: Rule, key: FloatLayout) -> InTime[U8]:
    return InTime(lambda: _codes(rule, key), min(_PATIENCE, 1 << (key.width - 1)))


def _codes(rule: Rule, key: FloatLayout) -> U8:
    """Codes by key."""
    keys = np.arange(1 << key.width, dtype=key.uint)
    codes = np.empty(keys.size, np.uint8)
    first = narrowed_layout(key, rule.inputs.pre_rounding)
    short = key_layout(rule.target, first)
    drop = first.mantissa_bits - short.mantissa_bits
    smaller = None if first is key else _codes(rule, short)

    def chunk(target: U8, part: Bits) -> None:
        if smaller is None:
            target[:] = rule.codes(split(*settled(part, key, rule.inputs)))
            return
        bits, _ = narrowed(part, key, rule.inputs.pre_rounding)
        np.take(smaller, odd_keys(bits, drop), out=target, mode="wrap")

    in_chunks(chunk, 1, codes, keys)
    codes.flags.writeable = False
    return codes


def _refuse_nan(bits: Bits, layout: FloatLayout, message: str) -> None:
    """Refuse NaN, whose patterns are above infinity's, as those of integers of either kind."""
    signed = bits.view(f"i{bits.dtype.itemsize}")
    negative = layout.sign_bit | layout.inf_bits
    if bits.max(initial=0) > negative or signed.max(initial=0) > layout.inf_bits:
        raise ValueError(message)


def decoded(
    table: NDArray[Any], codes: U8, layout: FloatLayout, out: Floats | None, threads: int | None
) -> Floats:
    """The floats whose patterns stand in a table by code, a chunk at a time."""
    bits = floats_out(out, codes.shape, layout, codes)

    def chunk(target: NDArray[Any], part: U8) -> None:
        np.take(table, part, out=target, mode="wrap")

    in_chunks(chunk, threads, bits, codes)
    return floats_from(bits, layout) if out is None else out
